/// One canonical text per meaning: members sorted by the bytes of their names, only the last of
/// duplicate names, no white space, no unnecessary escapes. Numbers stay as they were written.
extension RawJSON {
    /// The canonical text: equal values have equal bytes, except for numbers written differently.
    public func canonical() -> [UInt8] {
        var scanner = JSONScanner()
        var writer = JSONWriter(capacity: bytes.count)
        do throws(JSONError) {
            try canonicalize(&scanner, depth: 0, into: &writer)
        } catch {
            return bytes  // Only a value that was vouched for wrongly comes here.
        }
        return writer.bytes
    }

    /// Canonicalizes one value in one pass over the text, however deep it nests: the text may be an
    /// attacker's.
    private func canonicalize(
        _ scanner: inout JSONScanner, depth: Int, into writer: inout JSONWriter
    ) throws(JSONError) {
        let start = scanner.at
        let span = bytes.span
        switch scanner.peek(in: span) {
        case UInt8(ascii: "{"):
            try canonicalizeObject(&scanner, depth: depth, into: &writer)
        case UInt8(ascii: "["):
            let closing = UInt8(ascii: "]")
            writer.beginArray()
            var more = try scanner.enter(closing: closing, depth: depth, in: span)
            while more {
                try canonicalize(&scanner, depth: depth + 1, into: &writer)
                more = try scanner.next(closing: closing, in: span)
            }
            writer.endArray()
        case UInt8(ascii: "\""):
            let token = try scanner.string(in: span)
            writer.string(JSONText.unescaped(bytes, token.start..<token.end))
        default:
            try scanner.value(in: span, depth: depth)
            writer.raw(Array(bytes[start..<scanner.at]))
        }
    }

    private func canonicalizeObject(
        _ scanner: inout JSONScanner, depth: Int, into writer: inout JSONWriter
    ) throws(JSONError) {
        let closing = UInt8(ascii: "}")
        let span = bytes.span
        var values: [[UInt8]: [UInt8]] = [:]
        var more = try scanner.enter(closing: closing, depth: depth, in: span)
        while more {
            let key = try scanner.key(in: span)
            var member = JSONWriter(capacity: 64)
            try canonicalize(&scanner, depth: depth + 1, into: &member)
            values[Array(JSONText.unescaped(bytes, key.start..<key.end).utf8)] = member.bytes
            more = try scanner.next(closing: closing, in: span)
        }
        let sorted = values.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        writer.beginObject()
        for (name, value) in sorted {
            writer.member(String(decoding: name, as: UTF8.self), raw: value)
        }
        writer.endObject()
    }
}
