/// Decodes the text of a scalar. The text must have been checked; for an unchecked one, the result
/// is harmless but arbitrary.
enum JSONText {
    /// The string whose text, without quotation marks, lies in `range`.
    static func unescaped(_ text: [UInt8], _ range: Range<Int>) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        unescape(text, range, into: &decoded)
        return String(decoding: decoded, as: UTF8.self)
    }

    /// Appends the bytes of that string.
    static func unescape(_ text: [UInt8], _ range: Range<Int>, into decoded: inout [UInt8]) {
        var at = range.lowerBound
        while at < range.upperBound { next(text, &at, range.upperBound) { decoded.append($0) } }
    }

    /// Whether that string has these bytes.
    static func isUnescaped(
        _ text: [UInt8], _ range: Range<Int>, _ bytes: borrowing Span<UInt8>
    ) -> Bool {
        var at = range.lowerBound
        var count = 0
        var isSame = true
        while isSame, at < range.upperBound {
            next(text, &at, range.upperBound) { byte in
                isSame = isSame && count < bytes.count && bytes[count] == byte
                count += 1
            }
        }
        return isSame && count == bytes.count
    }

    /// Calls `body` with each byte of the next byte or escape.
    @inline(__always)
    private static func next(
        _ text: [UInt8], _ at: inout Int, _ end: Int, _ body: (UInt8) -> Void
    ) {
        let byte = text[at]
        guard byte == UInt8(ascii: "\\"), at + 1 < end else {
            at += 1
            return body(byte)
        }
        let escape = text[at + 1]
        at += 2
        switch escape {
        case UInt8(ascii: "b"): body(0x08)
        case UInt8(ascii: "f"): body(0x0C)
        case UInt8(ascii: "n"): body(0x0A)
        case UInt8(ascii: "r"): body(0x0D)
        case UInt8(ascii: "t"): body(0x09)
        case UInt8(ascii: "u"):
            let scalar = scalar(text, &at, end)
            if scalar.isASCII { return body(UInt8(truncatingIfNeeded: scalar.value)) }
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { body(byte) }
        default: body(escape)
        }
    }

    /// How many bytes `unescaped` has.
    /// - Parameter plain: no backslash lies before it.
    static func unescapedLength(
        _ text: Span<UInt8>, _ range: Range<Int>, from plain: Int
    ) -> Int {
        var length = plain - range.lowerBound
        var at = plain
        while at < range.upperBound {
            guard text[at] == UInt8(ascii: "\\"), at + 1 < range.upperBound else {
                length += 1
                at += 1
                continue
            }
            guard text[at + 1] == UInt8(ascii: "u"), at + 6 <= range.upperBound else {
                length += 1
                at += 2
                continue
            }
            var unit: UInt16 = 0
            for digit in at + 2..<at + 6 { unit = unit << 4 | (hexadecimalValue(text[digit]) ?? 0) }
            at += 6
            switch unit {
            case ..<0x80: length += 1
            case ..<0x800: length += 2
            // The first of a pair, which is one character of four bytes.
            case 0xD800..<0xDC00:
                length += 4
                at += 6
            default: length += 3
            }
        }
        return length
    }

    /// The character of a `\u` escape or of a pair of them; `at` is after the first `u`.
    private static func scalar(_ text: [UInt8], _ at: inout Int, _ end: Int) -> Unicode.Scalar {
        let high = unit(text, &at, end)
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard at + 2 <= end, text[at] == UInt8(ascii: "\\"), text[at + 1] == UInt8(ascii: "u")
        else { return "\u{FFFD}" }
        at += 2
        let low = unit(text, &at, end)
        let pair = 0x10000 + ((UInt32(high) & 0x3FF) << 10 | UInt32(low) & 0x3FF)
        return Unicode.Scalar(pair) ?? "\u{FFFD}"
    }

    private static func unit(_ text: [UInt8], _ at: inout Int, _ end: Int) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 where at < end {
            unit = unit << 4 | (hexadecimalValue(text[at]) ?? 0)
            at += 1
        }
        return unit
    }

    /// The integer that a number's text denotes; nil if it has a fraction or does not fit.
    static func integer(_ text: ArraySlice<UInt8>) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        let start = text.startIndex + (isNegative ? 1 : 0)
        // Eighteen digits always fit; nearly every number of the protocol takes this path.
        guard text.endIndex - start <= 18 else { return decimal(text, start, isNegative) }
        var value = 0
        for at in start..<text.endIndex {
            let digit = text[at] &- UInt8(ascii: "0")
            guard digit <= 9 else { return decimal(text, start, isNegative) }
            value = value * 10 + Int(digit)
        }
        return isNegative ? -value : value
    }

    /// The slow path: the significant digits and their power of ten.
    private static func decimal(
        _ text: ArraySlice<UInt8>, _ start: Int, _ isNegative: Bool
    ) -> Int? {
        var digits: [UInt8] = []
        var power = 0
        var at = start
        var isFraction = false
        while at < text.endIndex, text[at] | 0x20 != UInt8(ascii: "e") {
            if text[at] == UInt8(ascii: ".") {
                isFraction = true
            } else {
                let digit = text[at] &- UInt8(ascii: "0")
                if !digits.isEmpty || digit != 0 { digits.append(digit) }
                if isFraction { power -= 1 }
            }
            at += 1
        }
        if at < text.endIndex { power += exponent(text, at + 1) }
        while digits.last == 0 {
            digits.removeLast()
            power += 1
        }
        if digits.isEmpty { return 0 }
        guard power >= 0, digits.count + power <= 19 else { return nil }
        return scaled(digits, power, isNegative)
    }

    private static func scaled(_ digits: [UInt8], _ power: Int, _ isNegative: Bool) -> Int? {
        // Accumulates a negative number, since the range of `Int` reaches one further there.
        var value = 0
        for digit in digits + Array(repeating: 0, count: power) {
            let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooLow) = tens.subtractingReportingOverflow(Int(digit))
            if tooLarge || tooLow { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The exponent after the `e`, capped: no text of realistic length could compensate for more.
    private static func exponent(_ text: ArraySlice<UInt8>, _ start: Int) -> Int {
        var value = 0
        var sign = 1
        for byte in text[start...] {
            switch byte {
            case UInt8(ascii: "-"): sign = -1
            case UInt8(ascii: "+"): break
            default: value = min(value * 10 + Int(byte &- UInt8(ascii: "0")), 1 << 40)
            }
        }
        return sign * value
    }
}
