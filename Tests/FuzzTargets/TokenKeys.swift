import Chat
import Crypto

/// Keys of the fuzz targets, in no corpus, and good tokens made with them once at the start. The
/// keys guard nothing.
enum TokenKeys {
    /// A good token: its text, what of it is signed, and the rest.
    struct Token {
        let text: [UInt8]
        let signed: [UInt8]
        let suffix: [UInt8]

        init(_ text: [UInt8]) {
            let point = text.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex
            self.text = text
            signed = Array(text[..<point])
            suffix = Array(text[point...])
        }
    }

    static let user = "alice"
    static let now = Timestamp(milliseconds: 1_800_000_000_000)
    static let expires = Timestamp(milliseconds: 1_800_003_600_000)
    static let secret = Array("a secret of the fuzz targets, of no other use".utf8)

    /// Believes each key under the algorithm that it is bound to.
    static let verifier = TokenVerifier(keys: keys, rules: TokenRules())
    /// Asks for an issuer and an audience too, and takes ES256 and EdDSA only.
    static let strict = TokenVerifier(
        keys: keys,
        rules: TokenRules(algorithms: [.es256, .edDSA], issuer: "issuer", audience: "chat"))

    /// The public keys, as their files.
    static let publicKeys = [rsaPublic, ecPublic, edPublic].map { Array($0.utf8) }

    private static let keys: [VerificationKey] = {
        let named = [("rsa-1", rsaPublic), ("ec-1", ecPublic), ("ed-1", edPublic)]
        let publicKeys = named.compactMap { name, pem in
            (try? PublicKey(pem: Array(pem.utf8))).map {
                VerificationKey(id: name, .publicKey($0))
            }
        }
        require(publicKeys.count == named.count, "the keys of the target are readable")
        return publicKeys + [VerificationKey(id: "shared", .secret(secret))]
    }()

    /// One of HS256, ES256 and EdDSA each.
    static let tokens: [Token] = {
        let claims = TokenSigner.Claims(
            user: user, issuedAt: now, expires: expires, issuer: "issuer", audience: "chat")
        var texts: [String] = []
        if let text = try? TokenSigner(key: .secret(secret), keyID: "shared").token(claims) {
            texts.append(text)
        }
        for (name, pem) in [("ec-1", ecPrivate), ("ed-1", edPrivate)] {
            guard let key = try? PrivateKey(pem: Array(pem.utf8)),
                let text = try? TokenSigner(key: .privateKey(key), keyID: name).token(claims)
            else { continue }
            texts.append(text)
        }
        require(texts.count == 3, "the keys of the target sign")
        for text in texts {
            let verified = try? verifier.verify(text.utf8, at: now)
            require(verified?.user == user, "a good token verifies")
        }
        return texts.map { Token(Array($0.utf8)) }
    }()

    /// A token with these claims, whatever they are, under HS256; nil if it would be too long.
    static func signed(_ claims: [UInt8], secret: [UInt8]) -> [UInt8]? {
        guard claims.count < 4096 else { return nil }
        let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
        let point = [UInt8(ascii: ".")]
        let text = header + point + Base64URL.encode(claims)
        return text + point + Base64URL.encode(MessageCode.of(text, key: secret))
    }

    private static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA4g7vZCnTW0gkwtMVliXb
        /6wzNc9FRbLkslq4XMwc+WxcljC4kzEMj8+xgjqZ3EbvQOGpENc8m/IohTl+bYOm
        FzycxnoWM//bYIqsxxw+SdbfCvsAk6ZIj9vVNmu94dDXEOlMpow9LVpbUUUoayTD
        JrjqWXGg48a9Yh1HRnOM279g5YKV1d8TfPo+WbkbMXkt7TyM3BxXGtlscWI61JWi
        mJ44QcFAUU67r6urH2khTy7jz/7LaJYTfjwT8OPFCIVBldYo1fFIvj4i/12r8wMv
        aUPvEnEAjM15NZbZz/Oahi6DMlSsU/DafiMxP5SMlqWQam6LyrwepCQ2/okC6FVd
        awIDAQAB
        -----END PUBLIC KEY-----
        """

    private static let ecPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1ctq9BcfZsKmGgSuRnEjn2gmc0GM
        2CQa6Mm7ahEXjy2dd9OEcf3b5b7vqv/nmB7klLIZamwg0Jvyanx8b1siAw==
        -----END PUBLIC KEY-----
        """

    private static let edPublic = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA0J/NuVKGD6DBox5MNlWtME2FP4rOYGwp7SjkPCdafXI=
        -----END PUBLIC KEY-----
        """

    private static let ecPrivate = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCVHtKY7iqeEtXAX7
        TW+CKKxkDNai0mtOCwxBMyOXeU6hRANCAATVy2r0Fx9mwqYaBK5GcSOfaCZzQYzY
        JBroybtqERePLZ1304Rx/dvlvu+q/+eYHuSUshlqbCDQm/JqfHxvWyID
        -----END PRIVATE KEY-----
        """

    private static let edPrivate = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIDWoSGUM3oj1VQMebUNnsqjnrZ5WnXYpj3ejMJIhPzJl
        -----END PRIVATE KEY-----
        """
}
