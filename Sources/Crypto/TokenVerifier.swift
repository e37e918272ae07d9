import Chat
import JSON

/// The user whom a token authenticates, and for how long.
package struct VerifiedToken: Sendable, Hashable {
    /// The claim `sub`.
    package let user: String
    /// The claim `exp`.
    package let expires: Timestamp
    /// The time from which the token is no longer valid: `exp` plus the leeway.
    package let deadline: Timestamp
}

/// The rules for a token, beside its signature.
package struct TokenRules: Sendable, Hashable {
    /// The allowed algorithms; if empty, those of the keys.
    package var algorithms: Set<SignatureAlgorithm>
    /// The required `iss`; nil for any.
    package var issuer: String?
    /// The required `aud`, or one of its elements; nil for any.
    package var audience: String?
    /// The most milliseconds by which the issuer's clock may differ from ours.
    package var leeway: Int64

    package init(
        algorithms: Set<SignatureAlgorithm> = [], issuer: String? = nil, audience: String? = nil,
        leeway: Int64 = 30_000
    ) {
        self.algorithms = algorithms
        self.issuer = issuer
        self.audience = audience
        self.leeway = leeway
    }
}

/// Verifies JSON web tokens (RFC 7519), strictly: signature first, then times, then issuer and
/// audience. A value, made at start and at each reload; has no clock, and may be used from any
/// thread.
package struct TokenVerifier: Sendable {
    private let keys: [VerificationKey]
    private let rules: TokenRules

    /// A verifier that trusts `keys`, each for its own algorithm.
    package init(keys: [VerificationKey], rules: TokenRules) {
        self.keys = keys
        self.rules = rules
    }

    /// Verifies `token` at the time `now`.
    /// - Throws: `TokenError`: `expired` if only its time is over, `refused` otherwise.
    package func verify(
        _ token: some Sequence<UInt8>, at now: Timestamp
    ) throws(TokenError) -> VerifiedToken {
        let token = try SignedToken(token)
        try checkSignature(of: token)
        guard let claims = SignedToken.object(token.claims) else {
            throw .refused(.malformedClaims)
        }
        let verified = try verified(claims, at: now)
        try checkPurpose(claims)
        // Last, so that "expired" always means: valid except for its `exp`.
        guard now < verified.deadline else { throw .expired }
        return verified
    }

    /// - Throws: `TokenError.refused` unless a key that the token may use has signed it.
    private func checkSignature(of token: SignedToken) throws(TokenError) {
        guard rules.algorithms.isEmpty || rules.algorithms.contains(token.algorithm) else {
            throw .refused(.algorithmNotAllowed)
        }
        // A key without an id (from a PEM or secret file) may verify every token of its algorithm;
        // a token without an id may be of any key.
        let candidates = keys.filter { key in
            key.algorithm == token.algorithm
                && (token.keyID == nil || key.id == nil || key.id == token.keyID)
        }
        guard !candidates.isEmpty else { throw .refused(.unknownKey) }
        guard candidates.contains(where: { $0.verifies(token.signature, of: token.signed) }) else {
            throw .refused(.badSignature)
        }
    }

    private func verified(
        _ claims: JSONObject, at now: Timestamp
    ) throws(TokenError) -> VerifiedToken {
        guard let user = claims["sub"]?.string, (1...255).contains(user.utf8.count),
            !user.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .refused(.badSubject) }
        guard let expires = try time(claims["exp"]) else { throw .refused(.noExpiry) }
        let latest = now.milliseconds + rules.leeway
        if let start = try time(claims["nbf"]), start.milliseconds > latest {
            throw .refused(.notYetValid)
        }
        if let issued = try time(claims["iat"]), issued.milliseconds > latest {
            throw .refused(.issuedInFuture)
        }
        let deadline = Timestamp(milliseconds: expires.milliseconds + rules.leeway)
        return VerifiedToken(user: user, expires: expires, deadline: deadline)
    }

    private func checkPurpose(_ claims: JSONObject) throws(TokenError) {
        if let issuer = rules.issuer {
            guard isSame(claims["iss"], issuer) else { throw .refused(.otherIssuer) }
        }
        if let audience = rules.audience {
            let named = claims["aud"].map { $0.array ?? [$0] } ?? []
            guard named.contains(where: { isSame($0, audience) }) else {
                throw .refused(.otherAudience)
            }
        }
    }

    /// By their bytes: Swift's strings are also equal where only their normal forms are.
    private func isSame(_ claim: RawJSON?, _ name: String) -> Bool {
        claim?.string.map { $0.utf8.elementsEqual(name.utf8) } == true
    }

    /// Seconds since 1970, with an optional fraction. At most the year 9999: a larger number is
    /// probably milliseconds, and the token would never expire.
    /// - Throws: `TokenError.refused` if the claim exists and is not such a number.
    private func time(_ claim: RawJSON?) throws(TokenError) -> Timestamp? {
        guard let claim else { return nil }
        guard let seconds = claim.double, (0...253_402_300_799).contains(seconds) else {
            throw .refused(.badTime)
        }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }
}
