import CCrypto

/// A private key that signs tokens with the one algorithm that fits it. The gateway itself never
/// holds one; only `gapless gentoken` reads one, signs once and exits.
package struct PrivateKey: ~Copyable {
    private let handle: KeyHandle

    /// The algorithm with which it signs.
    package var algorithm: SignatureAlgorithm { handle.algorithm }

    /// The key in a PEM file (`BEGIN PRIVATE KEY`) without a passphrase.
    /// - Throws: `CryptoError` if it is not RSA, EC P-256 or Ed25519, or if it is encrypted.
    package init(pem: [UInt8]) throws(CryptoError) {
        handle = try KeyHandle(pem: pem, expected: "BEGIN PRIVATE KEY, without a passphrase") {
            PEM_read_bio_PrivateKey($0, nil, declinePassphrase, nil)
        }
    }

    /// The signature of `text`, encoded as in a token.
    /// - Throws: `CryptoError` if libcrypto refuses the key.
    package func signature(of text: [UInt8]) throws(CryptoError) -> [UInt8] {
        defer { ERR_clear_error() }
        let refused = CryptoError("sign with a private key: libcrypto refused it")
        guard let context = EVP_MD_CTX_new() else { throw refused }
        defer { EVP_MD_CTX_free(context) }
        let digest = algorithm == .edDSA ? nil : EVP_sha256()
        var length = 0
        guard EVP_DigestSignInit(context, nil, digest, nil, handle.pointer) == 1,
            EVP_DigestSign(context, nil, &length, text, text.count) == 1
        else { throw refused }
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, text, text.count) == 1 else {
            throw refused
        }
        signature.removeSubrange(length...)
        guard algorithm == .es256 else { return signature }
        guard let raw = ECDSASignature.raw(fromDER: signature) else { throw refused }
        return raw
    }
}
