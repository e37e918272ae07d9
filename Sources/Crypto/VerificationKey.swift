/// One key that verifies tokens: its id (`kid`), if it has one, and its material. The algorithm
/// follows from the material alone, never from a token, so a public key can't be used as the secret
/// of an HMAC (algorithm confusion).
package struct VerificationKey: Sendable {
    /// The material of a key.
    package enum Material: Sendable {
        case secret([UInt8])
        case publicKey(PublicKey)
    }

    package let id: String?
    private let material: Material

    /// A key with an optional id.
    package init(id: String? = nil, _ material: Material) {
        self.id = id
        self.material = material
    }

    /// The only algorithm that the key verifies.
    package var algorithm: SignatureAlgorithm {
        switch material {
        case .secret: .hs256
        case .publicKey(let key): key.algorithm
        }
    }

    /// Whether `signature` is this key's signature of `text`.
    package func verifies(_ signature: [UInt8], of text: [UInt8]) -> Bool {
        switch material {
        case .secret(let secret):
            MessageCode.equal(signature, MessageCode.of(text, key: secret))
        case .publicKey(let key):
            key.verifies(signature, of: text)
        }
    }

    /// The secret in a file: its bytes, without trailing line ends.
    ///
    /// - Throws: `CryptoError` if it is shorter than RFC 7518 3.2 requires, or a PEM file: with a
    ///   public key as the secret, anybody could sign.
    package static func secret(ofFile file: [UInt8]) throws(CryptoError) -> [UInt8] {
        let ends: Set<UInt8> = [UInt8(ascii: "\n"), UInt8(ascii: "\r")]
        let secret = Array(file.reversed().drop { ends.contains($0) }.reversed())
        guard !secret.starts(with: "-----BEGIN".utf8) else {
            throw CryptoError("a PEM file where a secret belongs")
        }
        return try strong(secret)
    }

    /// A secret that is long enough.
    /// - Throws: `CryptoError` if it is not.
    static func strong(_ secret: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard secret.count >= MessageCode.length else {
            throw CryptoError("a secret of \(secret.count) bytes (at least \(MessageCode.length))")
        }
        return secret
    }

    /// The secret in a file.
    /// - Throws: `CryptoError` as `secret(ofFile:)`.
    package init(secretFile file: [UInt8]) throws(CryptoError) {
        self.init(.secret(try Self.secret(ofFile: file)))
    }

    /// The public key in a PEM file.
    /// - Throws: `CryptoError` if it is not RSA, EC P-256 or Ed25519.
    package init(publicKeyFile file: [UInt8]) throws(CryptoError) {
        self.init(.publicKey(try PublicKey(pem: file)))
    }
}
