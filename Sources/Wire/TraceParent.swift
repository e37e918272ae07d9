/// The `traceparent` of W3C Trace Context: `00-`, 32 digits for the trace, `-`, 16 digits for the
/// caller's span, `-`, 2 digits of flags, all in lower-case hexadecimal.
package enum TraceParent {
    /// The length of version 00 in bytes. Later versions append to it.
    private static let length = 55

    /// What is accepted, as an error says it.
    static let accepted = "a W3C traceparent, as 00-<32 hex>-<16 hex>-<2 hex> in lower case"

    /// The part of the text that version 00 has.
    /// - Returns: nil if the text is not a traceparent, or one that W3C calls invalid: version
    ///   `ff`, or an all-zero trace or span.
    package static func read(_ text: String) -> String? {
        let bytes = Array(text.utf8.prefix(length + 1))
        guard bytes.count >= length else { return nil }
        let parts = bytes.prefix(length).split(separator: dash, omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2], parts.allSatisfy({ $0.allSatisfy(isDigit) })
        else { return nil }
        let version = String(decoding: parts[0], as: UTF8.self)
        // A later version may continue after another dash.
        let mayEnd = bytes.count == length || version != "00" && bytes[length] == dash
        guard version != "ff", mayEnd, !isZero(parts[1]), !isZero(parts[2]) else { return nil }
        return String(decoding: bytes.prefix(length), as: UTF8.self)
    }

    private static let dash = UInt8(ascii: "-")

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func isZero(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.allSatisfy { $0 == UInt8(ascii: "0") }
    }
}

extension Fields {
    /// The trace context of the request, if it has one.
    func traceParent() throws(RequestError) -> String? {
        guard let text = try string("traceparent") else { return nil }
        guard let trace = TraceParent.read(text) else {
            throw refused("traceparent", seen: "another string", accepted: TraceParent.accepted)
        }
        return trace
    }
}
