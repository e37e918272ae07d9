/// One reply of a server, as a value. Our scripts reply with arrays whose first element is a word;
/// an `error` is the server's own and may repeat what it was sent, so only its code, the first
/// word, may be shown without a check.
package enum RedisReply: Sendable, Hashable {
    case text([UInt8])
    case integer(Int)
    case array([RedisReply])
    case none
    case error(String)

    /// The bytes of a text, or of a number as text.
    package var bytes: [UInt8]? {
        switch self {
        case .text(let bytes): bytes
        case .integer(let number): Array(String(number).utf8)
        default: nil
        }
    }

    package var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// A number, also if it is stored as text.
    package var int: Int? {
        switch self {
        case .integer(let number): number
        case .text(let bytes): Int(String(decoding: bytes, as: UTF8.self))
        default: nil
        }
    }

    /// A number of a log: a seq, a rev or a count. Lua computes with doubles, so a script never
    /// writes a number above 2^53; such a number is rejected.
    package var place: Int? { int.flatMap { Self.places.contains($0) ? $0 : nil } }

    package static let places = 0...(1 << 53) - 1

    /// The elements of an array; otherwise empty.
    package var elements: [RedisReply] {
        if case .array(let elements) = self { elements } else { [] }
    }

    /// Where a node of a cluster redirects a command for another node's slot.
    package struct Redirection: Sendable, Hashable {
        package enum Kind: String { case moved = "MOVED", ask = "ASK" }

        package var kind: Kind
        package var slot: Int
        package var address: RedisOptions.Address
    }

    /// `MOVED slot host:port` and `ASK slot host:port`.
    package var redirection: Redirection? {
        guard case .error(let text) = self else { return nil }
        let words = text.split(separator: " ")
        guard words.count == 3, let kind = Redirection.Kind(rawValue: String(words[0])),
            let slot = Int(words[1]), let colon = words[2].lastIndex(of: ":"),
            let port = Int(words[2][words[2].index(after: colon)...]),
            let address = RedisOptions.Address(host: String(words[2][..<colon]), told: port)
        else { return nil }
        return Redirection(kind: kind, slot: slot, address: address)
    }

    /// The master in a sentinel's reply: host and port.
    package var master: RedisOptions.Address? {
        let parts = elements
        guard parts.count == 2, let host = parts[0].string, let port = parts[1].int else {
            return nil
        }
        return RedisOptions.Address(host: host, told: port)
    }

    /// Error codes which show that the server is alive but can't execute the command now.
    static let signsOfLife: Set<String> = [
        "MISCONF", "OOM", "LOADING", "BUSY", "NOREPLICAS", "MASTERDOWN",
    ]

    /// Error codes of the server's state and of its user's rights. They don't depend on what is
    /// asked, and `RedisScript.attempt` shows when they are over.
    static let serverWide: Set<String> = signsOfLife.union([
        "READONLY", "CLUSTERDOWN", "NOPERM", "NOAUTH",
    ])

    /// How servers begin to say, inside a script, that their user lacks a right.
    private static let lackingRights = [
        "The user executing the script can't", "ACL failure in script",
    ]

    /// The code of an error: `NOSCRIPT`, `OOM`, …. A right that a script lacked is `NOPERM`, as it
    /// is outside of scripts.
    package var errorCode: String? {
        guard case .error(let text) = self else { return nil }
        if Self.lackingRights.contains(where: text.contains) { return "NOPERM" }
        return String(text.prefix { $0 != " " })
    }

    /// Whether a script failed at a value that it read, and no refusal of the server ended it.
    var isStumble: Bool {
        guard case .error(let text) = self else { return false }
        return text.contains("user_script:") && text.contains(": attempt to ")
    }
}
