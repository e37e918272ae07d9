/// What a server does when its memory is full: nothing but refusing is right for a log. Where the
/// policy spares keys without a time to live, ours are looked at, some at a time. A value, kept by
/// its link.
struct MemoryPolicy {
    private let database: Int
    private let pattern: [UInt8]
    /// Where the walk over our keys goes on; nil where there is none.
    private var cursor: [UInt8]?
    /// One of our keys that has a time to live.
    private var found: String?
    private var hasFoundThisTime = false

    init(_ options: RedisOptions) {
        database = options.database
        pattern = options.pattern(of: "*")
    }

    /// What is wrong by what the server says of itself, nil if nothing is.
    mutating func judge(_ info: RedisInfo) -> String? {
        let policy = info["maxmemory_policy"] ?? "noeviction"
        let remedy = "(type: CONFIG SET maxmemory-policy noeviction)"
        if policy.hasPrefix("allkeys-") {
            cursor = nil
            return "keep data: maxmemory-policy is \(policy), so that Redis throws data away when"
                + " its memory is full \(remedy)"
        }
        guard policy.hasPrefix("volatile-"), expires(info) > 0 else {
            (cursor, found, hasFoundThisTime) = (nil, nil, false)
            return nil
        }
        cursor = cursor ?? Array("0".utf8)
        return found.map {
            "keep data: maxmemory-policy is \(policy) and \($0) has a TTL, so that Redis throws"
                + " it away \(remedy)"
        }
    }

    private func expires(_ info: RedisInfo) -> Int {
        let fields = (info["db\(database)"] ?? "").split(separator: ",")
        let field = fields.first { $0.hasPrefix("expires=") }
        return field.flatMap { Int($0.dropFirst("expires=".count)) } ?? 0
    }

    /// What to ask the server with its next pulse.
    var question: RedisCommand? {
        cursor.map { .script(.expiring, keys: [], arguments: [$0, pattern]) }
    }

    /// Its answer: where to go on, and a key with a time to live, if there was one.
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
    /// Keys whose names are like this behind the prefix, as `SCAN` takes it.
    func pattern(of names: String) -> [UInt8] {
        // What a prefix means to a pattern.
        prefix.utf8.flatMap { byte -> [UInt8] in
            "*?[]\\^".utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
        } + Array(names.utf8)
    }
}
