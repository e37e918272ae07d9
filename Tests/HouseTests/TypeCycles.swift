/// How the files of a type hang together, read from the text: a measure that is the same each time,
/// not a compiler. A type is what stands at the top level of a file, with what is nested in it; its
/// extensions count with it.
struct TypeCycles {
    /// By file: the names that the type declares there, and the words that it uses there.
    private(set) var files: [String: (declared: Set<Substring>, used: Set<Substring>)] = [:]

    /// The types of these files, by target and name: two targets may each have one of a name.
    static func all(in files: [Repository.File]) -> [String: TypeCycles] {
        var types: [String: TypeCycles] = [:]
        for file in files {
            for part in TypePart.all(in: file.code.lines) {
                let key = "\(file.target ?? "")/\(part.name)"
                types[key, default: TypeCycles()].add(part, at: file.path)
            }
        }
        return types
    }

    private mutating func add(_ part: TypePart, at path: String) {
        var entry = files[path] ?? ([], [])
        entry.declared.formUnion(part.declared)
        for line in part.lines {
            entry.used.formUnion(line.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
        }
        files[path] = entry
    }

    /// The most files that all reach each other, by what one uses and the other declares.
    var largestCycle: Int {
        let paths = files.keys.sorted()
        func next(_ path: String) -> [String] {
            guard let own = files[path] else { return [] }
            return paths.filter { other in
                guard other != path, let entry = files[other] else { return false }
                return !entry.declared.subtracting(own.declared).isDisjoint(with: own.used)
            }
        }
        let arrows = Dictionary(uniqueKeysWithValues: paths.map { ($0, next($0)) })
        func reach(_ start: String) -> Set<String> {
            var seen: Set<String> = []
            var open = [start]
            while let path = open.popLast() {
                for other in arrows[path] ?? [] where seen.insert(other).inserted {
                    open.append(other)
                }
            }
            return seen
        }
        let reached = Dictionary(uniqueKeysWithValues: paths.map { ($0, reach($0)) })
        return paths.map { path in
            paths.count {
                reached[path]?.contains($0) == true && reached[$0]?.contains(path) == true
            }
        }.max() ?? 0
    }
}

/// A declaration of a type, or of an extension of one, with its body.
struct TypePart {
    let name: String
    let lines: ArraySlice<String>
    /// Functions and properties that stand directly in it.
    private(set) var declared: Set<Substring> = []

    private static let kinds: Set<Substring> = ["class", "struct", "enum", "extension", "protocol"]

    /// The types and extensions at the top level of a file.
    static func all(in lines: [String]) -> [TypePart] {
        var parts: [TypePart] = []
        var open: (name: String, start: Int)?
        var level = 0
        for (index, line) in lines.enumerated() {
            if level == 0, open == nil, let name = type(in: line) { open = (name, index) }
            let isBody = line.contains("{")
            level += line.count { $0 == "{" } - line.count { $0 == "}" }
            guard let part = open, level == 0, isBody || line.contains("}") else { continue }
            parts.append(TypePart(part.name, lines[part.start...index]))
            open = nil
        }
        return parts
    }

    /// The name of the type that a line declares or extends.
    private static func type(in line: String) -> String? {
        let words = line.split { " :{<".contains($0) }
        guard let at = words.firstIndex(where: kinds.contains), at + 1 < words.count,
            words[at + 1] != "func", words[at + 1] != "var",
            words[..<at].allSatisfy({ $0.first?.isLowercase == true || $0.first == "@" })
        else { return nil }
        return String(words[at + 1])
    }

    private init(_ name: String, _ lines: ArraySlice<String>) {
        self.name = name
        self.lines = lines
        var level = 0
        for line in lines {
            if level == 1 { note(line) }
            level += line.count { $0 == "{" } - line.count { $0 == "}" }
        }
    }

    private mutating func note(_ line: String) {
        let words = line.split { " :(<={".contains($0) }
        guard let at = words.firstIndex(where: { ["func", "var", "let"].contains($0) }),
            at + 1 < words.count,
            !words[..<at].contains(where: { $0 == "case" || $0 == "guard" || $0 == "if" })
        else { return }
        declared.insert(words[at + 1])
    }
}
