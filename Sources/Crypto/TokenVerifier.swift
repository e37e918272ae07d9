import Chat
import JSON

/// Who a token speaks for, and for how long.
package struct VerifiedToken: Sendable, Hashable {
    /// The claim `sub`.
    package let user: String
    /// The claim `exp`.
    package let expires: Timestamp
    /// The moment from which the token counts no more: `exp` and the leeway.
    package let deadline: Timestamp
}

/// What a token must say beside its signature.
package struct TokenRules: Sendable, Hashable {
    /// The algorithms allowed; empty: each one that a key is bound to.
    package var algorithms: Set<SignatureAlgorithm>
    /// What `iss` must be, if anything.
    package var issuer: String?
    /// What `aud` must be or contain, if anything.
    package var audience: String?
    /// By how many milliseconds the issuer's clock may differ from ours.
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

/// Checks JSON web tokens (RFC 7519), strictly: signature first, then times, then for whom it is.
/// A value, made at start and at each reload; has no clock, and may be used from any thread.
package struct TokenVerifier: Sendable {
    private let keys: [VerificationKey]
    private let rules: TokenRules

    /// A verifier that believes `keys`, each under the algorithm that it is bound to.
    package init(keys: [VerificationKey], rules: TokenRules) {
        self.keys = keys
        self.rules = rules
    }

    /// Who `token` speaks for at the moment `now`.
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
        // Last, so that "expired" always means: with another `exp` this would have been good.
        guard now < verified.deadline else { throw .expired }
        return verified
    }

    /// - Throws: `TokenError.refused` unless one of the keys that the token may use has signed it.
    private func checkSignature(of token: SignedToken) throws(TokenError) {
        guard rules.algorithms.isEmpty || rules.algorithms.contains(token.algorithm) else {
            throw .refused(.algorithmNotAllowed)
        }
        // A key without a name (a PEM or secret file) serves every token of its algorithm; a token
        // without a name may be any key's.
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
            guard claims["iss"]?.string == issuer else { throw .refused(.otherIssuer) }
        }
        if let audience = rules.audience {
            let named = claims["aud"].map { $0.array ?? [$0] } ?? []
            guard named.contains(where: { $0.string == audience }) else {
                throw .refused(.otherAudience)
            }
        }
    }

    /// Seconds since 1970, with a fraction if need be. Up to the year 9999: more is most likely
    /// milliseconds, and a token that never expires.
    /// - Throws: `TokenError.refused` if the claim is there and is no such number.
    private func time(_ claim: RawJSON?) throws(TokenError) -> Timestamp? {
        guard let claim else { return nil }
        guard let seconds = claim.double, (0...253_402_300_799).contains(seconds) else {
            throw .refused(.badTime)
        }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }
}
