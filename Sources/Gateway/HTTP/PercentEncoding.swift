/// Percent-encoding of paths and queries (RFC 3986).
package enum PercentEncoding {
    /// The text that the bytes stand for, or nil if an escape is broken or the text is not UTF-8.
    package static func decode(_ bytes: [UInt8], plusIsSpace: Bool = false) -> String? {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "%"):
                guard at + 2 < bytes.count, let high = digit(bytes[at + 1]),
                    let low = digit(bytes[at + 2])
                else { return nil }
                text.append(high << 4 | low)
                at += 3
            case UInt8(ascii: "+") where plusIsSpace:
                text.append(UInt8(ascii: " "))
                at += 1
            case let byte:
                text.append(byte)
                at += 1
            }
        }
        return String(validating: text, as: UTF8.self)
    }

    /// The text as one piece of a path or query.
    package static func encode(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(hexadecimal[Int(byte >> 4)])
                result.append(hexadecimal[Int(byte & 15)])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "~")
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
