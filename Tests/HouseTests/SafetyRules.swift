import Foundation

/// Where danger may stand: unsafe pointers in their files, unchecked conformances with a reason,
/// and nothing that ends the process on somebody's input.
enum SafetyRules {
    static func pointers(_ file: Repository.File) -> [String] {
        guard !House.pointerFiles.contains(file.path) else { return [] }
        let words = [
            #"Unsafe\w*Pointer"#, "OpaquePointer", "Unmanaged", #"withUnsafe\w+"#,
            "unsafeUninitializedCapacity", #"withContiguous\w*Storage\w*"#, "unsafeBitCast",
        ]
        return matches(
            of: "\\b(\(words.joined(separator: "|")))\\b", in: file,
            "unsafe pointers stay in their files")
    }

    /// `@unchecked Sendable` and `nonisolated(unsafe)`: in the files of the thread owners, below a
    /// comment that begins with `// Safety:`.
    static func unchecked(_ file: Repository.File) -> [String] {
        let code = file.code.lines
        let raw = file.lines
        return code.indices.compactMap { index in
            guard
                code[index].contains("@unchecked Sendable")
                    || code[index].contains("nonisolated(unsafe)")
            else { return nil }
            let place = "\(file.path):\(index + 1)"
            guard House.threadOwners.contains(file.path) else {
                return "\(place): not a file of a thread owner"
            }
            // The comment may be the end of a longer one, above attributes.
            var above = index - 1
            while above >= 0 {
                let line = raw[above].drop { $0 == " " }
                if line.hasPrefix("// Safety:") { return nil }
                guard line.hasPrefix("//") || line.hasPrefix("@") else { break }
                above -= 1
            }
            return "\(place): no // Safety: reason above"
        }
    }

    /// A closure that is itself the value of a mutex is wrapped once more by each access, and the
    /// wrappings stay.
    static func lockedClosures(_ file: Repository.File) -> [String] {
        matches(of: #"\bMutex<[^>]*->"#, in: file, "a closure in a mutex needs a structure")
    }

    static func traps(_ file: Repository.File) -> [String] {
        matches(of: #"\btry!"#, in: file, "try!")
            + matches(of: #"\bas!"#, in: file, "as!")
            + matches(of: #"\bfatalError\("#, in: file, "fatalError")
            + matches(of: #"(?<!\b(?:try|as))(?<=[\w)\]}>?])!(?![=])"#, in: file, "a force unwrap")
    }

    private static func matches(
        of pattern: String, in file: Repository.File, _ what: String
    ) -> [String] {
        file.code.lines.enumerated().compactMap { index, line in
            line.range(of: pattern, options: .regularExpression) == nil
                ? nil : "\(file.path):\(index + 1): \(what)"
        }
    }
}
