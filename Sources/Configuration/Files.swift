import Glibc

/// Why a file could not be read: `open keys.txt: No such file or directory (errno 2)`.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

/// Reads whole files.
package enum Files {
    /// The bytes of the file at `path`, or of standard input for `-`.
    /// - Throws: `FileError` if it can't be opened or read, or has more than `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        let standardInput = path == "-"
        let descriptor = standardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { if !standardInput { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("read", path)
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                let limit = Words.write(size: limit)
                throw FileError(description: "read \(path): too large (at most \(limit))")
            }
        }
    }

    /// Makes a file for its user alone.
    /// - Throws: `FileError` if there is one, or it can't be made or written.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("make", path) }
        defer { close(descriptor) }
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", path) }
            rest.removeFirst(count)
        }
    }

    private static func failure(_ doing: String, _ path: String) -> FileError {
        let code = errno
        let reason = String(cString: strerror(code))
        return FileError(description: "\(doing) \(path): \(reason) (errno \(code))")
    }
}
