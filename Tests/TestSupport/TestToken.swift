import Foundation

/// JSON web tokens signed with HS256, made here from RFC 7515, RFC 2104 and FIPS 180-4, so that the
/// gateway's own cryptography is not checked by itself.
package struct TestToken {
    package static let secret = "a secret of the tests, which is long enough"

    package var header: JSONValue = ["alg": "HS256", "typ": "JWT"]
    package var claims: JSONValue
    package var secret = Self.secret

    /// A good token of this user.
    ///
    /// - Parameter seconds: How long it is good; negative if it no longer is.
    package init(user: String, expiresIn seconds: Int = 3600) {
        claims = ["sub": .string(user), "exp": .int(Self.now + seconds)]
    }

    package static var now: Int { Int(Date().timeIntervalSince1970) }

    /// The token with another claim, or without one.
    package func with(_ name: String, _ value: JSONValue?) -> TestToken {
        var token = self
        var members = claims.object ?? [:]
        members[name] = value
        token.claims = .object(members)
        return token
    }

    package var text: String {
        let signed = Self.base64(header.bytes) + "." + Self.base64(claims.bytes)
        let code = Self.code(of: Array(signed.utf8), key: Array(secret.utf8))
        return signed + "." + Self.base64(code)
    }

    package static func base64(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }

    // MARK: HMAC-SHA-256

    private static func code(of text: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? digest(of: key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return digest(of: block.map { $0 ^ 0x5C } + digest(of: block.map { $0 ^ 0x36 } + text))
    }

    private static let constants: [UInt32] = primes(64).map { fraction(of: cbrt(Double($0))) }
    private static let start: [UInt32] = primes(8).map { fraction(of: Double($0).squareRoot()) }

    private static func primes(_ count: Int) -> [Int] {
        var found: [Int] = []
        var next = 2
        while found.count < count {
            if found.allSatisfy({ next % $0 != 0 }) { found.append(next) }
            next += 1
        }
        return found
    }

    /// The first 32 bits of what stands behind the point.
    private static func fraction(of value: Double) -> UInt32 {
        UInt32((value - value.rounded(.down)) * 4_294_967_296)
    }

    private static func digest(of text: [UInt8]) -> [UInt8] {
        var padded = text + [0x80]
        padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
        padded += WebSocketFrame.bigEndian(text.count * 8, bytes: 8)
        var state = start
        for block in stride(from: 0, to: padded.count, by: 64) {
            var words = (0..<16).map { index in
                padded[(block + index * 4)..<(block + index * 4 + 4)].reduce(UInt32(0)) {
                    $0 << 8 | UInt32($1)
                }
            }
            for index in 16..<64 {
                let (a, b) = (words[index - 15], words[index - 2])
                let first = turned(a, 7) ^ turned(a, 18) ^ a >> 3
                let second = turned(b, 17) ^ turned(b, 19) ^ b >> 10
                words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
            }
            let mixed = compressed(state, words)
            for index in 0..<8 { state[index] &+= mixed[index] }
        }
        return state.flatMap { WebSocketFrame.bigEndian(Int($0), bytes: 4) }
    }

    private static func compressed(_ state: [UInt32], _ words: [UInt32]) -> [UInt32] {
        var s = state
        for index in 0..<64 {
            let high = turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)
            let choice = (s[4] & s[5]) ^ (~s[4] & s[6])
            let first = s[7] &+ high &+ choice &+ constants[index] &+ words[index]
            let low = turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])
            s = [first &+ low &+ majority, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
        }
        return s
    }

    private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }
}
