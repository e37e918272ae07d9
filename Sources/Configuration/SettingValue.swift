/// A value as written, before its key's type is known. A file shows the type of a value; the
/// environment and flags have only words, in which commas separate the elements of a list.
package indirect enum SettingValue: Sendable, Hashable {
    case word(String)
    case string(String)
    /// The literal, in decimal.
    case number(String)
    case bool(Bool)
    case list([SettingValue])
    /// An object without a key.
    case section
    /// The key keeps the value it would have without this setting.
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

    /// The elements of a list; of a word, its parts between commas.
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

    /// For errors: quoted, without control characters, at most 80 characters.
    var shown: String {
        switch self {
        case .word(let text), .string(let text):
            (text.count > 80 ? text.prefix(80) + "…" : text[...]).debugDescription
        case .number(let literal): String(literal.prefix(80))
        case .bool(let value): "\(value)"
        case .list(let elements): "a list of \(elements.count)"
        case .section: "an object"
        case .null: "null"
        }
    }
}

/// One setting: a key, its value, and where it was written.
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
