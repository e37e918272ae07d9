/// Arrows point down, the core is pure, and each C library has one door.
enum ImportRules {
    static func imports(_ code: SwiftCode) -> [(line: Int, module: String)] {
        code.lines.enumerated().compactMap { index, line in
            let words = line.split { $0 == " " || $0 == "(" }
            guard let at = words.firstIndex(of: "import"), at + 1 < words.count,
                words[..<at].allSatisfy({ $0.hasPrefix("@") || visibilities.contains($0) })
            else { return nil }
            // `import struct Chat.Message` names the module behind the kind.
            let name =
                kinds.contains(words[at + 1]) && at + 2 < words.count
                ? words[at + 2] : words[at + 1]
            return (index + 1, String(name.prefix { $0 != "." }))
        }
    }

    private static let visibilities: Set<Substring> = [
        "public", "package", "internal", "fileprivate", "private",
    ]
    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
    ]

    static func check(_ file: Repository.File) -> [String] {
        guard let target = file.target, file.path.hasSuffix(".swift") else { return [] }
        guard let row = row(of: target) else {
            return ["\(file.path): target \(target) is not in the table of the house"]
        }
        return imports(file.code).compactMap { line, module in
            reason(against: module, target, row).map {
                "\(file.path):\(line): import of \(module): \($0)"
            }
        }
    }

    private static func reason(
        against module: String, _ target: String, _ row: Int
    ) -> String? {
        if let other = Self.row(of: module) {
            if other >= row { return "points upward from \(target)" }
            if let doors = House.doors[module], !doors.contains(target) {
                return "only through \(doors.sorted().joined(separator: ", "))"
            }
            return nil
        }
        if House.pure.contains(target) { return "\(target) is pure" }
        if House.systemDoors[module]?.contains(target) == true { return nil }
        return House.systemModules.contains(module) ? nil : "not a module of this house"
    }

    private static func row(of target: String) -> Int? {
        House.rows.firstIndex { $0.contains(target) }
    }

    /// The dependencies that `Package.swift` declares for the targets under `Sources`, checked by
    /// the same table.
    static func check(manifest: String) -> [String] {
        let declared = dependencies(manifest: manifest)
        guard !declared.isEmpty else { return ["Package.swift: no core(…) targets found"] }
        return declared.sorted { $0.key < $1.key }.flatMap { target, modules -> [String] in
            guard let row = row(of: target) else { return ["Package.swift: \(target) unknown"] }
            return modules.compactMap { module in
                reason(against: module, target, row).map {
                    "Package.swift: \(target) on \(module): \($0)"
                }
            }
        }
    }

    /// Reads `core("Name", ["A", "B"])`, and the same of `measuring`.
    static func dependencies(manifest: String) -> [String: [String]] {
        var found: [String: [String]] = [:]
        let calls = ["core(", "measuring("].flatMap {
            manifest.split(separator: $0, omittingEmptySubsequences: false).dropFirst()
        }
        for call in calls {
            let names = call.prefix { $0 != ")" }.split(
                separator: "\"", omittingEmptySubsequences: false)
            let quoted = names.indices.filter { $0 % 2 == 1 }.map { String(names[$0]) }
            guard let target = quoted.first else { continue }
            found[target] = Array(quoted.dropFirst())
        }
        return found
    }

    /// Imports of a target that its declaration does not allow. The compiler finds most of these,
    /// but not one that some other target happens to bring along.
    static func undeclared(_ files: [Repository.File], manifest: String) -> [String] {
        let declared = dependencies(manifest: manifest)
        return files.flatMap { file -> [String] in
            guard let target = file.target, let allowed = declared[target] else { return [] }
            return imports(file.code).compactMap { line, module in
                row(of: module) == nil || allowed.contains(module)
                    ? nil : "\(file.path):\(line): \(module) is not declared in Package.swift"
            }
        }
    }
}
