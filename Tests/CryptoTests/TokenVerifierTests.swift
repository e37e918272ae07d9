import Chat
import Crypto
import Testing
import TestSupport

/// `TokenVerifier` against tokens of PyJWT, and against forged ones.
@Suite struct TokenVerifierTests {
    @Test(arguments: SignatureAlgorithm.allCases)
    func aTokenOfAnIndependentIssuerIsTaken(_ algorithm: SignatureAlgorithm) throws {
        let token = try #require(Fixtures.tokens[algorithm.rawValue])
        let verified = try Forge.verifier(
            algorithms: [algorithm], issuer: "https://issuer.example", audience: "chat"
        ).verify(token.utf8, at: Forge.now)
        #expect(verified.user == "alice")
        #expect(verified.expires.milliseconds == (Fixtures.issued + 3600) * 1000)
        #expect(verified.deadline.milliseconds == (Fixtures.issued + 3630) * 1000)
    }

    @Test(arguments: [
        ("RS256", Fixtures.rsaPublic), ("ES256", Fixtures.ecPublic), ("EdDSA", Fixtures.edPublic),
    ])
    func aKeyOfAPEMFileServesTokensOfEachKeyID(_ name: String, _ pem: String) throws {
        let key = try VerificationKey(publicKeyFile: Array(pem.utf8))
        let token = try #require(Fixtures.tokens[name])
        let verifier = TokenVerifier(keys: [key], rules: TokenRules())
        #expect(verifier.verdict(token) == .success("alice"))
    }

    @Test(arguments: Fixtures.foreign.keys.sorted())
    func anAlgorithmThatIsNotKnownIsRefused(_ name: String) throws {
        let verdict = try Forge.verifier().verdict(try #require(Fixtures.foreign[name]))
        // An empty signature is no part of a token at all.
        let expected: TokenError.Refusal = name == "none" ? .malformed : .unknownAlgorithm
        #expect(verdict == .failure(.refused(expected)))
    }

    @Test func aPublicKeyIsNeverASecret() throws {
        let key = try VerificationKey(publicKeyFile: Array(Fixtures.rsaPublic.utf8))
        let verifier = TokenVerifier(keys: [key], rules: TokenRules())
        #expect(verifier.verdict(Fixtures.confused) == .failure(.refused(.unknownKey)))
        #expect(throws: CryptoError.self) {
            try VerificationKey(secretFile: Array(Fixtures.rsaPublic.utf8))
        }
    }

    @Test(arguments: RefusedToken.all)
    func aBadTokenIsRefused(_ bad: RefusedToken) throws {
        let verifier = try Forge.verifier()
        #expect(verifier.verdict(bad.token) == .failure(.refused(bad.refusal)), "\(bad.what)")
    }

    @Test func everyRefusalIsShown() {
        let shown = Set(RefusedToken.all.map(\.refusal))
        let elsewhere: Set<TokenError.Refusal> = [
            .algorithmNotAllowed, .otherIssuer, .otherAudience,
        ]
        #expect(shown.union(elsewhere) == Set(TokenError.Refusal.allCases))
        #expect(RefusedToken.all.count >= 40)
    }

    @Test func aTokenWithAnyOtherByteIsRefused() throws {
        let verifier = try Forge.verifier()
        var generator = SplitMix64(seed: 7)
        for name in Fixtures.tokens.keys.sorted() {
            let token = Array(try #require(Fixtures.tokens[name]).utf8)
            for at in token.indices {
                var changed = token
                let others = "ABCxyz019-_.=".utf8.filter { $0 != token[at] }
                changed[at] = others.randomElement(using: &generator) ?? 0
                let verdict = verifier.verdict(String(decoding: changed, as: UTF8.self))
                #expect(throws: TokenError.self, "\(name), byte \(at), seed 7") {
                    try verdict.get()
                }
            }
        }
    }

    @Test func onlyItsTimeMakesATokenExpire() throws {
        let verifier = try Forge.verifier(leeway: 30_000)
        let deadline = (1_800_003_600 + 30) * 1000 as Int64
        let last = Timestamp(milliseconds: deadline - 1)
        let over = Timestamp(milliseconds: deadline)
        #expect(verifier.verdict(Forge.token(), at: last) == .success("alice"))
        #expect(verifier.verdict(Forge.token(), at: over) == .failure(.expired))
        let forged = Forge.token(secret: Array("another secret of thirty-two bytes".utf8))
        #expect(verifier.verdict(forged, at: over) == .failure(.refused(.badSignature)))
        let nameless = Forge.token(claims: Forge.claims(sub: nil))
        #expect(verifier.verdict(nameless, at: over) == .failure(.refused(.badSubject)))
    }

    @Test(arguments: [("nbf", TokenError.Refusal.notYetValid), ("iat", .issuedInFuture)])
    func aClockMayBeAheadByTheLeeway(_ claim: String, _ refusal: TokenError.Refusal) throws {
        let verifier = try Forge.verifier(leeway: 30_000)
        let token = Forge.token(claims: Forge.claims(extra: "\"\(claim)\":1800000100"))
        let enough = Timestamp(milliseconds: 1_800_000_070_000)
        let early = Timestamp(milliseconds: 1_800_000_069_999)
        #expect(verifier.verdict(token, at: enough) == .success("alice"))
        #expect(verifier.verdict(token, at: early) == .failure(.refused(refusal)))
    }

    @Test func aFractionOfASecondCounts() throws {
        let token = Forge.token(claims: Forge.claims(exp: "1800000060.5"))
        let verifier = try Forge.verifier(leeway: 0)
        let before = Timestamp(milliseconds: 1_800_000_060_499)
        #expect(verifier.verdict(token, at: before) == .success("alice"))
        let after = Timestamp(milliseconds: 1_800_000_060_500)
        #expect(verifier.verdict(token, at: after) == .failure(.expired))
    }

    @Test func anAlgorithmThatIsNotAllowedIsRefused() throws {
        let verifier = try Forge.verifier(algorithms: [.es256])
        #expect(verifier.verdict(Forge.token()) == .failure(.refused(.algorithmNotAllowed)))
    }

    @Test(arguments: [
        (#""iss":"here""#, true), (#""iss":"there""#, false), (#""iss":["here"]"#, false),
        ("", false),
    ])
    func theIssuerIsExactlyTheOneExpected(_ claim: String, _ good: Bool) throws {
        let verdict = try Forge.verifier(issuer: "here")
            .verdict(Forge.token(claims: Forge.claims(extra: claim)))
        #expect(verdict == (good ? .success("alice") : .failure(.refused(.otherIssuer))))
    }

    @Test(arguments: [
        (#""aud":"chat""#, true), (#""aud":["x","chat"]"#, true), (#""aud":"chat2""#, false),
        (#""aud":["x"]"#, false), (#""aud":[]"#, false), (#""aud":{"chat":1}"#, false), ("", false),
    ])
    func theAudienceNamesThisService(_ claim: String, _ good: Bool) throws {
        let verdict = try Forge.verifier(audience: "chat")
            .verdict(Forge.token(claims: Forge.claims(extra: claim)))
        #expect(verdict == (good ? .success("alice") : .failure(.refused(.otherAudience))))
    }

    @Test func keysRotateByTheirID() throws {
        let old = Array("the old secret, thirty-two bytes long".utf8)
        let new = Array("the new secret, thirty-two bytes long".utf8)
        let both = TokenVerifier(
            keys: [.init(id: "old", .secret(old)), .init(id: "new", .secret(new))],
            rules: TokenRules())
        func token(_ id: String, _ secret: [UInt8]) -> String {
            Forge.token(header: "{\"alg\":\"HS256\",\"kid\":\"\(id)\"}", secret: secret)
        }
        #expect(both.verdict(token("old", old)) == .success("alice"))
        #expect(both.verdict(token("new", new)) == .success("alice"))
        #expect(both.verdict(token("new", old)) == .failure(.refused(.badSignature)))
        #expect(both.verdict(Forge.token(secret: new)) == .success("alice"))
        let after = TokenVerifier(keys: [.init(id: "new", .secret(new))], rules: TokenRules())
        #expect(after.verdict(token("old", old)) == .failure(.refused(.unknownKey)))
    }

    @Test func noReasonHoldsTheToken() throws {
        for bad in RefusedToken.all where bad.token.count >= 12 {
            guard case .failure(let error) = try Forge.verifier().verdict(bad.token) else {
                continue
            }
            #expect(!"\(error) \(error.reason)".contains(bad.token.prefix(12)), "\(bad.what)")
        }
    }
}
