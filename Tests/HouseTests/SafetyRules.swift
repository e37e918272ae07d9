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

    /// Where a closure that came from elsewhere is called under a mutex: it may wait, or come back
    /// for the same lock. It is called after the lock was released; the order of what several
    /// threads have to call is kept by a queue. A closure that does not escape is part of the code
    /// that holds the lock.
    static func callsUnderLock(_ file: Repository.File) -> [String] {
        guard !House.callsUnderLock.contains(file.path) else { return [] }
        let code = file.code.lines.joined(separator: "\n")
        let stored = #"\b(?:let|var) (\w+): \(*(?:@Sendable )?\([^()]*\)[^\n={]*->"#
        let escaping = #"\b(\w+): @escaping "#
        let names = Set(groups(of: stored, in: code) + groups(of: escaping, in: code))
        guard !names.isEmpty else { return [] }
        let call = "(?<!func )(?<!\\w)(\(names.sorted().joined(separator: "|")))[?]?\\("
        return bodies(behind: ".withLock", in: code).flatMap { body in
            groups(of: call, in: String(body)).map { "\(file.path): calls \($0) under a lock" }
        }
    }

    private static func groups(of pattern: String, in text: String) -> [String] {
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
        let whole = NSRange(text.startIndex..., in: text)
        return expression.matches(in: text, range: whole).compactMap {
            Range($0.range(at: 1), in: text).map { String(text[$0]) }
        }
    }

    /// The closures that are passed to calls of this name.
    private static func bodies(behind name: String, in code: String) -> [Substring] {
        var bodies: [Substring] = []
        var rest = code[...]
        while let call = rest.range(of: name),
            let begin = rest[call.upperBound...].firstIndex(of: "{")
        {
            var depth = 0
            let end = rest[begin...].firstIndex { character in
                if character == "{" { depth += 1 }
                if character == "}" { depth -= 1 }
                return depth == 0
            }
            bodies.append(rest[begin..<(end ?? rest.endIndex)])
            rest = rest[call.upperBound...]
        }
        return bodies
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
