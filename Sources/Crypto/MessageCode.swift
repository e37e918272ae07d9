import CCrypto

/// HMAC-SHA256, and a constant-time comparison. Stateless, usable from any thread; a door to
/// libcrypto.
package enum MessageCode {
    /// The length of a code in bytes, and the minimum for a secret (RFC 7518, 3.2).
    package static let length = 32

    /// The HMAC-SHA256 of `text` under `key`.
    package static func of(_ text: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        let text = Array(text)
        var code = [UInt8](repeating: 0, count: length)
        var written = 0
        // libcrypto takes a null key as "keep the earlier one", and an empty array may have a null
        // base address.
        let key = key.isEmpty ? [0] : key
        let done = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, text, text.count, &code, code.count,
            &written)
        precondition(
            done != nil && written == length, "libcrypto has no HMAC-SHA256: no code can be made")
        return code
    }

    /// Whether both hold the same bytes. The time depends only on the lengths.
    package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }

    /// Unpredictable bytes.
    package static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(
            RAND_bytes(&bytes, Int32(count)) == 1, "libcrypto has no randomness to give")
        return bytes
    }
}
