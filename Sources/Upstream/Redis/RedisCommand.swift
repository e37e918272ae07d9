/// A command for a server: its words, or a script with keys and arguments, which the link sends by
/// digest.
enum RedisCommand: Sendable {
    case words([[UInt8]])
    case script(RedisScript, keys: [[UInt8]], arguments: [[UInt8]])
    /// All entries of a sorted set with their scores: its reply, and so its cost, has no bound.
    case all(ofSet: [UInt8])

    static func words(_ words: String...) -> RedisCommand { .words(words.map { Array($0.utf8) }) }

    /// Sent before a command that a migrating slot's new node is to execute.
    static let asking = words("ASKING")

    var isAsking: Bool {
        if case .words(let words) = self { words.first == Array("ASKING".utf8) } else { false }
    }

    /// The cluster slot of the command's keys or channel: for words, that of the first argument.
    var slot: Int? {
        switch self {
        case .words(let words): words.count > 1 ? HashSlot.of(words[1]) : nil
        case .script(_, let keys, _): keys.first.map(HashSlot.of)
        case .all(let key): HashSlot.of(key)
        }
    }

    /// The approximate bytes on the wire.
    var size: Int {
        switch self {
        case .words(let words): words.reduce(16) { $0 + $1.count + 8 }
        case .script(_, let keys, let arguments):
            (keys + arguments).reduce(64) { $0 + $1.count + 8 }
        case .all(let key): key.count + 64
        }
    }

    /// Whether its cost has no bound.
    var isLong: Bool { if case .all = self { true } else { false } }

    /// About what it costs a server; a message sent is 1.
    var cost: Int {
        switch self {
        case .words: 1
        case .all: 50
        // A step through members.
        case .script(.people, _, _): 10
        case .script: 1
        }
    }

    /// Whether it publishes to the feed.
    var tells: Bool {
        if case .script(let script, _, _) = self { script.tells } else { false }
    }

    /// Appends the command in the server's protocol (RESP).
    /// - Parameter digests: the server's digests of loaded scripts.
    func append(to output: inout [UInt8], digests: [RedisScript: [UInt8]]) {
        switch self {
        case .words(let words): Self.append(words, to: &output)
        case .all(let key):
            let (range, scores) = (["0", "-1"].map { Array($0.utf8) }, Array("WITHSCORES".utf8))
            Self.append([Array("ZRANGE".utf8), key] + range + [scores], to: &output)
        case .script(let script, let keys, let arguments):
            Self.append(3 + keys.count + arguments.count, to: &output)
            // A script without a digest is sent as text.
            if let digest = digests[script] {
                Self.append(Array("EVALSHA".utf8), to: &output)
                Self.append(digest, to: &output)
            } else {
                Self.append(Array("EVAL".utf8), to: &output)
                Self.append(Array(script.text.utf8), to: &output)
            }
            Self.append(Array(String(keys.count).utf8), to: &output)
            for word in keys { Self.append(word, to: &output) }
            for word in arguments { Self.append(word, to: &output) }
        }
    }

    private static func append(_ words: [[UInt8]], to output: inout [UInt8]) {
        append(words.count, to: &output)
        for word in words { append(word, to: &output) }
    }

    private static func append(_ count: Int, to output: inout [UInt8]) {
        output.append(contentsOf: "*\(count)\r\n".utf8)
    }

    private static func append(_ word: [UInt8], to output: inout [UInt8]) {
        output.append(contentsOf: "$\(word.count)\r\n".utf8)
        output.append(contentsOf: word)
        output.append(contentsOf: "\r\n".utf8)
    }
}
