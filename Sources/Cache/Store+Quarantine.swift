import Glibc
import SQLite

/// A damaged cache costs only the time to fill it again, so its file is quarantined for later
/// inspection, and an empty one takes its place. A log is never quarantined: its origin would start
/// empty and treat that as the truth.
extension Store {
    /// The largest file that is checked completely at each start: about what a second reads. A
    /// larger one is checked page by page, as it is read.
    package static let checkedBytes = 256 * 1024 * 1024

    /// Renames the file and its write-ahead log. Connections that have them open keep them.
    /// - Returns: the file's new path.
    /// - Throws: `CacheError` `notWritable`; then nothing was renamed.
    static func putAside(_ path: String) throws(CacheError) -> String {
        let target = unused(path)
        // SQLite recreates the log's index (`-shm`) at the next open.
        unlink(path + "-shm")
        // First, since SQLite would replay a log that is left here into the next file of this name.
        let hasLog = rename(path + "-wal", target + "-wal") == 0
        if !hasLog { unlink(path + "-wal") }
        guard rename(path, target) == 0 else {
            let error = errno
            if hasLog { rename(target + "-wal", path + "-wal") }
            errno = error
            throw CacheError(
                .notWritable, doing: "put aside cache", on: path,
                seen: "the damaged file can't be renamed", detail: String(cString: strerror(errno)))
        }
        return target
    }

    /// Whether the first page identifies the file as this program's: no other file is quarantined.
    static func isOurs(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // "Application ID" of the database header, a big-endian number of four bytes.
        var bytes = [UInt8](repeating: 0, count: 4)
        return pread(descriptor, &bytes, 4, 68) == 4
            && bytes.reduce(0) { $0 << 8 | Int($1) } == Schema.applicationID
    }

    /// Resolves the symbolic links at the end of the path; the file need not exist.
    static func target(of path: String) -> String {
        var path = path
        // The kernel's own limit.
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { return path }
            let bytes = buffer[..<count].map { UInt8(bitPattern: $0) }
            let link = String(decoding: bytes, as: UTF8.self)
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            path = link.hasPrefix("/") ? link : folder + link
        }
        return path
    }

    private static func unused(_ path: String) -> String {
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        return "\(path).damaged-\(number)"
    }
}
