/// One value in a checked JSON text, decoded where it lies: most values of a frame are looked at
/// once, and need no copy of their own.
///
/// It keeps the whole text in memory, so what is kept of it is copied out (`raw`).
package struct JSONSlice: Sendable {
    let text: [UInt8]
    /// Where the value's text lies, without white space around it.
    let range: Range<Int>
    /// How many elements the array has, if that was counted when the text was checked.
    private let elements: Int?
    /// How deep it nests, if that was noted then.
    private let depth: Int?

    /// - Parameters:
    ///   - elements: where the value is an array, how many it has, if they were counted.
    ///   - levels: how many arrays and objects lie in each other in it, if that was noted.
    init(_ text: [UInt8], _ range: Range<Int>, elements: Int? = nil, levels: Int? = nil) {
        self.text = text
        self.range = range
        self.elements = elements
        depth = levels
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
        // Of all that ends a plain run, only a backslash is within a string.
        let plain = PlainRun.end(
            in: text.span.extracting(..<inner.upperBound), from: inner.lowerBound, onlyASCII: false)
        return plain < inner.upperBound
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

    /// How many elements it has, if it is an array.
    package var count: Int? {
        guard kind == .array else { return nil }
        if let elements { return elements }
        var count = 0
        visit { _ in count += 1 }
        return count
    }

    /// The most arrays and objects that lie in each other in it, itself included: 0 for a scalar.
    package var levels: Int {
        if let depth { return depth }
        var scanner = JSONScanner(at: range.lowerBound)
        // Only a value that was vouched for wrongly fails here.
        try? scanner.value(in: text.span.extracting(..<range.upperBound), depth: 0)
        return scanner.deepest
    }

    /// How many bytes of UTF-8 the string has, if it is one; it is not built to be counted.
    package var stringLength: Int? {
        guard kind == .string, range.count >= 2 else { return nil }
        let inner = range.lowerBound + 1..<range.upperBound - 1
        let plain = PlainRun.end(
            in: text.span.extracting(..<inner.upperBound), from: inner.lowerBound, onlyASCII: false)
        guard plain < inner.upperBound else { return inner.count }
        return JSONText.unescapedLength(text.span, inner, from: plain)
    }

    /// Whether the string is longer than so many bytes of UTF-8, by the length of its text alone:
    /// the longest escape has six bytes for one.
    package func isSurelyLonger(than bytes: Int) -> Bool { range.count - 2 > 6 * bytes }

    /// Calls `body` with each element where it lies, if it is an array.
    package func visit<Failure>(
        _ body: (JSONSlice) throws(Failure) -> Void
    ) throws(Failure) {
        guard kind == .array else { return }
        var at = range.lowerBound
        while let element = element(from: &at) { try body(element) }
    }

    /// The element that begins behind the bracket or the comma at `at`, which moves to what follows
    /// the element; nil if there is none.
    private func element(from at: inout Int) -> JSONSlice? {
        let span = text.span.extracting(..<range.upperBound)
        let closing = UInt8(ascii: "]")
        var scanner = JSONScanner(at: at)
        do throws(JSONError) {
            let isFirst = at == range.lowerBound
            guard
                isFirst
                    ? try scanner.enter(closing: closing, depth: 0, in: span)
                    : try scanner.next(closing: closing, in: span)
            else { return nil }
            let start = scanner.at
            try scanner.value(in: span, depth: 1)
            at = scanner.at
            return JSONSlice(text, start..<at, elements: scanner.elements)
        } catch {
            return nil  // Only a value that was vouched for wrongly comes here.
        }
    }
}
