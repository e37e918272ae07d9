/// Decodes the text of a scalar. The text must have been checked; for an unchecked one, the result
/// is harmless but arbitrary.
enum JSONText {
    /// The string whose text, without quotation marks, lies in `range`.
    static func unescaped(_ text: [UInt8], _ range: Range<Int>) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            let byte = text[at]
            guard byte == UInt8(ascii: "\\"), at + 1 < range.upperBound else {
                decoded.append(byte)
                at += 1
                continue
            }
            let escape = text[at + 1]
            at += 2
            switch escape {
            case UInt8(ascii: "b"): decoded.append(0x08)
            case UInt8(ascii: "f"): decoded.append(0x0C)
            case UInt8(ascii: "n"): decoded.append(0x0A)
            case UInt8(ascii: "r"): decoded.append(0x0D)
            case UInt8(ascii: "t"): decoded.append(0x09)
            case UInt8(ascii: "u"):
                let scalar = scalar(text, &at, range.upperBound)
                decoded.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: decoded.append(escape)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
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
