import CCrypto

/// Converts between the two encodings of a P-256 signature: a token has the numbers r and s side by
/// side, 32 bytes each (RFC 7518, 3.4); libcrypto uses a DER sequence of two integers, which it
/// encodes and decodes itself.
enum ECDSASignature {
    private static let width = 32

    /// The DER of `raw`; nil if that does not have 64 bytes.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * width, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(width), nil) }
        let s = raw.withUnsafeBufferPointer {
            BN_bin2bn($0.baseAddress.map { $0 + width }, Int32(width), nil)
        }
        // On success the signature owns both numbers.
        guard r != nil, s != nil, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(signature, &bytes)
        guard count > 0, let bytes else { return nil }
        defer { gapless_crypto_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The 64 bytes of a DER sequence of libcrypto; nil if it is invalid.
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &next, bytes.count) else { return nil }
            defer { ECDSA_SIG_free(signature) }
            guard next == bytes.baseAddress.map({ $0 + bytes.count }) else { return nil }
            var raw = [UInt8](repeating: 0, count: 2 * width)
            let isWritten = raw.withUnsafeMutableBufferPointer { raw in
                let start = raw.baseAddress
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, Int32(width)) == width
                    && BN_bn2binpad(
                        ECDSA_SIG_get0_s(signature), start.map { $0 + width }, Int32(width))
                        == width
            }
            return isWritten ? raw : nil
        }
    }
}
