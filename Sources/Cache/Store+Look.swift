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
        let isNameTaken = try FileLock.isTaken(guarding: options.path)
        guard try checkFile(options.path) > 0 else {
            try checkRoom(for: options.path)
            return isNameTaken
        }
        let isTaken = isNameTaken || FilePlace.isTaken(options.path)
        do throws(CacheError) {
            let connection = try Connection(path: options.path, access: .readOnly)
            try Schema.check(connection, path: options.path)
            try checkOrigin(connection, options)
            // One that runs has read its file through, and goes on with it.
            if !isTaken { try checkPages(connection, options) }
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
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else {
                throw refusal("it can't be reached", String(cString: strerror(errno)))
            }
            return 0
        }
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

    /// A file is begun with its tables.
    private static func checkRoom(for path: String) throws(CacheError) {
        guard let free = freeBytes(beside: path), free < emptyBytes else { return }
        throw CacheError(
            .full, doing: "open cache", on: path, seen: "the disk is full",
            detail: "free: \(free) bytes; needed to begin: \(emptyBytes)")
    }

    /// The bytes that are free on the disk of a file; nil if the system does not say.
    static func freeBytes(beside path: String) -> Int? {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var room = statvfs()
        guard statvfs(folder, &room) == 0 else { return nil }
        return Int(clamping: room.f_bavail) * Int(clamping: room.f_frsize)
    }

    /// What a file takes that holds nothing, with the log of writes beside it.
    private static let emptyBytes = 160 * 1024

    static func checkOrigin(
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
