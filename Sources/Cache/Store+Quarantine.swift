import Glibc
import SQLite

/// A cache whose file is broken costs nothing but the time to fill it again, so it is put aside for
/// whoever wants to look at it, and an empty one takes its place. A log is never put aside: its
/// origin would come up empty and take that for the truth.
extension Store {
    /// The largest file that is read through at every start: about what a second reads. A larger
    /// one is checked where it is read, page by page.
    package static let checkedBytes = 256 * 1024 * 1024

    /// Renames the file and its write-ahead log. Connections that have them open keep them.
    /// - Returns: the file's new path.
    /// - Throws: `CacheError` `notWritable`, when nothing was renamed.
    static func putAside(_ path: String) throws(CacheError) -> String {
        let target = unused(path)
        // The index beside the log is made anew by whoever opens the file next.
        unlink(path + "-shm")
        guard rename(path, target) == 0 else {
            throw CacheError(
                .notWritable, doing: "put aside cache", on: path,
                seen: "the damaged file can't be renamed", detail: String(cString: strerror(errno)))
        }
        // A log that stayed would be played into the next file of this name.
        if rename(path + "-wal", target + "-wal") != 0 { unlink(path + "-wal") }
        return target
    }

    /// Whether the first page says that the file is this program's: only such a one is put aside.
    static func isOurs(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // "Application ID" of the database header, a big-endian number of four bytes.
        var bytes = [UInt8](repeating: 0, count: 4)
        return pread(descriptor, &bytes, 4, 68) == 4
            && bytes.reduce(0) { $0 << 8 | Int($1) } == Schema.applicationID
    }

    /// Where the symbolic links lead that stand at the end of the path; the file need not be there.
    static func target(of path: String) -> String {
        var path = path
        // As many as the kernel follows.
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
