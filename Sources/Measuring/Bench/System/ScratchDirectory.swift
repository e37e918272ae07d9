import Glibc

/// A directory for the files of one measurement. It is deleted, with its contents, when this object
/// is released.
package final class ScratchDirectory {
    package let path: String

    /// - Throws: `BenchError.failure` if it can't be created in `parent`.
    package init(in parent: String) throws(BenchError) {
        var template = Array("\(parent)/gapless-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .failure("making a directory in \(parent): errno \(errno)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in Files.names(in: path) { unlink("\(path)/\(name)") }
        rmdir(path)
    }
}
