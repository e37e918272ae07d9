import Glibc

/// Directory entries and links, for `/proc`.
extension Files {
    /// The names in a directory; empty if it can't be read.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The target of a symbolic link.
    static func target(of link: String) -> String? {
        var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &path, path.count)
        return count > 0 ? String(decoding: path[..<count], as: UTF8.self) : nil
    }
}
