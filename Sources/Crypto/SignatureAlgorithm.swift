/// The supported signature algorithms of tokens, by their names in RFC 7518 and RFC 8037. There is
/// no `none`: a token can only request an algorithm of this list, and each key is bound to exactly
/// one of them when it is loaded.
package enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}
