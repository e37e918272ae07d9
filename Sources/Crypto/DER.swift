/// The little of DER that keys and signatures are written in. Pure.
enum DER {
    static func sequence(_ elements: [UInt8]...) -> [UInt8] {
        element(0x30, elements.flatMap { $0 })
    }

    /// A non-negative integer, most significant byte first: no zeros in front, but one where the
    /// top bit would make it negative.
    static func integer(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var number = Array(bytes.drop { $0 == 0 })
        if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
        return element(0x02, number)
    }

    /// A string of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }

    private static func element(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] {
        if body.count < 0x80 { return [tag, UInt8(body.count)] + body }
        var length: [UInt8] = []
        var rest = body.count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + body
    }

    // MARK: public keys (SubjectPublicKeyInfo, RFC 5280, with the algorithms of RFC 3279 and 8410)

    /// An RSA key by its two numbers.
    static func publicKey(rsaModulus modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let rsaEncryption: [UInt8] = [
            0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        return sequence(
            sequence(rsaEncryption), bitString(sequence(integer(modulus), integer(exponent))))
    }

    /// A P-256 key by the coordinates of its point, 32 bytes each.
    static func publicKey(p256X x: [UInt8], y: [UInt8]) -> [UInt8] {
        let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        let prime256v1: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        // 4: both coordinates follow.
        return sequence(sequence(ecPublicKey, prime256v1), bitString([0x04] + x + y))
    }

    /// An Ed25519 key of 32 bytes.
    static func publicKey(ed25519 bytes: [UInt8]) -> [UInt8] {
        sequence(sequence([0x06, 0x03, 0x2B, 0x65, 0x70]), bitString(bytes))
    }
}
