import Chat
import JSON

/// Makes tokens that `TokenVerifier` accepts, for operators and tests (`gapless gentoken`). The
/// gateway itself issues none.
package struct TokenSigner: ~Copyable {
    /// The key that signs tokens.
    package enum Key: ~Copyable {
        case secret([UInt8])
        case privateKey(PrivateKey)
    }

    /// The claims of a token.
    package struct Claims: Sendable {
        package var user: String
        package var issuedAt: Timestamp
        package var expires: Timestamp
        package var issuer: String?
        package var audience: String?

        package init(
            user: String, issuedAt: Timestamp, expires: Timestamp, issuer: String? = nil,
            audience: String? = nil
        ) {
            self.user = user
            self.issuedAt = issuedAt
            self.expires = expires
            self.issuer = issuer
            self.audience = audience
        }
    }

    private let key: Key
    private let keyID: String?

    /// A signer; `keyID` becomes the `kid` of each token.
    package init(key: consuming Key, keyID: String? = nil) {
        self.key = key
        self.keyID = keyID
    }

    /// The algorithm of its tokens.
    package var algorithm: SignatureAlgorithm {
        switch key {
        case .secret: .hs256
        case .privateKey(let key): key.algorithm
        }
    }

    /// A token with these claims.
    /// - Throws: `CryptoError` if libcrypto refuses the private key.
    package func token(_ claims: Claims) throws(CryptoError) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", string: algorithm.rawValue)
        header.member("typ", string: "JWT")
        if let keyID { header.member("kid", string: keyID) }
        header.endObject()
        var body = JSONWriter()
        body.beginObject()
        body.member("sub", string: claims.user)
        body.member("iat", int: Int(claims.issuedAt.milliseconds / 1000))
        body.member("exp", int: Int(claims.expires.milliseconds / 1000))
        if let issuer = claims.issuer { body.member("iss", string: issuer) }
        if let audience = claims.audience { body.member("aud", string: audience) }
        body.endObject()
        let point = [UInt8(ascii: ".")]
        let signed = Base64URL.encode(header.bytes) + point + Base64URL.encode(body.bytes)
        let token = try signed + point + Base64URL.encode(signature(of: signed))
        return String(decoding: token, as: UTF8.self)
    }

    private func signature(of text: [UInt8]) throws(CryptoError) -> [UInt8] {
        switch key {
        case .secret(let secret): MessageCode.of(text, key: secret)
        case .privateKey(let key): try key.signature(of: text)
        }
    }
}
