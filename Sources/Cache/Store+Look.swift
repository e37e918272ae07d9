import Glibc
import SQLite

/// Finds what would stop a store from being opened, and names the cause more clearly than SQLite
/// does. Changes nothing in the file; SQLite may leave an empty `-wal` and a `-shm` beside it.
extension Store {
    /// Checks the file and its directory as `init` would find them.
    /// - Returns: whether another process has the file open, which is no fault of the file.
    /// - Throws: `CacheError`, as `init` would.
    package static func look(_ options: Options) throws(CacheError) -> Bool {
        var options = options
        options.path = target(of: options.path)
        let isTaken = try FileLock.isTaken(guarding: options.path)
        guard try checkFile(options.path) > 0 else { return isTaken }
        do throws(CacheError) {
            let connection = try Connection(cache: options.path, access: .readOnly)
            try Schema.check(connection, path: options.path)
            try checkOrigin(connection, options)
        } catch {
            // Such a file is quarantined at the start, and an empty one takes its place.
            guard options.origin != "embedded", error.isOfAPart,
                isOurs(options.path) || access(options.path + ".lock", F_OK) == 0
            else {
                throw error
            }
        }
        return isTaken
    }

    /// - Returns: the size of the file; 0 if it does not exist.
    static func checkFile(_ path: String) throws(CacheError) -> Int {
        func refusal(_ seen: String, _ detail: String) -> CacheError {
            CacheError(.notWritable, doing: "open cache", on: path, seen: seen, detail: detail)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { return 0 }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw refusal(
                isDirectory ? "it is a directory" : "it is no regular file",
                "cache.path names a file")
        }
        guard access(path, R_OK | W_OK) == 0 else {
            throw refusal(
                "this user may not read and write it", String(cString: strerror(errno)))
        }
        return Int(status.st_size)
    }

    private static func checkOrigin(
        _ connection: Connection, _ options: Options
    ) throws(CacheError) {
        guard try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0 > 0 else { return }
        let origin = try connection.text("SELECT origin FROM state") ?? ""
        guard origin.isEmpty || origin == options.origin else {
            throw otherOrigin(origin, options)
        }
    }

    static func otherOrigin(_ origin: String?, _ options: Options) -> CacheError {
        CacheError(
            .otherOrigin, doing: "open cache", on: options.path,
            seen: "it holds the messages of upstream.kind \(origin ?? "unknown")",
            detail: "upstream.kind is \(options.origin)")
    }
}

extension CacheError {
    /// Whether the file is damaged, in its first page or elsewhere.
    var isOfAPart: Bool { code == .damaged || code == .notADatabase }
}

/// The identity of a file. Writes to a file that was removed, or replaced, while it is open are
/// lost when it is closed.
struct FilePlace: Sendable {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Nil if there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        number = status.st_ino
    }

    /// - Throws: `CacheError` `notWritable` if the file is no longer there.
    func check() throws(CacheError) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        guard !isThere || status.st_ino != number || status.st_dev != device else { return }
        throw CacheError(
            .notWritable, doing: "write cache", on: path,
            seen: isThere
                ? "another file was put in its place while it was open"
                : "it was removed while it was open",
            detail: "put it back: until this process ends its bytes are among"
                + " /proc/\(getpid())/fd")
    }
}
