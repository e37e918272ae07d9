/// The hash slot of a key or channel, by which a cluster is sharded: CRC-16 (XMODEM) of the part in
/// the first braces, or of the whole name if there are none.
enum HashSlot {
    static let count = 16_384

    static func of(_ name: [UInt8]) -> Int { Int(checksum(tag(of: name))) % count }

    private static func tag(of name: [UInt8]) -> ArraySlice<UInt8> {
        guard let open = name.firstIndex(of: UInt8(ascii: "{")) else { return name[...] }
        let rest = name[(open + 1)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else {
            return name[...]
        }
        return rest[..<close]
    }

    /// The smallest number that, in braces, names a key of this slot: one of about every 16,384
    /// numbers does. The search takes some milliseconds.
    static func tag(for slot: Int) -> Int {
        var number = 0
        while of(Array(String(number).utf8)) != slot { number += 1 }
        return number
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { sum, byte in
            sum << 8 ^ table[Int(UInt8(truncatingIfNeeded: sum >> 8) ^ byte)]
        }
    }

    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { sum, _ in
            sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
        }
    }
}
