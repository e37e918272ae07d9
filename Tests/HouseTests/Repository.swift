import Foundation

/// The files of the repository as text, found from where this file lies. Build output and what git
/// keeps for itself are left out.
struct Repository {
    struct File: Sendable {
        /// From the top level, `/` between its parts.
        let path: String
        let text: String
        let lines: [Substring]
        /// Of a Swift file; made once, since most rules read it.
        let code: SwiftCode

        init(path: String, text: String) {
            self.path = path
            self.text = text
            lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            code = SwiftCode(path.hasSuffix(".swift") ? text : "")
        }

        /// The folder below `Sources`, or below one there that holds several, which is the
        /// target's name.
        var target: String? {
            var parts = path.split(separator: "/")[...]
            guard parts.popFirst() == "Sources" else { return nil }
            if parts.first.map({ House.folders.contains(String($0)) }) == true {
                parts.removeFirst()
            }
            return parts.count > 1 ? parts.first.map(String.init) : nil
        }
    }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The names at the top level.
    static func topLevel() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
    }

    /// All text files; what is not UTF-8 (pictures) is none.
    static let files: [File] = {
        let top = (try? topLevel()) ?? []
        return top.filter { !House.unread.contains($0) }.flatMap { files(at: $0) }
    }()

    /// The Swift files of the targets.
    static var sources: [File] {
        files.filter { $0.path.hasPrefix("Sources/") && $0.path.hasSuffix(".swift") }
    }

    private static func files(at path: String) -> [File] {
        let url = root.appendingPathComponent(path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            return []
        }
        if isFolder.boolValue {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
            return names.sorted().filter { !House.unread.contains($0) }
                .flatMap { files(at: "\(path)/\($0)") }
        }
        guard let data = try? Data(contentsOf: url), let text = String(data: data, encoding: .utf8)
        else { return [] }
        return [File(path: path, text: text)]
    }
}
