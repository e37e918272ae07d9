import Crypto
import Testing

/// A token that must be refused, and why.
struct RefusedToken: Sendable, CustomTestStringConvertible {
    let what: String
    let token: String
    let refusal: TokenError.Refusal

    var testDescription: String { what }

    init(_ what: String, _ token: String, _ refusal: TokenError.Refusal) {
        self.what = what
        self.token = token
        self.refusal = refusal
    }

    static let all = shapes + headers + keys + claims

    private static let good = Forge.token()
    private static let parts = good.split(separator: ".").map(String.init)

    private static let shapes = [
        RefusedToken("nothing", "", .malformed),
        RefusedToken("a word", "token", .malformed),
        RefusedToken("points only", "..", .malformed),
        RefusedToken("two parts", parts[0] + "." + parts[1], .malformed),
        RefusedToken("no signature", parts[0] + "." + parts[1] + ".", .malformed),
        RefusedToken("no header", "." + parts[1] + "." + parts[2], .malformed),
        RefusedToken("no claims", parts[0] + ".." + parts[2], .malformed),
        RefusedToken("four parts", good + ".AAAA", .malformed),
        RefusedToken("five parts, as of JWE", good + ".AAAA.AAAA", .malformed),
        RefusedToken("padding", parts[0] + "." + parts[1] + "." + parts[2] + "=", .malformed),
        RefusedToken("a space in front", " " + good, .malformed),
        RefusedToken("a line end behind", good + "\n", .malformed),
        RefusedToken("the scheme in front", "Bearer " + good, .malformed),
        RefusedToken("the alphabet of base64", "+/+/." + parts[1] + "." + parts[2], .malformed),
        RefusedToken("a length that is none", "AAAAA." + parts[1] + "." + parts[2], .malformed),
        RefusedToken("bits behind the last byte", "AB." + parts[1] + "." + parts[2], .malformed),
        RefusedToken("not ASCII", "é" + good, .malformed),
        RefusedToken("a zero byte", good + "\0", .malformed),
        RefusedToken(
            "a byte too long",
            good + String(repeating: "A", count: 8193 - good.utf8.count), .tooLong),
        RefusedToken("a megabyte", String(repeating: "A", count: 1 << 20), .tooLong),
    ]

    private static let headers = [
        RefusedToken("a header of no JSON", header("alg"), .malformedHeader),
        RefusedToken("a header that is a list", header(#"["HS256"]"#), .malformedHeader),
        RefusedToken(
            "two algorithms", header(#"{"alg":"none","alg":"HS256"}"#), .malformedHeader),
        RefusedToken(
            "two algorithms, one escaped", header(#"{"alg":"HS256","\u0061lg":"none"}"#),
            .malformedHeader),
        RefusedToken(
            "a header in invalid UTF-8",
            Forge.encoded(Array(#"{"alg":"HS256","x":""#.utf8) + [0xFF] + Array(#""}"#.utf8))
                + "." + parts[1] + "." + parts[2], .malformedHeader),
        RefusedToken(
            "a header nested deeply",
            header(
                #"{"alg":"HS256","x":"# + String(repeating: "[", count: 500)
                    + String(repeating: "]", count: 500) + "}"), .malformedHeader),
        RefusedToken("no algorithm", header(#"{"typ":"JWT"}"#), .unknownAlgorithm),
        RefusedToken("the algorithm none", header(#"{"alg":"none"}"#), .unknownAlgorithm),
        RefusedToken("the algorithm None", header(#"{"alg":"None"}"#), .unknownAlgorithm),
        RefusedToken("the algorithm hs256", header(#"{"alg":"hs256"}"#), .unknownAlgorithm),
        RefusedToken("an algorithm that is null", header(#"{"alg":null}"#), .unknownAlgorithm),
        RefusedToken(
            "an extension", header(#"{"alg":"HS256","crit":["b64"],"b64":false}"#),
            .criticalHeader),
        RefusedToken(
            "an empty list of extensions", header(#"{"alg":"HS256","crit":[]}"#), .criticalHeader),
        RefusedToken("a key id that is a number", header(#"{"alg":"HS256","kid":1}"#), .badKeyID),
        RefusedToken("an empty key id", header(#"{"alg":"HS256","kid":""}"#), .badKeyID),
        RefusedToken(
            "a long key id",
            header(#"{"alg":"HS256","kid":""# + String(repeating: "k", count: 256) + #""}"#),
            .badKeyID),
    ]

    private static let keys = [
        RefusedToken(
            "a key id that is a path", header(#"{"alg":"HS256","kid":"../../dev/null"}"#),
            .unknownKey),
        RefusedToken(
            "a key id that is SQL", header(#"{"alg":"HS256","kid":"' OR 1=1 --"}"#), .unknownKey),
        RefusedToken(
            "the id of an RSA key for HS256", header(#"{"alg":"HS256","kid":"rsa-1"}"#),
            .unknownKey),
        RefusedToken(
            "RS256 with the bytes of an HMAC", header(#"{"alg":"RS256","kid":"rsa-1"}"#),
            .badSignature),
        RefusedToken(
            "ES256 with the bytes of an HMAC", header(#"{"alg":"ES256"}"#), .badSignature),
        RefusedToken(
            "EdDSA with the bytes of an HMAC", header(#"{"alg":"EdDSA"}"#), .badSignature),
        RefusedToken(
            "ES256 of zeros",
            Forge.encoded(#"{"alg":"ES256"}"#) + "." + parts[1] + "."
                + Forge.encoded([UInt8](repeating: 0, count: 64)), .badSignature),
        RefusedToken(
            "EdDSA of zeros",
            Forge.encoded(#"{"alg":"EdDSA"}"#) + "." + parts[1] + "."
                + Forge.encoded([UInt8](repeating: 0, count: 64)), .badSignature),
        RefusedToken(
            "another secret", Forge.token(secret: Array("somebody else's secret, long".utf8)),
            .badSignature),
        RefusedToken("no secret at all", Forge.token(secret: []), .badSignature),
        RefusedToken("confusion of algorithms", Fixtures.confused, .badSignature),
        RefusedToken(
            "a key of its own",
            Forge.token(
                header: #"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#, secret: [0, 0, 0]),
            .badSignature),
        RefusedToken(
            "half a signature", parts[0] + "." + parts[1] + "." + parts[2].prefix(20),
            .badSignature),
        RefusedToken(
            "other claims under the signature",
            parts[0] + "." + Forge.encoded(Forge.claims(sub: #""bob""#)) + "." + parts[2],
            .badSignature),
    ]

    private static let claims = [
        claims("claims of no JSON", "sub=alice", .malformedClaims),
        claims("claims that are a list", "[1]", .malformedClaims),
        claims(
            "two subjects", Forge.claims(extra: #""sub":"bob""#), .malformedClaims),
        claims("no subject", Forge.claims(sub: nil), .badSubject),
        claims("a subject that is a number", Forge.claims(sub: "7"), .badSubject),
        claims("a subject that is null", Forge.claims(sub: "null"), .badSubject),
        claims("an empty subject", Forge.claims(sub: #""""#), .badSubject),
        claims("a subject with a control", Forge.claims(sub: #""a\u0000b""#), .badSubject),
        claims("a subject with U+0085", Forge.claims(sub: #""a\u0085b""#), .badSubject),
        claims(
            "a long subject", Forge.claims(sub: "\"" + String(repeating: "é", count: 128) + "\""),
            .badSubject),
        claims("no expiry", Forge.claims(exp: nil), .noExpiry),
        claims("an expiry that is a text", Forge.claims(exp: #""1800003600""#), .badTime),
        claims("an expiry that is null", Forge.claims(exp: "null"), .badTime),
        claims("an expiry in milliseconds", Forge.claims(exp: "1800003600000"), .badTime),
        claims("an expiry beyond numbers", Forge.claims(exp: "1e400"), .badTime),
        claims("an expiry below zero", Forge.claims(exp: "-1"), .badTime),
        claims("a start that is a text", Forge.claims(extra: #""nbf":"now""#), .badTime),
        claims("a start in the future", Forge.claims(extra: #""nbf":1800001000"#), .notYetValid),
        claims("an issue that is a list", Forge.claims(extra: #""iat":[1]"#), .badTime),
        claims(
            "an issue in the future", Forge.claims(extra: #""iat":1800001000"#), .issuedInFuture),
    ]

    private static func header(_ text: String) -> String { Forge.token(header: text) }

    private static func claims(
        _ what: String, _ text: String, _ refusal: TokenError.Refusal
    ) -> RefusedToken {
        RefusedToken(what, Forge.token(claims: text), refusal)
    }
}
