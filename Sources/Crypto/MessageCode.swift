import CCrypto

/// HMAC with SHA-256, and the comparison that takes as long for unequal bytes as for equal ones.
/// Stateless, usable from any thread; a door to libcrypto.
package enum MessageCode {
    /// The bytes of a code, and the least length of a secret (RFC 7518, 3.2).
    package static let length = 32

    /// The HMAC-SHA256 of `text` under `key`.
    package static func of(_ text: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        let text = Array(text)
        var code = [UInt8](repeating: 0, count: length)
        var written = 0
        // A null pointer as the key asks libcrypto to keep an earlier one, so an empty array, whose
        // base address may be null, must not reach it.
        let key = key.isEmpty ? [0] : key
        let done = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, text, text.count, &code, code.count,
            &written)
        precondition(
            done != nil && written == length, "libcrypto has no HMAC-SHA256: no code can be made")
        return code
    }

    /// Whether both hold the same bytes. How long it takes depends on the lengths only.
    package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }

    /// Bytes that nobody can guess.
    package static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(
            RAND_bytes(&bytes, Int32(count)) == 1, "libcrypto has no randomness to give")
        return bytes
    }
}
