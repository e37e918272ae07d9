import Crypto
import Testing

/// JWKS, PEM and secret files: what makes a key, and what must not.
@Suite struct KeySetTests {
    /// A key set of the entries given.
    private func keys(_ entries: String...) throws(CryptoError) -> [VerificationKey] {
        let text = "{\"keys\":[" + entries.joined(separator: ",") + "]}"
        return try KeySet(jwks: Array(text.utf8)).keys
    }

    private let secret = #"{"kty":"oct","k":"\#(String(repeating: "A", count: 44))"}"#

    @Test func eachKeyIsBoundToTheAlgorithmOfItsMaterial() throws {
        let keys = try KeySet(jwks: Array(Fixtures.jwks.utf8)).keys
        #expect(keys.map(\.id) == ["shared", "rsa-1", "ec-1", "ed-1"])
        #expect(keys.map(\.algorithm) == [.hs256, .rs256, .es256, .edDSA])
    }

    @Test(arguments: [
        #"{"kty":"OKP","crv":"X25519","x":"AAAA"}"#, #"{"kty":"EC","crv":"P-384","x":"A"}"#,
        #"{"kty":"new","x":1}"#, #"{"kty":"oct","use":"enc","k":"AAAA"}"#,
        #"{"kty":"oct","key_ops":["sign"],"k":"AAAA"}"#,
    ])
    func aKeyOfAnotherTypeOrUseIsPassedOver(_ entry: String) throws {
        #expect(try keys(entry, secret).map(\.algorithm) == [.hs256])
    }

    @Test func aKeyForAnotherAlgorithmIsPassedOver() throws {
        let other = #"{"kty":"oct","alg":"HS512","k":"\#(String(repeating: "A", count: 88))"}"#
        #expect(try keys(other, secret).count == 1)
    }

    @Test(arguments: [
        ("7", "key 1: not an object"),
        (#"{"k":"AAAA"}"#, "\"kty\" is missing"),
        (#"{"kty":"oct"}"#, "\"k\" is missing or no base64url"),
        (#"{"kty":"oct","k":"AA=="}"#, "\"k\" is missing or no base64url"),
        (#"{"kty":"oct","k":"AAAA"}"#, "a secret of 3 bytes (at least 32)"),
        (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "an RSA modulus of 3 bytes"),
        (#"{"kty":"RSA","e":"AQAB"}"#, "\"n\" is missing or no base64url"),
        (#"{"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB"}"#, "a private key"),
        (#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, "coordinates of 3 and 3 bytes"),
        (#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, "an Ed25519 key of 3 bytes (32)"),
    ])
    func aBrokenKeyIsNamedByItsPlace(_ entry: String, _ message: String) {
        let error = #expect(throws: CryptoError.self) { try keys(entry) }
        #expect(error?.description.hasPrefix("key 1: ") == true)
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func aPointThatIsNotOnTheCurveIsRefused() {
        let zeros = String(repeating: "A", count: 43)
        let error = #expect(throws: CryptoError.self) {
            try keys(#"{"kty":"EC","crv":"P-256","x":"\#(zeros)","y":"\#(zeros)"}"#)
        }
        #expect(error?.description == "key 1: its numbers are no public key")
    }

    @Test(arguments: ["", "[]", "{", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"jwks":[]}"#])
    func aFileWithoutKeysIsRefused(_ text: String) {
        #expect(throws: CryptoError.self) { try KeySet(jwks: Array(text.utf8)) }
    }

    @Test func aKeySetIsBounded() {
        let many = String(repeating: secret + ",", count: KeySet.mostKeys) + secret
        #expect(throws: CryptoError.self) { try KeySet(jwks: Array("{\"keys\":[\(many)]}".utf8)) }
    }

    @Test(arguments: [
        "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", Fixtures.weakPublic,
        Fixtures.p384Public, Fixtures.ecPrivate, Fixtures.secret,
    ])
    func aFileThatIsNoUsablePublicKeyIsRefused(_ text: String) {
        #expect(throws: CryptoError.self) { try VerificationKey(publicKeyFile: Array(text.utf8)) }
    }

    @Test func aSecretEndsBeforeItsLineEnd() throws {
        let secret = String(repeating: "s", count: 32)
        let bytes = try VerificationKey.secret(ofFile: Array("\(secret)\r\n\n".utf8))
        #expect(bytes == Array(secret.utf8))
        for short in [String(secret.dropLast()), "s", "\n"] {
            let error = #expect(throws: CryptoError.self) {
                try VerificationKey(secretFile: Array(short.utf8))
            }
            #expect(error?.description.contains("(at least 32)") == true)
        }
    }
}
