/// A command on its way to a server: the words of it, or one of our scripts with its keys and
/// arguments, which the link sends by the digest that the server gave it.
enum RedisCommand: Sendable {
    case words([[UInt8]])
    case script(RedisScript, keys: [[UInt8]], arguments: [[UInt8]])

    static func words(_ words: String...) -> RedisCommand { .words(words.map { Array($0.utf8) }) }

    /// Opens, on a node that receives a slot, the way to it for the one command behind.
    static let asking = words("ASKING")

    var isAsking: Bool {
        if case .words(let words) = self { words.first == Array("ASKING".utf8) } else { false }
    }

    /// The slot of the cluster in which the command's keys or channel lie: our words have one,
    /// right behind the first.
    var slot: Int? {
        switch self {
        case .words(let words): words.count > 1 ? HashSlot.of(words[1]) : nil
        case .script(_, let keys, _): keys.first.map(HashSlot.of)
        }
    }

    /// About how many bytes it takes on the wire.
    var size: Int {
        switch self {
        case .words(let words): words.reduce(16) { $0 + $1.count + 8 }
        case .script(_, let keys, let arguments):
            (keys + arguments).reduce(64) { $0 + $1.count + 8 }
        }
    }

    /// Whether it tells the feed.
    var tells: Bool {
        if case .script(let script, _, _) = self { script.tells } else { false }
    }

    /// Appends the command in the server's protocol (RESP).
    /// - Parameter digests: what the server calls each script.
    func append(to output: inout [UInt8], digests: [RedisScript: [UInt8]]) {
        switch self {
        case .words(let words):
            Self.append(words.count, to: &output)
            for word in words { Self.append(word, to: &output) }
        case .script(let script, let keys, let arguments):
            Self.append(3 + keys.count + arguments.count, to: &output)
            // A script that was not loaded yet goes as a whole.
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

    private static func append(_ count: Int, to output: inout [UInt8]) {
        output.append(contentsOf: "*\(count)\r\n".utf8)
    }

    private static func append(_ word: [UInt8], to output: inout [UInt8]) {
        output.append(contentsOf: "$\(word.count)\r\n".utf8)
        output.append(contentsOf: word)
        output.append(contentsOf: "\r\n".utf8)
    }
}
