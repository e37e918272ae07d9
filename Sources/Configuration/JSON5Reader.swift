/// Reads the JSON5 of a configuration file into settings: nested objects become dotted keys, each
/// with its line. It exists because no decoder at hand says where a text is broken, or that a key
/// is given twice. It leaves out only what no key needs: `Infinity`, names that are not ASCII,
/// lists in lists, surrogate pairs as two escapes. A value, used once; a file is at most 1 MiB,
/// objects nest at most 8 deep.
package struct JSON5Reader {
    package static let largestFile = 1 << 20
    private static let deepest = 8

    /// A text that is not JSON5.
    package struct SyntaxError: Error, Sendable, Hashable {
        package let line: Int
        package let column: Int
        package let reason: String
    }

    private let text: [UInt8]
    private let path: String
    private var at = 0
    private var line = 1
    private var lineStart = 0
    private var settings: [Setting] = []

    private init(_ text: [UInt8], path: String) {
        self.text = text
        self.path = path
    }

    /// The settings of a file, in order; a key given twice comes twice.
    package static func settings(
        of text: [UInt8], path: String
    ) throws(SyntaxError) -> [Setting] {
        var reader = JSON5Reader(text, path: path)
        try reader.skipBlanks()
        guard reader.next == UInt8(ascii: "{") else { throw reader.failure("an object begins") }
        try reader.readObject(prefix: "", depth: 1)
        try reader.skipBlanks()
        guard reader.next == nil else { throw reader.failure("the text ends") }
        return reader.settings
    }

    // MARK: values

    private mutating func readObject(prefix: String, depth: Int) throws(SyntaxError) {
        guard depth <= Self.deepest else { throw failure("objects nest at most 8 deep") }
        at += 1
        try skipBlanks()
        while !take("}") {
            let line = line
            let key = prefix + (try readName())
            try skipBlanks()
            guard take(":") else { throw failure("a colon follows the key") }
            try skipBlanks()
            if next == UInt8(ascii: "{") {
                let count = settings.count
                try readObject(prefix: key + ".", depth: depth + 1)
                if settings.count == count {
                    let place = ConfigurationError.Place.file(path, line: line)
                    settings.append(Setting(key: key, value: .section, place: place))
                }
            } else {
                let value = try readValue()
                settings.append(Setting(key: key, value: value, place: .file(path, line: line)))
            }
            try skipBlanks()
            if take("}") { return }
            guard take(",") else { throw failure("a comma or } follows a value") }
            try skipBlanks()
        }
    }

    private mutating func readName() throws(SyntaxError) -> String {
        if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") { return try readString() }
        let name = takeWhile {
            Character(UnicodeScalar($0)).isASCIIAlphanumeric || $0 == UInt8(ascii: "_")
                || $0 == UInt8(ascii: "$")
        }
        guard let first = name.first, !first.isASCIIDigit else { throw failure("a key begins") }
        return name
    }

    private mutating func readValue() throws(SyntaxError) -> SettingValue {
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return .string(try readString())
        case UInt8(ascii: "["):
            at += 1
            var elements: [SettingValue] = []
            try skipBlanks()
            while !take("]") {
                guard next != UInt8(ascii: "["), next != UInt8(ascii: "{") else {
                    throw failure("an element of a list is a text, a number, true or false")
                }
                elements.append(try readValue())
                try skipBlanks()
                if take("]") { break }
                guard take(",") else { throw failure("a comma or ] follows an element") }
                try skipBlanks()
            }
            return .list(elements)
        default:
            return try readWord()
        }
    }

    /// A number, or one of the three names.
    private mutating func readWord() throws(SyntaxError) -> SettingValue {
        let start = self
        let word = takeWhile {
            Character(UnicodeScalar($0)).isASCIIAlphanumeric || "+-.".utf8.contains($0)
        }
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: break
        }
        let sign = word.hasPrefix("-") ? "-" : ""
        let digits = word.drop { $0 == "+" || $0 == "-" }
        guard word.count - digits.count <= 1 else { throw start.failure("a value begins") }
        // Only digits: Swift's own parser would accept signs and fractions in hexadecimal too.
        if digits.lowercased().hasPrefix("0x"), digits.dropFirst(2).allSatisfy(\.isHexDigit),
            let number = Int(digits.dropFirst(2), radix: 16)
        {
            return .number(sign + String(number))
        }
        guard let first = digits.first, first.isASCIIDigit || first == ".",
            digits.utf8.allSatisfy({ "0123456789.eE+-".utf8.contains($0) }),
            Double(digits) != nil
        else { throw start.failure("a value begins (a text stands in quotes)") }
        return .number(sign + digits)
    }

    // MARK: strings

    private mutating func readString() throws(SyntaxError) -> String {
        let start = self
        let quote = text[at]
        at += 1
        var bytes: [UInt8] = []
        while let byte = next, byte != quote {
            guard byte != UInt8(ascii: "\n") else { throw start.failure("a text ends in its line") }
            at += 1
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &bytes)
            } else {
                bytes.append(byte)
            }
        }
        guard next == quote else { throw start.failure("a text ends") }
        at += 1
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw start.failure("a text is UTF-8")
        }
        return string
    }

    private mutating func readEscape(into bytes: inout [UInt8]) throws(SyntaxError) {
        guard let byte = next else { throw failure("a text ends") }
        at += 1
        switch byte {
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "v"): bytes.append(0x0B)
        case UInt8(ascii: "0"): bytes.append(0)
        case UInt8(ascii: "x"): try readScalar(digits: 2, into: &bytes)
        case UInt8(ascii: "u"): try readScalar(digits: 4, into: &bytes)
        case UInt8(ascii: "\n"): newLine()
        default: bytes.append(byte)
        }
    }

    private mutating func readScalar(
        digits: Int, into bytes: inout [UInt8]
    ) throws(SyntaxError) {
        let code = text[at...].prefix(digits)
        guard code.count == digits,
            code.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: code, as: UTF8.self), radix: 16),
            let scalar = UnicodeScalar(value)
        else { throw failure("\(digits) hexadecimal digits that are a character follow") }
        at += digits
        bytes += String(Character(scalar)).utf8
    }

    // MARK: bytes

    private var next: UInt8? { at < text.count ? text[at] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    private mutating func takeWhile(_ holds: (UInt8) -> Bool) -> String {
        let start = at
        while let byte = next, byte < 0x80, holds(byte) { at += 1 }
        return String(decoding: text[start..<at], as: UTF8.self)
    }

    private mutating func newLine() {
        line += 1
        lineStart = at
    }

    /// White space and comments of both kinds.
    private mutating func skipBlanks() throws(SyntaxError) {
        while let byte = next {
            let start = self
            if byte == UInt8(ascii: "/") {
                at += 1
                if take("/") {
                    while let byte = next, byte != UInt8(ascii: "\n") { at += 1 }
                } else if take("*") {
                    try skipComment(from: start)
                } else {
                    throw start.failure("a comment begins with // or /*")
                }
            } else if byte == UInt8(ascii: "\n") {
                at += 1
                newLine()
            } else if byte == 0x20 || byte == 0x09 || byte == 0x0D {
                at += 1
            } else if text[at...].starts(with: [0xEF, 0xBB, 0xBF]) {
                at += 3  // a byte order mark
            } else {
                return
            }
        }
    }

    private mutating func skipComment(from start: JSON5Reader) throws(SyntaxError) {
        while let byte = next {
            at += 1
            if byte == UInt8(ascii: "\n") { newLine() }
            if byte == UInt8(ascii: "*"), take("/") { return }
        }
        throw start.failure("a comment ends")
    }

    /// The reason says what was expected, never what was found: that may be a secret.
    private func failure(_ expected: String) -> SyntaxError {
        SyntaxError(
            line: line, column: at - lineStart + 1, reason: "not JSON5: expected: \(expected)")
    }
}
