import JSON

/// A token taken apart (the compact form of RFC 7515), with its header read and its claims still
/// closed: nobody has vouched for them yet.
struct SignedToken {
    /// The longest token that is looked at.
    static let longest = 8192

    /// What the header asks for. It only chooses among the keys that are bound to it.
    let algorithm: SignatureAlgorithm
    /// The name of the key, if the header gives one. It is compared, never used as a place.
    let keyID: String?
    /// What was signed: header, point, claims, as they came.
    let signed: [UInt8]
    let signature: [UInt8]
    /// The text of the claims.
    let claims: [UInt8]

    /// Takes a token apart.
    /// - Throws: `TokenError.refused`.
    init(_ token: some Sequence<UInt8>) throws(TokenError) {
        // One byte more than allowed is enough to know, whatever a stranger sends.
        let text = Array(token.prefix(Self.longest + 1))
        guard text.count <= Self.longest else { throw .refused(.tooLong) }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts.contains(where: \.isEmpty),
            let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .refused(.malformed) }
        guard let members = Self.object(header) else { throw .refused(.malformedHeader) }
        guard let algorithm = members["alg"]?.string.flatMap(SignatureAlgorithm.init(rawValue:))
        else { throw .refused(.unknownAlgorithm) }
        // Whoever demands that an extension be understood must not be half understood: none is.
        guard members["crit"] == nil else { throw .refused(.criticalHeader) }
        var keyID: String?
        if let name = members["kid"] {
            guard let text = name.string, (1...255).contains(text.utf8.count) else {
                throw .refused(.badKeyID)
            }
            keyID = text
        }
        self.algorithm = algorithm
        self.keyID = keyID
        self.signed = Array(text[..<parts[1].endIndex])
        self.signature = signature
        self.claims = claims
    }

    /// A JSON object whose names are unique: with two values under one name the issuer and the
    /// gateway might each believe another one (RFC 7515, 4).
    static func object(_ text: [UInt8]) -> JSONObject? {
        guard let object = try? JSONObject(text),
            Set(object.members.map(\.key)).count == object.members.count
        else { return nil }
        return object
    }
}
