import Chat
import Crypto
import Testing

/// What `gentoken` signs, the verifier takes.
@Suite struct TokenSignerTests {
    private let claims = TokenSigner.Claims(
        user: "né \"quoted\"", issuedAt: Timestamp(milliseconds: Fixtures.issued * 1000),
        expires: Timestamp(milliseconds: (Fixtures.issued + 600) * 1000), issuer: "here",
        audience: "chat")

    @Test func aSecretSigns() throws {
        let signer = TokenSigner(key: .secret(Forge.secret), keyID: "shared")
        let token = try signer.token(claims)
        let verified = try Forge.verifier(algorithms: [.hs256], issuer: "here", audience: "chat")
            .verify(token.utf8, at: Forge.now)
        #expect(verified.user == claims.user)
        #expect(verified.expires == claims.expires)
    }

    @Test(arguments: [
        (Fixtures.rsaPrivate, "rsa-1", SignatureAlgorithm.rs256),
        (Fixtures.ecPrivate, "ec-1", .es256), (Fixtures.edPrivate, "ed-1", .edDSA),
    ])
    func aPrivateKeySigns(_ pem: String, _ id: String, _ algorithm: SignatureAlgorithm) throws {
        // The numbers of an ES256 signature vary in length from one signature to the next.
        for _ in 0..<(algorithm == .es256 ? 200 : 2) {
            let key = try PrivateKey(pem: Array(pem.utf8))
            let signer = TokenSigner(key: .privateKey(key), keyID: id)
            let token = try signer.token(claims)
            let verifier = try Forge.verifier(algorithms: [algorithm])
            #expect(verifier.verdict(token) == .success(claims.user))
        }
    }

    @Test(arguments: [Fixtures.ecEncrypted, Fixtures.ecPublic, "", Fixtures.secret])
    func aFileThatIsNoPrivateKeyIsRefused(_ text: String) {
        let error = #expect(throws: CryptoError.self) {
            _ = try PrivateKey(pem: Array(text.utf8))
        }
        #expect(error?.description.contains("without a passphrase") == true)
    }
}
