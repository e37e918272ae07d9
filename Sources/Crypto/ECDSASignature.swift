/// The two writings of a P-256 signature: a token has the numbers r and s side by side, 32 bytes
/// each (RFC 7518, 3.4); libcrypto takes and gives a DER sequence of two integers. Pure.
enum ECDSASignature {
    private static let width = 32

    /// The DER of `raw`, or nil if it does not have 64 bytes.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * width else { return nil }
        return DER.sequence(DER.integer(raw[..<width]), DER.integer(raw[width...]))
    }

    /// The 64 bytes of a DER sequence as libcrypto writes it, or nil if it is none.
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
        var rest = der[2...]
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard rest.count >= 2, rest.removeFirst() == 0x02 else { return nil }
            let length = Int(rest.removeFirst())
            guard length <= rest.count else { return nil }
            let number = rest.prefix(length).drop { $0 == 0 }
            guard number.count <= width else { return nil }
            raw += [UInt8](repeating: 0, count: width - number.count) + number
            rest = rest.dropFirst(length)
        }
        return rest.isEmpty ? raw : nil
    }
}
