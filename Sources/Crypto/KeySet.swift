import JSON

/// The keys of a JWKS file (RFC 7517). Keys of unsupported types and uses are skipped, as the
/// standard requires; a supported key that is broken, weak or private makes the file invalid:
/// without it the gateway would silently refuse somebody's tokens.
package struct KeySet: Sendable {
    /// The keys, in the order of the file.
    package let keys: [VerificationKey]

    /// More than any issuer publishes; bounds the cost of a token without `kid`.
    package static let mostKeys = 64

    /// Parses the file.
    /// - Throws: `CryptoError` with the number of the key, from 1, and the fault.
    package init(jwks file: [UInt8]) throws(CryptoError) {
        let object: JSONObject
        do throws(JSONError) {
            object = try JSONObject(file)
        } catch {
            throw CryptoError("not a JSON object: \(error.reason) (byte \(error.offset))")
        }
        guard let list = object["keys"]?.array else {
            throw CryptoError("\"keys\" is missing or no array")
        }
        guard list.count <= Self.mostKeys else {
            throw CryptoError("\(list.count) keys (at most \(Self.mostKeys))")
        }
        var keys: [VerificationKey] = []
        for (at, entry) in list.enumerated() {
            do throws(CryptoError) {
                guard let members = entry.object else { throw CryptoError("not an object") }
                if let key = try Self.key(members) { keys.append(key) }
            } catch {
                throw CryptoError("key \(at + 1): \(error)")
            }
        }
        guard !keys.isEmpty else {
            throw CryptoError("no key to verify with (oct, RSA, EC P-256, OKP Ed25519)")
        }
        self.keys = keys
    }

    /// The key of one entry; nil if its type or use is not supported.
    private static func key(_ entry: JSONObject) throws(CryptoError) -> VerificationKey? {
        if let use = entry["use"], use.string != "sig" { return nil }
        if let operations = entry["key_ops"] {
            guard operations.array?.contains(where: { $0.string == "verify" }) == true else {
                return nil
            }
        }
        guard let type = entry["kty"]?.string else { throw CryptoError("\"kty\" is missing") }
        if type != "oct", entry["d"] != nil {
            throw CryptoError("a private key where a public one belongs")
        }
        guard let material = try material(entry, type: type) else { return nil }
        let id: String?
        switch entry["kid"] {
        case nil: id = nil
        case let name?:
            guard let text = name.string, !text.isEmpty, text.utf8.count <= 255 else {
                throw CryptoError("\"kid\" is no string of 1 to 255 bytes")
            }
            id = text
        }
        let key = VerificationKey(id: id, material)
        // An entry's `alg` must agree with its numbers. Another algorithm for the same numbers
        // (RS512) is not supported.
        if let stated = entry["alg"], stated.string != key.algorithm.rawValue {
            // RFC 9864 has a separate name for EdDSA over Ed25519.
            guard key.algorithm == .edDSA, stated.string == "Ed25519" else { return nil }
        }
        return key
    }

    private static func material(
        _ entry: JSONObject, type: String
    ) throws(CryptoError) -> VerificationKey.Material? {
        switch (type, entry["crv"]?.string) {
        case ("oct", _):
            return .secret(try VerificationKey.strong(try bytes(entry, "k")))
        case ("RSA", _):
            return .publicKey(
                try PublicKey(
                    rsaModulus: try bytes(entry, "n"), exponent: try bytes(entry, "e")))
        case ("EC", "P-256"):
            return .publicKey(
                try PublicKey(p256X: try bytes(entry, "x"), y: try bytes(entry, "y")))
        case ("OKP", "Ed25519"):
            return .publicKey(try PublicKey(ed25519: try bytes(entry, "x")))
        default:
            return nil
        }
    }

    private static func bytes(_ entry: JSONObject, _ name: String) throws(CryptoError) -> [UInt8] {
        guard let text = entry[name]?.string, let bytes = Base64URL.decode(text.utf8) else {
            throw CryptoError("\"\(name)\" is missing or no base64url")
        }
        return bytes
    }
}
