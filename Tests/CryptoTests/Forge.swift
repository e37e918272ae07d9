import Chat
import Crypto

/// Makes tokens that no issuer would.
enum Forge {
    static let now = Timestamp(milliseconds: (Fixtures.issued + 60) * 1000)
    static let secret = Array(Fixtures.secret.utf8)
    static let header = #"{"alg":"HS256","typ":"JWT"}"#

    /// Good claims, with what `extra` says instead or besides.
    static func claims(
        sub: String? = #""alice""#, exp: String? = "1800003600", extra: String = ""
    ) -> String {
        var members: [String] = []
        if let sub { members.append("\"sub\":\(sub)") }
        if let exp { members.append("\"exp\":\(exp)") }
        if !extra.isEmpty { members.append(extra) }
        return "{" + members.joined(separator: ",") + "}"
    }

    /// The two texts, signed with HS256.
    static func token(
        header: String = header, claims: String = claims(), secret: [UInt8] = secret
    ) -> String {
        let signed = encoded(header) + "." + encoded(claims)
        return signed + "." + encoded(MessageCode.of(signed.utf8, key: secret))
    }

    static func encoded(_ text: String) -> String { encoded(Array(text.utf8)) }
    static func encoded(_ bytes: [UInt8]) -> String {
        String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// A verifier with the key set of the fixtures.
    static func verifier(
        algorithms: Set<SignatureAlgorithm> = [], issuer: String? = nil, audience: String? = nil,
        leeway: Int64 = 30_000
    ) throws -> TokenVerifier {
        TokenVerifier(
            keys: try KeySet(jwks: Array(Fixtures.jwks.utf8)).keys,
            rules: TokenRules(
                algorithms: algorithms, issuer: issuer, audience: audience, leeway: leeway))
    }
}

extension TokenVerifier {
    /// What becomes of `token`, one minute after the fixtures were made unless told otherwise.
    func verdict(_ token: String, at now: Timestamp = Forge.now) -> Result<String, TokenError> {
        do throws(TokenError) {
            return .success(try verify(token.utf8, at: now).user)
        } catch {
            return .failure(error)
        }
    }
}
