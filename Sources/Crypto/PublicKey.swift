import CCrypto
import Synchronization

/// A public key that verifies signatures of the one algorithm that fits it. It is immutable and
/// shared by all threads that check tokens; a lock around its handle satisfies libcrypto's rule
/// that one thread at a time uses an object.
package final class PublicKey: Sendable {
    /// The only algorithm whose signatures it verifies.
    package let algorithm: SignatureAlgorithm
    private let handle: Mutex<KeyHandle>

    private init(_ handle: consuming sending KeyHandle) {
        algorithm = handle.algorithm
        self.handle = Mutex(handle)
    }

    /// The key in a PEM file (`BEGIN PUBLIC KEY`).
    /// - Throws: `CryptoError` if it is not RSA, EC P-256 or Ed25519, or too weak.
    package convenience init(pem: [UInt8]) throws(CryptoError) {
        self.init(
            try KeyHandle(pem: pem, expected: "BEGIN PUBLIC KEY") {
                PEM_read_bio_PUBKEY($0, nil, declinePassphrase, nil)
            })
    }

    /// An RSA key from its two numbers, most significant byte first.
    /// - Throws: `CryptoError` if they are not an RSA key of at least 2048 bits.
    package convenience init(
        rsaModulus modulus: [UInt8], exponent: [UInt8]
    ) throws(CryptoError) {
        // No issuer has an exponent of more than 8 bytes, and it makes each verification slow.
        guard (256...1024).contains(modulus.count), (1...8).contains(exponent.count) else {
            throw CryptoError(
                "an RSA modulus of \(modulus.count) bytes with an exponent of \(exponent.count)"
                    + " (256 to 1024, 1 to 8)")
        }
        self.init(
            try KeyHandle(making: {
                var numbers = PublicNumbers()
                numbers.add("n", number: modulus)
                numbers.add("e", number: exponent)
                return numbers.key("RSA")
            }))
    }

    /// An EC key on P-256 from the coordinates of its point.
    /// - Throws: `CryptoError` if they are not 32 bytes each, or not on the curve.
    package convenience init(p256X x: [UInt8], y: [UInt8]) throws(CryptoError) {
        guard x.count == 32, y.count == 32 else {
            throw CryptoError("P-256 coordinates of \(x.count) and \(y.count) bytes (32 each)")
        }
        self.init(
            try KeyHandle(making: {
                var numbers = PublicNumbers()
                numbers.add("group", text: "prime256v1")
                // 4 means that both coordinates follow.
                numbers.add("pub", bytes: [0x04] + x + y)
                return numbers.key("EC")
            }))
    }

    /// An Ed25519 key.
    /// - Throws: `CryptoError` if it is not 32 bytes long.
    package convenience init(ed25519 bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == 32 else {
            throw CryptoError("an Ed25519 key of \(bytes.count) bytes (32)")
        }
        self.init(
            try KeyHandle(making: {
                EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
            }))
    }

    /// Whether `signature`, encoded as in a token, is this key's signature of `text`.
    package func verifies(_ signature: [UInt8], of text: [UInt8]) -> Bool {
        var signature = signature
        if algorithm == .es256 {
            guard let der = ECDSASignature.der(fromRaw: signature) else { return false }
            signature = der
        }
        return handle.withLock { handle in
            // A refused signature leaves entries in the thread's error queue, where the next user
            // of libcrypto, perhaps TLS, would take them for its own.
            defer { ERR_clear_error() }
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            // Ed25519 brings its own digest, and takes none.
            let digest = handle.algorithm == .edDSA ? nil : EVP_sha256()
            return EVP_DigestVerifyInit(context, nil, digest, nil, handle.pointer) == 1
                && EVP_DigestVerify(context, signature, signature.count, text, text.count) == 1
        }
    }
}
