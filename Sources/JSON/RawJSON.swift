/// One JSON value as its original text, without white space around it.
///
/// The text was checked when the value was made, so that it can be spliced into another text
/// unchanged: the gateway forwards what it does not understand byte for byte, numbers included.
/// Each access decodes anew; keep the result. Two values are equal if their bytes are;
/// `canonical()` maps texts of the same meaning to the same bytes.
public struct RawJSON: Sendable, Hashable {
    /// What kind of value it is.
    public enum Kind: Sendable, Hashable { case null, bool, number, string, array, object }

    /// The text, UTF-8.
    public let bytes: [UInt8]

    /// The one value in `text`; white space around it is dropped.
    /// - Throws: if the text is not exactly one value of RFC 8259 in UTF-8, or nests deeper than 64
    ///   levels.
    public init(_ text: [UInt8]) throws(JSONError) {
        var scanner = JSONScanner()
        let span = text.span
        scanner.skipSpace(in: span)
        let start = scanner.at
        try scanner.value(in: span, depth: 0)
        let end = scanner.at
        try scanner.finish(in: span)
        bytes = start == 0 && end == text.count ? text : Array(text[start..<end])
    }

    /// A value that the caller guarantees to be exactly one valid value, without white space around
    /// it.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// The value in a part of a checked text. Most unset fields of a message are `null`, `false` or
    /// `{}`: those share constants and take no memory of their own.
    init(of text: [UInt8], _ range: Range<Int>) {
        switch (text[range.lowerBound], range.count) {
        case (UInt8(ascii: "n"), _): self = .null
        case (UInt8(ascii: "f"), _): self = .false
        case (UInt8(ascii: "t"), _): self = .true
        case (UInt8(ascii: "{"), 2): self = .emptyObject
        default: bytes = Array(text[range])
        }
    }

    /// A string.
    public init(string: String) {
        var writer = JSONWriter(capacity: string.utf8.count + 2)
        writer.string(string)
        bytes = writer.bytes
    }

    /// An integer.
    public init(int: Int) {
        var writer = JSONWriter(capacity: 20)
        writer.int(int)
        bytes = writer.bytes
    }

    /// `null`
    public static let null = RawJSON(unchecked: Array("null".utf8))
    /// `{}`
    public static let emptyObject = RawJSON(unchecked: Array("{}".utf8))
    /// `[]`
    public static let emptyArray = RawJSON(unchecked: Array("[]".utf8))
    /// `true`
    public static let `true` = RawJSON(unchecked: Array("true".utf8))
    /// `false`
    public static let `false` = RawJSON(unchecked: Array("false".utf8))

    /// The kind, by the first byte.
    public var kind: Kind { slice.kind }

    /// Its text as a place in itself.
    package var slice: JSONSlice { JSONSlice(bytes, 0..<bytes.count) }

    /// Whether it is `null`.
    public var isNull: Bool { kind == .null }

    /// The string, if it is one.
    public var string: String? { slice.string }

    /// The boolean, if it is one.
    public var bool: Bool? { slice.bool }

    /// The integer, if it is a number without a fraction that fits: `3`, `3.0` and `30e-1` are 3.
    public var int: Int? { slice.int }

    /// The nearest double, if it is a number within the range of doubles.
    public var double: Double? {
        guard kind == .number, let value = Double(String(decoding: bytes, as: UTF8.self)),
            value.isFinite
        else { return nil }
        return value
    }

    /// The elements, if it is an array.
    public var array: [RawJSON]? {
        guard kind == .array else { return nil }
        var scanner = JSONScanner()
        let span = bytes.span
        let closing = UInt8(ascii: "]")
        var elements: [RawJSON] = []
        do throws(JSONError) {
            var more = try scanner.enter(closing: closing, depth: 0, in: span)
            while more {
                let start = scanner.at
                try scanner.value(in: span, depth: 1)
                elements.append(RawJSON(of: bytes, start..<scanner.at))
                more = try scanner.next(closing: closing, in: span)
            }
        } catch {
            return nil
        }
        return elements
    }

    /// The object, if it is one.
    public var object: JSONObject? {
        kind == .object ? try? JSONObject(bytes) : nil
    }
}

extension RawJSON.Kind {
    /// The kind as an error names it.
    package var phrase: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
