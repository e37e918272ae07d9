/// Writes pieces of JSON text into space that the caller has reserved; writing beyond it traps.
extension OutputSpan<UInt8> {
    /// The most bytes that an integer takes.
    public static var integerRoom: Int { 20 }

    /// The most bytes that a string takes, including its quotation marks.
    public static func room(for value: String) -> Int {
        room(for: value.utf8, isPlain: false)
    }

    /// The same, if it is known whether the string needs escapes.
    static func room(for text: String.UTF8View, isPlain: Bool) -> Int {
        2 + (isPlain ? text.count : 6 * text.count)
    }

    /// Whether the string needs no escapes.
    static func isPlain(_ text: String.UTF8View) -> Bool {
        text.reading { PlainRun.end(in: $0, from: 0, onlyASCII: false) == $0.count }
    }

    /// Text as it is.
    public mutating func append(text: Span<UInt8>) {
        withUnsafeMutableBufferPointer { buffer, count in
            precondition(text.count <= buffer.count - count, "no room for the text")
            text.withUnsafeBufferPointer {
                _ = buffer.extracting(count...).update(fromContentsOf: $0)
            }
            count += text.count
        }
    }

    /// An integer.
    public mutating func append(integer value: Int64) {
        guard value < 0 || value > 9 else { return append(UInt8(ascii: "0") + UInt8(value)) }
        if value < 0 { append(UInt8(ascii: "-")) }
        // Digits are written in place, from the end: an `InlineArray` for them would exclude every
        // Apple system before 26.
        let digits = Self.digits(of: value.magnitude)
        withUnsafeMutableBufferPointer { buffer, count in
            precondition(digits <= buffer.count - count, "no room for the integer")
            var (at, rest) = (count + digits, value.magnitude)
            count = at
            repeat {
                at -= 1
                let digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                buffer.initializeElement(at: at, to: digit)
                rest /= 10
            } while rest > 0
        }
    }

    private static func digits(of value: UInt64) -> Int {
        var (digits, rest) = (1, value)
        // Four at a time: to divide costs more than to compare.
        while rest > 9_999 {
            digits += 4
            rest /= 10_000
        }
        return digits + (rest > 999 ? 3 : rest > 99 ? 2 : rest > 9 ? 1 : 0)
    }

    /// A string, with its quotation marks.
    public mutating func append(string value: String) {
        append(string: value.utf8, isPlain: Self.isPlain(value.utf8))
    }

    mutating func append(string text: String.UTF8View, isPlain: Bool) {
        append(UInt8(ascii: "\""))
        if isPlain {
            text.reading { append(text: $0) }
        } else {
            for byte in text { append(escaping: byte) }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func append(escaping byte: UInt8) {
        let mustEscape = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
        guard mustEscape else { return append(byte) }
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        case 0..<0x20:
            append(UInt8(ascii: "u"))
            append(UInt8(ascii: "0"))
            append(UInt8(ascii: "0"))
            append(UInt8(ascii: "0") + byte >> 4)
            let low = byte & 0xF
            append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        default: append(byte)
        }
    }
}

extension String.UTF8View {
    /// Calls `body` with the bytes: their own iterator takes several times as long. On Apple's
    /// systems before 26 a string has no span of its own.
    @inlinable
    package func reading<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        #if canImport(Darwin)
        withContiguousStorageIfAvailable { body($0.span) } ?? body(Array(self).span)
        #else
        body(span)
        #endif
    }
}
