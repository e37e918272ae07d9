import Chat
import Crypto
import JSON

/// Tokens, and the files of the keys that they are checked with. The first byte says what the rest
/// is: a token; the signed part of one; bytes laid over a good one; claims; a JWKS or PEM file.
enum TokenInput {
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let rest = Array(bytes[1...])
        switch first % 5 {
        case 0: forged(rest)
        case 1: for token in TokenKeys.tokens { forged(rest + token.suffix) }
        case 2: for token in TokenKeys.tokens { forged(laid(rest, over: token.text)) }
        case 3: claims(rest)
        default: files(rest)
        }
    }

    /// A token that verifies says what one of those says that were signed.
    private static func forged(_ text: [UInt8]) {
        for verifier in [TokenKeys.verifier, TokenKeys.strict] {
            do throws(TokenError) {
                let verified = try verifier.verify(text, at: TokenKeys.now)
                require(verified.user == TokenKeys.user, "nobody enters under another name")
                require(verified.expires == TokenKeys.expires, "nobody stays longer")
                require(
                    TokenKeys.tokens.contains {
                        text.starts(with: $0.signed + [UInt8(ascii: ".")])
                    },
                    "nothing verifies that was not signed")
                require(text.count <= 8192, "a token keeps the limit")
            } catch {
                require(!error.reason.isEmpty, "a refusal has its reason")
            }
        }
    }

    /// `token` with each byte changed by that of `mask`, from the place that its first two say.
    private static func laid(_ mask: [UInt8], over token: [UInt8]) -> [UInt8] {
        guard mask.count > 2 else { return token }
        var token = token
        let start = (Int(mask[0]) << 8 | Int(mask[1])) % token.count
        for (at, byte) in mask.dropFirst(2).enumerated() where start + at < token.count {
            token[start + at] ^= byte
        }
        return token
    }

    /// Claims that an issuer signs: the user is what they say, and the time too. The same under a
    /// public key as a secret is refused.
    private static func claims(_ text: [UInt8]) {
        guard let token = TokenKeys.signed(text, secret: TokenKeys.secret) else { return }
        let verified = try? TokenKeys.verifier.verify(token, at: TokenKeys.now)
        if let verified {
            let claims = try? JSONObject(text)
            let user = claims?["sub"]?.string ?? ""
            require(verified.user.utf8.elementsEqual(user.utf8), "the user is whom sub says")
            require(
                !user.isEmpty && user.utf8.count <= 255 && !user.utf8.contains { $0 < 0x20 },
                "a user has an id")
            require(claims?["exp"]?.double != nil, "exp is required")
            require(verified.deadline > TokenKeys.now, "an expired token is refused")
            require(verified.deadline >= verified.expires, "the leeway is no debt")
            require(verified.expires <= .latest, "a time that can be written")
        }
        let strict = try? TokenKeys.strict.verify(token, at: TokenKeys.now)
        require(strict == nil || strict == verified, "more rules let nobody else in")
        for publicKey in TokenKeys.publicKeys {
            guard let confused = TokenKeys.signed(text, secret: publicKey) else { continue }
            let entered = try? TokenKeys.verifier.verify(confused, at: TokenKeys.now)
            require(entered == nil, "a public key is no secret")
        }
    }

    /// The keys of somebody else's file verify none of our tokens.
    private static func files(_ file: [UInt8]) {
        var keys: [VerificationKey] = []
        if let set = try? KeySet(jwks: file) {
            require((1...KeySet.mostKeys).contains(set.keys.count), "as many keys as accepted")
            keys += set.keys
        }
        if let key = try? VerificationKey(publicKeyFile: file) {
            require(key.algorithm != .hs256, "a public key is no secret")
            require(
                (try? VerificationKey(secretFile: file)) == nil
                    || !file.starts(with: "-----BEGIN".utf8), "a PEM file is no secret")
            keys.append(key)
        }
        if let key = try? VerificationKey(secretFile: file) {
            require(key.algorithm == .hs256, "a secret is one")
            keys.append(key)
        }
        _ = try? APIKeys(file: file)
        guard !keys.isEmpty else { return }
        let verifier = TokenVerifier(keys: keys, rules: TokenRules())
        for token in TokenKeys.tokens {
            let verified = try? verifier.verify(token.text, at: TokenKeys.now)
            require(verified == nil, "another key verifies nothing")
        }
    }
}
