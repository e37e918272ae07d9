/// A server's eviction policy: for a log only `noeviction` is right. With a `volatile-*` policy our
/// keys are scanned, some at a time, for a time to live. A value, kept by its link.
struct MemoryPolicy {
    private let database: Int
    private let pattern: [UInt8]
    /// The cursor of the scan of our keys; nil if none is needed.
    private var cursor: [UInt8]?
    /// A key of ours that has a time to live.
    private var found: String?
    private var hasFoundThisTime = false

    init(_ options: RedisOptions) {
        database = options.database
        pattern = options.pattern(of: "*")
    }

    /// The problem with the server's policy; nil if there is none.
    mutating func judge(_ info: RedisInfo) -> String? {
        let policy = info["maxmemory_policy"] ?? "noeviction"
        if policy.hasPrefix("allkeys-") {
            cursor = nil
            return "keep data: maxmemory-policy is \(policy), so that Redis throws data away when"
                + " its memory is full"
        }
        guard policy.hasPrefix("volatile-"), expires(info) > 0 else {
            (cursor, found, hasFoundThisTime) = (nil, nil, false)
            return nil
        }
        cursor = cursor ?? Array("0".utf8)
        return found.map {
            "keep data: maxmemory-policy is \(policy) and \($0) has a TTL, so that Redis throws"
                + " it away"
        }
    }

    private func expires(_ info: RedisInfo) -> Int {
        let fields = (info["db\(database)"] ?? "").split(separator: ",")
        let field = fields.first { $0.hasPrefix("expires=") }
        return field.flatMap { Int($0.dropFirst("expires=".count)) } ?? 0
    }

    /// The next step of the scan, sent with a pulse.
    var question: RedisCommand? {
        cursor.map { .script(.expiring, keys: [], arguments: [$0, pattern]) }
    }

    /// The reply: the next cursor, and a key with a time to live, if there was one.
    mutating func take(_ reply: RedisReply) {
        let parts = reply.elements
        guard parts.count >= 2, let next = parts[1].bytes else { return }
        if parts.count > 2, let key = parts[2].string {
            found = key
            hasFoundThisTime = true
        }
        cursor = next
        guard next == Array("0".utf8) else { return }
        if !hasFoundThisTime { found = nil }
        hasFoundThisTime = false
    }
}

extension RedisOptions {
    /// A pattern for `SCAN`: the prefix, followed by `names`.
    func pattern(of names: String) -> [UInt8] {
        // The prefix is taken literally.
        prefix.utf8.flatMap { byte -> [UInt8] in
            "*?[]\\^".utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
        } + Array(names.utf8)
    }
}
