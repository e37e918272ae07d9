/// What somebody wrote for a key, before it is known what the key takes. A file can say of which
/// kind a value is; the environment and flags have words only, where a list has commas.
package indirect enum SettingValue: Sendable, Hashable {
    case word(String)
    case string(String)
    /// The literal, in decimal.
    case number(String)
    case bool(Bool)
    case list([SettingValue])
    /// The key stays as it is without this file.
    case null

    /// The text of a string or a word.
    var text: String? {
        switch self {
        case .word(let text), .string(let text): text
        default: nil
        }
    }

    /// The text of a string, a word or a number.
    var numeral: String? {
        if case .number(let literal) = self { return literal }
        return text
    }

    /// The elements of a list; those of a word are its parts between commas.
    var elements: [SettingValue]? {
        switch self {
        case .list(let elements): elements
        case .word(let text):
            text.split(separator: ",").map { part in
                let blanks: Set<Character> = [" ", "\t"]
                let start = part.drop { blanks.contains($0) }
                return .word(String(start.reversed().drop { blanks.contains($0) }.reversed()))
            }
        default: nil
        }
    }

    /// As an error shows it: quoted, without control characters, at most 80 characters of it.
    var shown: String {
        switch self {
        case .word(let text), .string(let text):
            (text.count > 80 ? text.prefix(80) + "…" : text[...]).debugDescription
        case .number(let literal): String(literal.prefix(80))
        case .bool(let value): "\(value)"
        case .list(let elements): "a list of \(elements.count)"
        case .null: "null"
        }
    }
}

/// One line of a configuration: a key, its value, and where it was written.
package struct Setting: Sendable, Hashable {
    package let key: String
    package let value: SettingValue
    package let place: ConfigurationError.Place

    package init(key: String, value: SettingValue, place: ConfigurationError.Place) {
        self.key = key
        self.value = value
        self.place = place
    }
}
