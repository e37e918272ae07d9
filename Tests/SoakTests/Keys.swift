import Foundation
import TestSupport

/// The keys of a soak's gateways, rotated as their operator would: those of tokens in a key set,
/// where a new one is added and the one before the last taken out; those of the server API in a
/// file, beside the one that the writers use throughout.
final class Keys {
    private let directory: URL
    /// Of tokens, the newest last; at most two are good.
    private var numbers = [0]
    /// Of the server API.
    private var number = 0

    /// - Throws: Foundation's error.
    init(in directory: URL) throws {
        self.directory = directory
        try writeTokenKeys()
        try writeAPIKeys()
    }

    /// What the gateways are to be told.
    var settings: [String: String] {
        [
            "auth.mode": "jwt", "auth.jwt.jwks_file": tokenFile.path, "auth.jwt.leeway": "1s",
            "auth.api_key_file": apiFile.path,
        ]
    }

    private var tokenFile: URL { directory.appendingPathComponent("keys.json") }
    private var apiFile: URL { directory.appendingPathComponent("api-keys") }

    /// A token of the user, signed with the newest key that all gateways know.
    func token(_ user: String, seconds: Int) -> String {
        var token = TestToken(user: user, expiresIn: seconds)
        token.header["kid"] = .string(Self.name(numbers.last ?? 0))
        token.secret = Self.secret(numbers.last ?? 0)
        return token.text
    }

    /// Makes a new key for tokens, which counts when `reload` has told all gateways.
    ///
    /// - Throws: Foundation's error.
    func rotateTokens(_ reload: () throws -> Void) throws {
        let next = (numbers.last ?? 0) + 1
        numbers = [next] + numbers.suffix(1)
        try writeTokenKeys()
        try reload()
        numbers.reverse()
    }

    /// The newest key of the server API.
    var apiKey: String { "a-key-of-the-soak-\(number)" }

    /// Gives another, and takes out the one before.
    ///
    /// - Returns: The one that is to be refused from now on.
    /// - Throws: Foundation's error.
    func rotateAPI() throws -> String {
        let old = apiKey
        number += 1
        try writeAPIKeys()
        return old
    }

    private func writeTokenKeys() throws {
        let keys = numbers.map { number -> JSONValue in
            [
                "kty": "oct", "alg": "HS256", "kid": .string(Self.name(number)),
                "k": .string(TestToken.base64(Array(Self.secret(number).utf8))),
            ]
        }
        let set: JSONValue = ["keys": .array(keys)]
        try Data(set.bytes).write(to: tokenFile, options: .atomic)
    }

    private func writeAPIKeys() throws {
        try Data("\(GatewayProcess.apiKey)\n\(apiKey)\n".utf8).write(to: apiFile, options: .atomic)
    }

    private static func name(_ number: Int) -> String { "key-\(number)" }
    private static func secret(_ number: Int) -> String { "\(TestToken.secret) \(number)" }
}
