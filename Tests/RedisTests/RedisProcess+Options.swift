import TestSupport

@testable import Upstream

// How the upstream of a test reaches the servers of a test.
extension RedisProcess {
    var address: RedisOptions.Address { .init(host: "127.0.0.1", port: port) }

    func options(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> RedisOptions {
        var options = try RedisOptions(url: url)
        options.backoffBase = .milliseconds(20)
        options.backoffMax = .milliseconds(200)
        change(&options)
        return options
    }
}

extension RedisProcess {
    /// Makes the log of a conversation look as an earlier version left it.
    func untag(_ conversation: String) throws {
        let script = """
            local name = KEYS[1]
            local tag = redis.call('HGET', name .. ':meta', 'tag')
            for _, part in ipairs({'messages', 'ids', 'members', 'reads', 'trimmed'}) do
              redis.call('HDEL', name .. ':' .. part, '\\t\\ttag')
            end
            for _, part in ipairs({'changes', 'deleted'}) do
              redis.call('ZREM', name .. ':' .. part, '\\t' .. tag)
            end
            return redis.call('HDEL', name .. ':meta', 'tag', 'seal')
            """
        try ask("EVAL", script, "1", "gapless:{\(conversation)}")
    }
}

extension RedisClusterServers {
    func options(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> RedisOptions {
        try masters[0].options {
            $0.isCluster = true
            $0.deadline = .seconds(1)
            change(&$0)
        }
    }
}

extension RedisSentinels {
    func subject(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> Subject {
        let options = try master.options {
            $0.deadline = .seconds(1)
            // With sentinels the address of the URL does not count.
            $0.address.port = 1
            $0.sentinels = sentinels.map(\.address)
            change(&$0)
        }
        let subject = Subject(Redis(options))
        try subject.waitUntilOnline()
        return subject
    }

    /// Waits until the replica has the messages up to a place.
    func waitForReplica(_ conversation: String, seq: Int) throws {
        let isCopied = Deadline.standard.poll {
            (try? Self.seq(of: conversation, at: replicas[0])) == seq
        }
        if !isCopied { throw TestFailure("the replica has not \(seq) messages") }
    }

    static func seq(of conversation: String, at server: RedisProcess) throws -> Int? {
        try server.ask("HGET", "gapless:{\(conversation)}:meta", "seq").int
    }
}
