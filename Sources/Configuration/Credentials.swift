import Crypto

/// The keys in the files of `auth`: those that tokens are checked with, and those of the server
/// API. Read at the start and at each reload; a value, used on the loop.
package struct Credentials: Sendable {
    /// Nil in open mode.
    package let verifier: TokenVerifier?
    /// Nil if the server API is closed.
    package let apiKeys: APIKeys?
    /// The password of the internal listener; nil if none is needed.
    package let internalPassword: Passwords?

    /// The size limit of a file; larger than any key set.
    private static let largestFile = 1 << 20

    /// Reads the files.
    /// - Throws: `ConfigurationError` that names the key and its file, never the file's content.
    package init(
        _ auth: Configuration.Auth, _ listen: Configuration.Listen = Configuration.Listen()
    ) throws(ConfigurationError) {
        var problems: [ConfigurationError.Problem] = []
        var keys: [VerificationKey] = []
        if auth.mode == .jwt {
            let jwt = auth.jwt
            keys +=
                Self.read("auth.jwt.secret_file", jwt.secretFile, &problems) {
                    bytes throws(CryptoError) in [try VerificationKey(secretFile: bytes)]
                } ?? []
            keys +=
                Self.read("auth.jwt.public_key_file", jwt.publicKeyFile, &problems) {
                    bytes throws(CryptoError) in [try VerificationKey(publicKeyFile: bytes)]
                } ?? []
            keys +=
                Self.read("auth.jwt.jwks_file", jwt.jwksFile, &problems) {
                    bytes throws(CryptoError) in try KeySet(jwks: bytes).keys
                } ?? []
        }
        apiKeys = Self.read("auth.api_key_file", auth.apiKeyFile, &problems) {
            bytes throws(CryptoError) in try APIKeys(file: bytes)
        }
        internalPassword = Self.read(
            "listen.internal_password_file", listen.internalPasswordFile, &problems
        ) { bytes throws(CryptoError) in try Passwords(file: bytes) }
        let bound = Set(keys.map(\.algorithm))
        for algorithm in auth.jwt.algorithms where problems.isEmpty && auth.mode == .jwt {
            if bound.contains(algorithm) { continue }
            problems.append(
                .init(
                    .whole, key: "auth.jwt.algorithms",
                    "\(algorithm.rawValue), but no key here is bound to it"))
        }
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        verifier = auth.mode == .open ? nil : TokenVerifier(keys: keys, rules: TokenRules(auth.jwt))
    }

    private static func read<Value>(
        _ key: String, _ path: String?, _ problems: inout [ConfigurationError.Problem],
        as make: ([UInt8]) throws(CryptoError) -> Value
    ) -> Value? {
        guard let path else { return nil }
        do {
            return try make(Files.read(path, limit: largestFile))
        } catch let error as CryptoError {
            problems.append(.init(.whole, key: key, "read \(path): \(error)"))
        } catch {
            problems.append(.init(.whole, key: key, "\(error)"))
        }
        return nil
    }
}

extension TokenRules {
    /// The rules that the configuration sets.
    package init(_ jwt: Configuration.Auth.JWT) {
        self.init(
            algorithms: Set(jwt.algorithms), issuer: jwt.issuer, audience: jwt.audience,
            leeway: jwt.leeway)
    }
}
