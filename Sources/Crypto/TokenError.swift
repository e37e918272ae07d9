/// Why a token is not accepted. The reasons are fixed phrases: none contains a stranger's text, and
/// they are few enough to be counted by name.
package enum TokenError: Error, Sendable, Hashable {
    /// It was valid once: its `exp` is further back than the leeway. A new token helps.
    case expired
    /// It is invalid, and always will be.
    case refused(Refusal)

    /// The fault of a refused token.
    package enum Refusal: String, Sendable, Hashable, CaseIterable {
        case tooLong = "longer than 8192 bytes"
        case malformed = "not three parts of base64url without padding"
        case malformedHeader = "its header is not a JSON object with unique names"
        case malformedClaims = "its claims are not a JSON object with unique names"
        case unknownAlgorithm = "its algorithm is not one of HS256, RS256, ES256, EdDSA"
        case algorithmNotAllowed = "its algorithm is not allowed here"
        case criticalHeader = "its header demands an extension (crit)"
        case badKeyID = "its key id (kid) is not a string of 1 to 255 bytes"
        case unknownKey = "no key here has its key id and algorithm"
        case badSignature = "its signature is not that of a key here"
        case badSubject = "sub is missing or not a string of 1 to 255 bytes without controls"
        case noExpiry = "exp is missing"
        case badTime = "exp, nbf or iat is not a time in seconds"
        case notYetValid = "nbf lies in the future"
        case issuedInFuture = "iat lies in the future"
        case otherIssuer = "iss is missing or not the issuer expected here"
        case otherAudience = "aud is missing or does not name this service"
    }

    /// A phrase for logs and for the client.
    package var reason: String {
        switch self {
        case .expired: "exp lies in the past"
        case .refused(let refusal): refusal.rawValue
        }
    }
}
