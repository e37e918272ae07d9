/// The objects that the file creates, parsed from its text: a check compares a database with them.
extension Schema {
    /// The functions of gateways.
    package static let calledByGateways = [
        "gateway_hello", "gateway_read", "gateway_write", "gateway_signal", "gateway_trim",
        "gateway_settings",
    ]

    /// The functions of applications.
    package static let calledByApplications = [
        "put_conversation", "delete_conversation", "add_participants", "remove_participants",
        "post_message", "edit_message", "delete_message", "mark_read", "messages", "head",
    ]

    struct Function: Sendable, Hashable {
        /// The names of its arguments, in order.
        var arguments: [String]
        var body: String
        var isStable: Bool

        /// Whether the server's description of the arguments has these names.
        func isCalled(with text: String) -> Bool {
            let given = text.split(separator: ",").map { argument in
                let words = argument.split(separator: " ")
                return String(words.first == "OUT" ? words[1] : words.first ?? "")
            }
            return given == arguments
        }
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
            let head = parts[0][opening..<end.lowerBound]
            let declared = head.split(separator: "returns", maxSplits: 1)[0]
            let arguments = declared.drop { $0 == "(" }.split(separator: ",").compactMap {
                let words = $0.split { $0 == " " || $0.isNewline || $0 == ")" }
                return (words.first == "out" ? words.dropFirst().first : words.first)
                    .map { String($0) }
            }
            found[String(parts[0][..<opening])] = Function(
                arguments: arguments, body: String(parts[1]),
                isStable: parts[0].contains(" stable "))
        }
        return found
    }

    /// The columns by table and name, with the type as the server shows it.
    var columns: [String: String] {
        var found: [String: String] = [:]
        var table: String?
        let start = "create table if not exists " + Self.quoted(name) + "."
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix(start) {
                table = String(line.dropFirst(start.count).prefix { $0 != " " })
            } else if line.hasPrefix(")") {
                table = nil
            } else if let table {
                let words = line.split(separator: " ").map { String($0.filter { $0 != "," }) }
                guard words.count > 1, let type = Self.types[words[1]] else { continue }
                let collated = words.count > 3 && words[2] == "collate"
                found["\(table).\(words[0])"] = type + (collated ? " collate \(words[3])" : "")
            }
        }
        return found
    }

    private static let types = [
        "text": "text", "bigint": "bigint", "integer": "integer", "boolean": "boolean",
        "json": "json", "bytea": "bytea", "xid8": "xid8",
        "timestamptz": "timestamp with time zone",
    ]

    /// The indexes by their names.
    var indexes: [String] {
        text.split(separator: "index if not exists ").dropFirst()
            .map { String($0.prefix { $0 != " " && !$0.isNewline }) }
    }
}
