import Foundation

/// What a reader meets first: every file says what it is, names are nouns of the field, nothing is
/// left for later, and nothing tells of the machine that it was written on.
enum TextRules {
    /// A Swift file opens, behind its imports, with a `///` paragraph.
    static func opening(_ file: Repository.File) -> [String] {
        for line in file.lines {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("///") { return [] }
            let isBefore =
                text.isEmpty || text.hasPrefix("import ") || text.hasPrefix("#")
                || text.hasPrefix("//") || text.contains(" import ") || text == "}"
            if !isBefore { break }
        }
        return ["\(file.path): does not open with a /// paragraph"]
    }

    /// The formatter leaves comments and texts as wide as they are.
    static func columns(_ file: Repository.File) -> [String] {
        file.lines.enumerated().compactMap { index, line in
            line.count <= House.columnLimit
                ? nil : "\(file.path):\(index + 1): \(line.count) columns (\(House.columnLimit))"
        }
    }

    static func unfinished(_ file: Repository.File) -> [String] {
        marks(in: file, #"\b(TODO|FIXME|XXX|HACK)\b"#, "left for later")
    }

    /// Type names without a noun of their own.
    static func names(_ file: Repository.File) -> [String] {
        let pattern =
            #"\b(class|struct|enum|protocol|actor) \w+(Manager|Helper|Helpers|Util|Utils|Impl)\b"#
        return file.code.lines.enumerated().compactMap { index, line in
            line.range(of: pattern, options: .regularExpression) == nil
                ? nil : "\(file.path):\(index + 1): a name that says nothing"
        }
    }

    /// Names that types had here when they were words of our own, where the field has one.
    static let retired = [
        "Mirror", "Standing", "Told", "Books", "Listing", "Orders", "SideLoop", "Inhabited",
        "Errand", "Transit", "Doubt", "Fate", "Lines", "Lanes", "HotTail", "Log", "Report",
    ]
    /// Where one of them is the field's word: what `explain` answers is one of the fates that its
    /// reference lists, a report of a benchmark is one, and `log` is a group of configuration keys.
    private static let kept = [
        "Engine/Reports/Fate", "Measuring/", "Configuration/", "HTTPRequestHead",
    ]

    static func retiredWords(_ file: Repository.File) -> [String] {
        guard !kept.contains(where: { file.path.contains($0) }) else { return [] }
        let names = retired.joined(separator: "|")
        let pattern = "\\b(class|struct|enum|protocol|actor|typealias) (\(names))\\b"
        return file.code.lines.enumerated().compactMap { index, line in
            line.range(of: pattern, options: .regularExpression) == nil
                ? nil : "\(file.path):\(index + 1): a word of our own, where the field has one"
        }
    }

    static func emoji(_ file: Repository.File) -> [String] {
        file.lines.enumerated().compactMap { index, line in
            line.unicodeScalars.contains { $0.properties.isEmojiPresentation }
                ? "\(file.path):\(index + 1): an emoji" : nil
        }
    }

    /// Paths of somebody's home or workplace. The pattern is put together here so that this file
    /// does not find itself.
    static func machinePaths(_ file: Repository.File) -> [String] {
        let places = ["home", "root", "Users", "work", "tmp"].joined(separator: "|")
        return marks(in: file, "(^|[\\s\"'`=(:])/(\(places))/\\w", "a path of some machine")
    }

    /// Phrases that make a reader stop: most of their sentences lack a subject, or have two
    /// readings. One may go on in the next line, behind the mark of a comment or of a string. That
    /// values "are all the same" is plain. No pattern here matches its own text.
    static func phrases(_ file: Repository.File) -> [String] {
        // Logs that others wrote; and SQL, since an installed function is compared with its text.
        guard !file.path.hasPrefix("Tests/Corpora/"), !file.path.hasSuffix(".sql") else {
            return []
        }
        let gap = "[\\s/*#\"+-]+"
        let patterns = [
            "any(\(gap))?more", "(?<!\\bare )all\(gap)the\(gap)same", "who[e]ver", "in\(gap)vain",
            "what\(gap)is\(gap)told",
        ]
        let pattern = "\\b(\(patterns.joined(separator: "|")))\\b"
        var faults: [String] = []
        var rest = file.text[...]
        while let range = rest.range(of: pattern, options: [.regularExpression, .caseInsensitive]) {
            let line = file.text[..<range.lowerBound].count { $0 == "\n" } + 1
            faults.append("\(file.path):\(line): \"\(rest[range])\", which has a plainer word")
            rest = rest[range.upperBound...]
        }
        return faults
    }

    private static func marks(
        in file: Repository.File, _ pattern: String, _ what: String
    ) -> [String] {
        file.lines.enumerated().compactMap { index, line in
            line.range(of: pattern, options: .regularExpression) == nil
                ? nil : "\(file.path):\(index + 1): \(what)"
        }
    }
}
