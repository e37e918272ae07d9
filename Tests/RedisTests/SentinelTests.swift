import Chat
import Engine
import Glibc
import TestSupport
import Testing
import Wire

@testable import Upstream

/// One master with a replica, and three sentinels that decide which of them it is.
@Suite(.serialized) struct SentinelTests {
    private let master: RedisServer
    private let replica: RedisServer
    private let sentinels: [RedisServer]
    private let subject: Subject

    init() throws {
        let master = try RedisServer()
        self.master = master
        replica = try RedisServer(["--replicaof", "127.0.0.1 \(master.port)"])
        let sentinels = try (0..<3).map { _ in try RedisServer(watching: master, quorum: 2) }
        self.sentinels = sentinels
        // A failover needs sentinels that know each other and the replica.
        let isKnown = Deadline.standard.poll {
            sentinels.allSatisfy { sentinel in
                let reply = try? sentinel.ask("SENTINEL", "MASTER", "mymaster")
                let parts = (reply?.elements ?? []).map(\.string)
                guard let others = parts.firstIndex(of: "num-other-sentinels"),
                    let slaves = parts.firstIndex(of: "num-slaves")
                else { return false }
                return parts[others + 1] == "2" && parts[slaves + 1] == "1"
            }
        }
        if !isKnown { throw TestFailure("the sentinels don't know each other") }
        var options = try master.options { $0.deadline = .seconds(1) }
        // With sentinels the address of the URL does not count.
        options.address.port = 1
        options.sentinels = sentinels.map(\.address)
        subject = Subject(Redis(options))
        try subject.waitUntilOnline()
    }

    @Test func aKilledMasterIsFollowedToTheNextOne() throws {
        try subject.conversation()
        let generation = try subject.subscribe()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        let seen = try subject.head()
        let isCopied = Deadline.standard.poll {
            (try? replica.ask("HGET", "gapless:{c1}:meta", "seq")) == .text(Array("20".utf8))
        }
        try #require(isCopied)
        let before = subject.outputs.count
        master.process.kill()
        let next = try subject.outputs.wait("the next generation", from: before) { output in
            if case .subscribed("c1", let next) = output { next } else { nil }
        }
        #expect(next > generation)
        try subject.waitUntilOnline()
        #expect(try subject.changes(since: seen.rev, mark: seen.mark).messages.isEmpty)
        #expect(try subject.send("after").seq == 21)
    }

    @Test func aMasterWithoutAMajorityCountsNoMoreThoughItAnswers() throws {
        try subject.conversation()
        let generation = try subject.subscribe()
        // What one sentinel says alone counts for nothing; the master itself goes on.
        for sentinel in sentinels.prefix(2) { sentinel.process.send(SIGSTOP) }
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        #expect(throws: RequestError.originUnavailable) { try subject.send("not written") }
        #expect(try master.ask("HGET", "gapless:{c1}:meta", "seq") == .text(Array("0".utf8)))
        for sentinel in sentinels.prefix(2) { sentinel.process.send(SIGCONT) }
        try subject.waitUntilOnline()
        #expect(try subject.send("written").seq == 1)
    }
}
