/// The objects that the file creates, parsed from its text: a check compares a database with them.
extension Schema {
    /// The functions of gateways.
    package static let calledByGateways = [
        "gateway_hello", "gateway_read", "gateway_write", "gateway_signal", "gateway_trim",
        "gateway_settings", "gateway_presence",
    ]

    /// The functions of applications.
    package static let calledByApplications = [
        "put_conversation", "delete_conversation", "add_participants", "remove_participants",
        "post_message", "edit_message", "delete_message", "react", "mark_read", "messages", "head",
    ]

    struct Function: Sendable, Hashable {
        /// Its arguments by name and type, and what it gives, as `Installation.functions` has them.
        var signature: String
        var body: String
        var isStable: Bool
    }

    /// The functions by their names.
    var functions: [String: Function] {
        let start = "create or replace function " + Self.quoted(name) + "."
        var found: [String: Function] = [:]
        for piece in text.split(separator: start).dropFirst() {
            let parts = piece.split(separator: "$$", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let opening = parts[0].firstIndex(of: "("),
                let end = parts[0].ranges(of: "language").first
            else { continue }
            found[String(parts[0][..<opening])] = Function(
                signature: signature(parts[0][opening..<end.lowerBound]), body: String(parts[1]),
                isStable: parts[0].contains(" stable "))
        }
        return found
    }

    /// `(a text, out b bigint) returns json`, with types as the server shows them.
    private func signature(_ declared: Substring) -> String {
        let own = declared.replacing(Self.quoted(name) + ".", with: "")
        let closing = own.lastIndex(of: ")") ?? own.endIndex
        let arguments = own[..<closing].dropFirst().split(separator: ",").map { argument in
            let words = argument.split { $0 == " " || $0.isNewline }.map(String.init)
            return (words.dropLast() + words.suffix(1).map(Self.shown)).joined(separator: " ")
        }
        let words = own[closing...].split { $0 == " " || $0.isNewline || $0 == ")" }
        // With several that come out and none that is named: a record of them.
        let result = words.first == "returns" ? words.dropFirst().map(String.init) : ["record"]
        return "(\(arguments.joined(separator: ", "))) returns "
            + (result.dropLast() + result.suffix(1).map(Self.shown)).joined(separator: " ")
    }

    /// A type as the server shows it.
    private static func shown(_ type: String) -> String {
        type == "timestamptz" ? "timestamp with time zone" : type
    }

    /// The columns by table and name, with what the server shows of them: the type, whether NULL is
    /// refused, whether something stands there by default.
    var columns: [String: String] {
        var found: [String: String] = [:]
        for (table, lines) in tables {
            let key = Self.primaryKey(lines)
            var last = ""
            for line in lines {
                let words = line.split(separator: " ").map { String($0.filter { $0 != "," }) }
                guard words.count > 1, Self.types.contains(words[1].filter { !"[]".contains($0) })
                else {
                    if words.first == "default" { found[last, default: ""] += " default" }
                    continue
                }
                last = "\(table).\(words[0])"
                let said = line.split(separator: "--").first ?? ""
                let isKey = key.contains(words[0])
                let isCollated = words.count > 3 && words[2] == "collate"
                found[last] =
                    Self.shown(words[1]) + (isCollated ? " collate \(words[3])" : "")
                    + (isKey || said.contains("not null") || said.contains("generated")
                        ? " not null" : "")
                    + (said.contains(" default ") || said.contains("generated") ? " default" : "")
            }
        }
        return found
    }

    /// The columns of the primary keys, by table.
    var primaryKeys: [String: [String]] { tables.mapValues { Self.primaryKey($0) } }

    private static func primaryKey(_ lines: [Substring]) -> [String] {
        let line = lines.first { $0.contains("primary key") } ?? ""
        guard let columns = line.split(separator: "primary key (").last, columns != line else {
            return line.split(separator: " ").prefix(1).map(String.init)
        }
        return columns.prefix { $0 != ")" }.split(separator: ", ").map(String.init)
    }

    /// The lines of each table, between its parentheses.
    private var tables: [String: [Substring]] {
        var found: [String: [Substring]] = [:]
        var table: String?
        let start = "create table if not exists " + Self.quoted(name) + "."
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix(start) {
                table = String(line.dropFirst(start.count).prefix { $0 != " " })
            } else if line.hasPrefix(")") {
                table = nil
            } else if let table {
                found[table, default: []].append(line.drop { $0 == " " })
            }
        }
        return found
    }

    private static let types: Set = [
        "text", "bigint", "integer", "boolean", "json", "bytea", "xid8", "timestamptz",
    ]

    /// The indexes by their names, with what the server shows of them.
    var indexes: [String: String] {
        var found: [String: String] = [:]
        for piece in text.replacing(Self.quoted(name) + ".", with: "").split(separator: ";") {
            guard let start = piece.ranges(of: "index if not exists ").first else { continue }
            let words = piece[start.upperBound...].split { $0 == " " || $0.isNewline }
            guard words.count > 3, words[1] == "on" else { continue }
            let isUnique = piece[..<start.lowerBound].hasSuffix("unique ")
            found[String(words[0])] =
                (isUnique ? "unique " : "") + words[1...].joined(separator: " ")
        }
        return found
    }

    /// Makes one index, in a transaction of its own: it stops who writes to that table, until the
    /// index is made, and nobody else.
    func makingIndex(_ name: String) -> String {
        let blocks = text.split(separator: "do $index$")
        let made = blocks.first { $0.contains("index if not exists \(name)\n") } ?? ""
        let end = made.ranges(of: "$index$;").first?.upperBound ?? made.startIndex
        return "begin; set local lock_timeout = '1s'; do $index$\(made[..<end]) commit"
    }
}
