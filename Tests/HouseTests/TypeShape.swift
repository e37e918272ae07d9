/// How large the types of some files are and how their files hang together, read from the text: a
/// measure that is the same each time, not a compiler. A type is what stands at the top level of a
/// file, with what is nested in it; its extensions count with it.
struct TypeShape {
    /// Lines of the type and all its extensions.
    private(set) var lines = 0
    /// By file: the names that the type declares there, and the words that it uses there.
    private(set) var files: [String: (declared: Set<Substring>, used: Set<Substring>)] = [:]

    /// The types of these files, by target and name: two targets may each have one of a name.
    static func all(in files: [Repository.File]) -> [String: TypeShape] {
        var shapes: [String: TypeShape] = [:]
        for file in files {
            for part in TypePart.all(in: file.code.lines, depth: 0) {
                shapes[key(part.name, in: file), default: TypeShape()].add(part, at: file.path)
            }
        }
        return shapes
    }

    /// The stored properties of each type, also of nested ones; an enum has none.
    static func storedProperties(in files: [Repository.File]) -> [String: Int] {
        var counts: [String: Int] = [:]
        func count(_ part: TypePart, as name: String) {
            counts[name, default: 0] += part.storedProperties
            for inner in part.nested { count(inner, as: "\(name).\(inner.name)") }
        }
        for file in files {
            for part in TypePart.all(in: file.code.lines, depth: 0) {
                count(part, as: key(part.name, in: file))
            }
        }
        return counts
    }

    private static func key(_ name: String, in file: Repository.File) -> String {
        "\(file.target ?? "")/\(name)"
    }

    private mutating func add(_ part: TypePart, at path: String) {
        lines += part.lines.count
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
    private(set) var nested: [TypePart] = []
    private(set) var storedProperties = 0
    /// Functions and properties that stand directly in it.
    private(set) var declared: Set<Substring> = []

    private static let kinds: Set<Substring> = ["class", "struct", "enum", "extension", "protocol"]

    /// The types that are declared so many braces deep.
    static func all(in lines: some RandomAccessCollection<String>, depth: Int) -> [TypePart] {
        let lines = Array(lines)
        var parts: [TypePart] = []
        var open: (name: String, isEnum: Bool, start: Int)?
        var level = 0
        for (index, line) in lines.enumerated() {
            if level == depth, open == nil, let found = type(in: line) {
                open = (found.name, found.isEnum, index)
            }
            let isBody = line.contains("{")
            level += line.count { $0 == "{" } - line.count { $0 == "}" }
            guard let part = open, level == depth, isBody || line.contains("}") else { continue }
            parts.append(
                TypePart(part.name, lines[part.start...index], isEnum: part.isEnum))
            open = nil
        }
        return parts
    }

    /// The name of the type that a line declares or extends.
    private static func type(in line: String) -> (name: String, isEnum: Bool)? {
        let words = line.split { " :{<".contains($0) }
        guard let at = words.firstIndex(where: kinds.contains), at + 1 < words.count,
            words[at + 1] != "func", words[at + 1] != "var",
            words[..<at].allSatisfy({ $0.first?.isLowercase == true || $0.first == "@" })
        else { return nil }
        return (String(words[at + 1]), words[at] == "enum" || words[at] == "protocol")
    }

    private init(_ name: String, _ lines: ArraySlice<String>, isEnum: Bool) {
        self.name = name
        self.lines = lines
        nested = Self.all(in: lines, depth: 1)
        var level = 0
        for line in lines {
            if level == 1 { note(line, isEnum: isEnum) }
            level += line.count { $0 == "{" } - line.count { $0 == "}" }
        }
    }

    private mutating func note(_ line: String, isEnum: Bool) {
        let words = line.split { " :(<={".contains($0) }
        guard let at = words.firstIndex(where: { ["func", "var", "let"].contains($0) }),
            at + 1 < words.count,
            !words[..<at].contains(where: { $0 == "case" || $0 == "guard" || $0 == "if" })
        else { return }
        declared.insert(words[at + 1])
        let head = line.prefix { $0 != "=" }
        let isStored = words[at] != "func" && !head.contains("{") && !words.contains("static")
        if isStored, !isEnum { storedProperties += 1 }
    }
}
