/// Finds how far the bytes of a string need no escape, eight bytes at a time: most of a chat's
/// bytes pass here, both when they are read and when they are written.
enum PlainRun {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// The index of the first byte from `start` on that is a control character, a quotation mark or
    /// a backslash, or, with `onlyASCII`, not ASCII; `text.count` if there is none.
    static func end(in text: Span<UInt8>, from start: Int, onlyASCII: Bool) -> Int {
        var at = start
        let bytes = text.bytes
        let notASCII = onlyASCII ? highs : 0
        while text.count - at >= 8 {
            let loaded = bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self)
            let word = UInt64(littleEndian: loaded)
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            // A subtraction sets a byte's high bit if the byte was too small for it, or, falsely,
            // in a byte above such a one: the lowest bit set is always right. A byte whose high bit
            // was set before is not too small.
            let small =
                ((word &- ones &* 0x20) & ~word) | ((quotes &- ones) & ~quotes)
                | ((backslashes &- ones) & ~backslashes)
            let special = (small & highs) | (word & notASCII)
            guard special == 0 else { return at + special.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < text.count, isPlain(text[at], onlyASCII: onlyASCII) { at += 1 }
        return at
    }

    private static func isPlain(_ byte: UInt8, onlyASCII: Bool) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            && !(onlyASCII && byte >= 0x80)
    }
}
