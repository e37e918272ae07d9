import Glibc
import SQLite

/// The database file of one gateway: made, migrated and claimed here, then read by `Reader`s and
/// written by one `Writer` (the log itself) or one `ReplicaCache` (the cache of another origin).
/// Owned by the composition root; any thread may ask it for its figures. The claim to the file
/// lasts as long as the store, so it must outlive them.
package final class Store: Sendable {
    /// When a commit counts as done.
    package enum Durability: String, Sendable {
        /// When it is on the disk: what an origin must promise.
        case full = "FULL"
        /// When the kernel has it: enough for a cache, which can be filled again.
        case normal = "NORMAL"
    }

    /// How a file is opened.
    package struct Options: Sendable {
        package var path: String
        /// The kind of upstream whose messages the file holds. A file that was begun under another
        /// kind is refused: a log would otherwise be trimmed as a cache.
        package var origin: String
        package var durability: Durability
        /// Reads the file through for damage before it is used, up to `Store.checkedBytes`.
        package var isChecked: Bool
        /// How long to wait for another process to let go of the file.
        package var wait: Duration
        /// How long to wait for one that has said that it is about to (`Store.leave`).
        package var succession = Duration.zero

        package init(
            path: String, origin: String, durability: Durability = .full, isChecked: Bool = false,
            wait: Duration = .zero
        ) {
            self.path = path
            self.origin = origin
            self.durability = durability
            self.isChecked = isChecked
            self.wait = wait
        }
    }

    package let options: Options

    /// Puts a damaged cache aside, for the next process to begin with an empty one. What has the
    /// file open goes on with it.
    /// - Returns: where it is now.
    /// - Throws: `CacheError`, if it can't be renamed.
    package func quarantine() throws(CacheError) -> String {
        precondition(!isOrigin, "a log is never put aside")
        return try Store.putAside(options.path)
    }

    /// Whether the file is the log itself. Otherwise it is the cache of another origin: it holds a
    /// part of the log, and says which.
    package var isOrigin: Bool { options.origin == "embedded" }

    private let lock: FileLock
    /// Where the file lies that this process writes.
    let place: FilePlace?

    /// Where a damaged file was put before this one took its place; nil if there was none.
    package let putAside: String?

    /// Says that this process is about to end: a successor waits for the file.
    package func leave() { lock.leave() }

    /// Opens the file, makes it if it is not there, and brings its schema up to date.
    /// - Throws: `CacheError` with the reason, before anything of a foreign file was changed.
    package init(_ options: Options) throws(CacheError) {
        // The file itself is claimed, not one of its names.
        var options = options
        options.path = Store.target(of: options.path)
        self.options = options
        lock = try FileLock(
            guarding: options.path, wait: options.wait, succession: options.succession)
        _ = try Store.checkFile(options.path)
        do throws(CacheError) {
            try Store.prepare(options)
            putAside = nil
        } catch {
            // Of one whose first page is broken only the lock beside it says whose it is.
            guard error.isOfAPart, options.origin != "embedded",
                lock.wasThere || Store.isOurs(options.path)
            else {
                // A lock that stays would say of a file of somebody else's that it is ours.
                if !lock.wasThere { unlink(options.path + ".lock") }
                throw error
            }
            putAside = try Store.putAside(options.path)
            try Store.prepare(options)
        }
        place = FilePlace(options.path)
    }

    /// Makes the file, or checks it and brings it up to date.
    private static func prepare(_ options: Options) throws(CacheError) {
        let connection = try Store.connect(options)
        if options.isChecked, size(options.path) <= checkedBytes { try check(connection, options) }
        try Schema.migrate(connection, path: options.path)
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw CacheError(
                .notWritable, doing: "open cache", on: options.path,
                seen: "its file system does not take a write-ahead log",
                detail: "journal mode \(mode ?? "unknown")")
        }
        try Store.claim(connection, options)
    }

    /// A connection that writes, for the one `Writer` or the one `ReplicaCache`.
    /// - Throws: `CacheError`, if the file can't be opened.
    func writingConnection(
        durability: Durability? = nil
    ) throws(CacheError) -> Connection {
        var options = options
        options.durability = durability ?? options.durability
        return try Store.connect(options)
    }

    /// A connection of its own for one thread that reads.
    /// - Throws: `CacheError`, if the file can't be opened.
    func readingConnection() throws(CacheError) -> Connection {
        let connection = try Connection(cache: options.path, access: .readOnly)
        try connection.execute("PRAGMA cache_size = -16384;")
        return connection
    }

    /// The size of the file and its write-ahead log.
    package var bytes: Int { Store.size(options.path) }

    private static func size(_ path: String) -> Int {
        [path, path + "-wal"].reduce(0) { total, path in
            var status = stat()
            return stat(path, &status) == 0 ? total + Int(status.st_size) : total
        }
    }

    private static func connect(_ options: Options) throws(CacheError) -> Connection {
        let connection = try Connection(cache: options.path, access: .readWrite)
        guard !connection.isReadOnly else {
            throw CacheError(
                .notWritable, doing: "open cache", on: options.path, seen: "it can only be read",
                detail: "the file's mode or its file system")
        }
        // The log is checkpointed every 1,000 pages, by SQLite itself where the connection does not
        // see to it; after a burst its file is cut back to 64 MiB. No memory map: a disk that fails
        // under one kills the process.
        try connection.execute(
            """
            PRAGMA synchronous = \(options.durability.rawValue);
            PRAGMA cache_size = -16384;
            PRAGMA journal_size_limit = 67108864;
            """)
        return connection
    }

    private static func check(_ connection: Connection, _ options: Options) throws(CacheError) {
        let report = try connection.text("PRAGMA quick_check(1)")
        guard report == "ok" else {
            throw CacheError(
                .damaged, doing: "check cache", on: options.path,
                seen: "its pages contradict each other",
                detail: options.origin == "embedded"
                    ? "it is the log itself, so it is left as it is: start from a copy made by"
                        + " gapless backup, or from what sqlite3's .recover saves of it"
                    : "quick_check")
        }
    }

    private static func claim(
        _ connection: Connection, _ options: Options
    ) throws(CacheError) {
        let claim = try connection.prepare("UPDATE state SET origin = ? WHERE origin = ''")
        claim.bind(1, options.origin)
        try claim.run()
        let origin = try connection.text("SELECT origin FROM state")
        guard origin == options.origin else {
            throw otherOrigin(origin, options)
        }
    }
}
