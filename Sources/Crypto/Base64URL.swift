/// The base64url of RFC 7515: the alphabet with `-` and `_`, no padding, and exactly one text for
/// each byte string. Decoding is strict, so that a signed text has no second form: it refuses
/// padding, white space, the other alphabet, and set bits after the last byte.
package enum Base64URL {
    /// The decoded bytes; nil if `text` is not strict base64url.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
                bits &= (1 << UInt32(count)) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }

    /// The decoded bytes of the other alphabet (`+` and `/`), padded or not, as in HTTP basic
    /// authentication; nil if `text` is invalid.
    package static func decode(basic text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.filter { $0 != UInt8(ascii: "=") }
        return decode(
            digits.map { digit in
                switch digit {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: digit
                }
            })
    }

    /// The encoding of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(character(of: UInt8(truncatingIfNeeded: bits >> UInt32(count)) & 63))
            }
        }
        if count > 0 {
            text.append(character(of: UInt8(truncatingIfNeeded: bits << UInt32(6 - count)) & 63))
        }
        return text
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }

    private static func character(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }
}
