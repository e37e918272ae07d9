/// One value in a checked JSON text, decoded where it lies: most values of a frame are looked at
/// once, and need no copy of their own.
///
/// It keeps the whole text in memory, so what is kept of it is copied out (`raw`).
package struct JSONSlice: Sendable {
    let text: [UInt8]
    /// Where the value's text lies, without white space around it.
    let range: Range<Int>

    init(_ text: [UInt8], _ range: Range<Int>) {
        self.text = text
        self.range = range
    }

    /// The value by itself.
    package var raw: RawJSON {
        range.count == text.count ? RawJSON(unchecked: text) : RawJSON(of: text, range)
    }

    /// The kind, by the first byte.
    package var kind: RawJSON.Kind {
        guard let first = range.first else { return .null }
        switch text[first] {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: return .number
        }
    }

    /// Whether it is `null`.
    package var isNull: Bool { kind == .null }

    /// The string, if it is one.
    package var string: String? {
        guard kind == .string, range.count >= 2 else { return nil }
        let inner = range.lowerBound + 1..<range.upperBound - 1
        return text[inner].contains(UInt8(ascii: "\\"))
            ? JSONText.unescaped(text, inner) : String(decoding: text[inner], as: UTF8.self)
    }

    /// The boolean, if it is one.
    package var bool: Bool? {
        kind == .bool ? text[range.lowerBound] == UInt8(ascii: "t") : nil
    }

    /// The integer, if it is a number without a fraction that fits: `3`, `3.0` and `30e-1` are 3.
    package var int: Int? { kind == .number ? JSONText.integer(text[range]) : nil }

    /// The object, if it is one; its members stay in the text.
    package var object: JSONObject? {
        kind == .object ? try? JSONObject(inPlace: text, range) : nil
    }
}
