import JSON

/// A parsed token (the compact form of RFC 7515), with its header decoded. Its claims are not
/// decoded yet: their signature has not been verified.
struct SignedToken {
    /// The longest accepted token in bytes.
    static let longest = 8192

    /// The algorithm in the header. It only selects among the keys that are bound to it.
    let algorithm: SignatureAlgorithm
    /// The key's id, if the header has one. It is only compared, never used as a path or URL.
    let keyID: String?
    /// The signed bytes: header, dot, claims, as received.
    let signed: [UInt8]
    let signature: [UInt8]
    /// The claims as JSON text.
    let claims: [UInt8]

    /// Parses a token.
    /// - Throws: `TokenError.refused`.
    init(_ token: some Sequence<UInt8>) throws(TokenError) {
        // Reads one byte more than allowed, however long a stranger's token is.
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
        // A token may demand that an extension be understood (`crit`); no extension is supported.
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

    /// A JSON object with unique names: of two values under one name, the issuer and the gateway
    /// might use different ones (RFC 7515, 4).
    static func object(_ text: [UInt8]) -> JSONObject? {
        guard let object = try? JSONObject(text),
            Set(object.members.map(\.key)).count == object.members.count
        else { return nil }
        return object
    }
}
