import Glibc
import SQLite

/// The database file of one gateway: created, migrated and locked here, then read by `Reader`s and
/// written by one `Writer` (the log itself) or one `ReplicaCache` (the cache of another origin).
/// Owned by the composition root; any thread may read its figures. The lock lasts as long as the
/// store, so the store must outlive its readers and its writer.
package final class Store: Sendable {
    /// When a commit counts as done.
    package enum Durability: String, Sendable {
        /// When it is on the disk: an origin must promise that.
        case full = "FULL"
        /// When the kernel has it: enough for a cache, which can be filled again.
        case normal = "NORMAL"
    }

    /// How to open a file.
    package struct Options: Sendable {
        package var path: String
        /// The kind of upstream whose messages the file holds. A file of another kind is refused:
        /// otherwise a log could be trimmed as a cache.
        package var origin: String
        package var durability: Durability
        /// Whether to check the whole file for damage first, up to `Store.checkedBytes`.
        package var isChecked: Bool
        /// How long to wait for another process to release the file.
        package var wait: Duration
        /// How long to wait for one that has announced its exit (`Store.leave`).
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

    /// Quarantines a damaged cache, so that the next process begins with an empty one. Open
    /// connections go on with the old file.
    /// - Returns: its new path.
    /// - Throws: `CacheError`, if it can't be renamed.
    package func quarantine() throws(CacheError) -> String {
        precondition(!isOrigin, "a log is never put aside")
        return try Store.putAside(options.path)
    }

    /// Whether the file is the log itself. Otherwise it is the cache of another origin: it holds a
    /// part of the log, and records which.
    package var isOrigin: Bool { options.origin == "embedded" }

    private let lock: FileLock
    /// The file that this process writes.
    let place: FilePlace

    /// How long what is written has waited for the disk.
    package let waits = DiskWaits()

    /// How far the list of an origin's log was told.
    package let witness: ListWitness

    /// The path of a damaged file that was quarantined at the start; nil if there was none.
    package let putAside: String?

    /// The versions of the file before and after it was migrated; nil if it was not.
    package let migration: (from: Int, to: Int)?

    /// Announces that this process is about to exit: a successor waits for the file.
    package func leave() { lock.leave() }

    /// Opens the file, creates it if it does not exist, and migrates its schema.
    /// - Throws: `CacheError` with the reason, before a foreign file was changed.
    package init(_ options: Options) throws(CacheError) {
        // Locks the file itself, not one of its names.
        var options = options
        options.path = Store.target(of: options.path)
        self.options = options
        lock = try FileLock(
            guarding: options.path, wait: options.wait, succession: options.succession)
        witness = ListWitness(lock)
        do throws(CacheError) {
            (place, migration, putAside) = try Store.open(options, wasOurs: lock.wasThere)
        } catch {
            // A lock that is left here would claim somebody else's file as ours.
            if !lock.wasThere { unlink(options.path + ".lock") }
            throw error
        }
    }

    private static func open(
        _ options: Options, wasOurs: Bool
    ) throws(CacheError) -> (FilePlace, (from: Int, to: Int)?, String?) {
        _ = try checkFile(options.path)
        let place = try FilePlace(options.path, wait: options.wait)
        do throws(CacheError) {
            return (place, try prepare(options), nil)
        } catch {
            // If the first page is damaged, only the lock beside the file tells whose it is.
            guard error.isOfAPart, options.origin != "embedded",
                wasOurs || isOurs(options.path)
            else { throw error }
            let target = try putAside(options.path)
            let place = try FilePlace(options.path, wait: options.wait)
            return (place, try prepare(options), target)
        }
    }

    /// Fills an empty file, or checks and migrates it.
    /// - Returns: its versions before and after, if it was migrated.
    private static func prepare(_ options: Options) throws(CacheError) -> (from: Int, to: Int)? {
        let connection = try Store.connect(options)
        try checkPages(connection, options)
        // What is refused stays as it is.
        let version = try Schema.check(connection, path: options.path)
        try checkOrigin(connection, options)
        try Schema.migrate(connection, from: version)
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw CacheError(
                .notWritable, doing: "open cache", on: options.path,
                seen: "its file system does not take a write-ahead log",
                detail: "journal mode \(mode ?? "unknown")")
        }
        try Store.claim(connection, options)
        let newest = Schema.migrations.count
        return version == 0 || version == newest ? nil : (version, newest)
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
        let connection = try Connection(path: options.path, access: .readOnly)
        try connection.execute("PRAGMA cache_size = -16384;")
        return connection
    }

    /// The size of the file and its write-ahead log in bytes.
    package var bytes: Int { Store.size(options.path) }

    /// The bytes that are free on the disk of the file; nil if the system does not say.
    package var freeBytes: Int? { Store.freeBytes(beside: options.path) }

    private static func size(_ path: String) -> Int {
        [path, path + "-wal"].reduce(0) { total, path in
            var status = stat()
            return stat(path, &status) == 0 ? total + Int(status.st_size) : total
        }
    }

    private static func connect(_ options: Options) throws(CacheError) -> Connection {
        let connection = try Connection(path: options.path, access: .readWrite)
        guard !connection.isReadOnly else {
            throw CacheError(
                .notWritable, doing: "open cache", on: options.path, seen: "it can only be read",
                detail: "the file's mode or its file system")
        }
        // SQLite checkpoints the log every 1,000 pages, unless the connection does it itself; after
        // a burst the log's file is truncated to 64 MiB. No memory map: a failing disk under one
        // kills the process.
        try connection.execute(
            """
            PRAGMA synchronous = \(options.durability.rawValue);
            PRAGMA cache_size = -16384;
            PRAGMA journal_size_limit = 67108864;
            """)
        return connection
    }

    /// Reads the file through, where that is wanted and does not take long.
    static func checkPages(_ connection: Connection, _ options: Options) throws(CacheError) {
        guard options.isChecked, size(options.path) <= checkedBytes else { return }
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
