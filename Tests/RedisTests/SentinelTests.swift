import Chat
import Engine
import Glibc
import TestSupport
import Testing
import Wire

@testable import Upstream

/// One master with a replica, and three sentinels that decide which of them it is.
final class SentinelServers {
    let master: RedisServer
    let replica: RedisServer
    let sentinels: [RedisServer]

    /// - Parameters:
    ///   - arguments: of the master and of the replica.
    ///   - way: the port by which sentinels and replica reach the master, and so everybody.
    init(_ arguments: [String] = [], by way: (RedisServer) throws -> Int = \.port) throws {
        let master = try RedisServer(arguments)
        self.master = master
        let port = try way(master)
        replica = try RedisServer(arguments + ["--replicaof", "127.0.0.1 \(port)"])
        let sentinels = try (0..<3).map { _ in try RedisServer(watching: port, quorum: 2) }
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
    }

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
            (try? Self.seq(of: conversation, at: replica)) == seq
        }
        if !isCopied { throw TestFailure("the replica has not \(seq) messages") }
    }

    static func seq(of conversation: String, at server: RedisServer) throws -> Int? {
        try server.ask("HGET", "gapless:{\(conversation)}:meta", "seq").int
    }
}

/// Who the master is, is what most sentinels say.
@Suite(.serialized) struct SentinelTests {
    @Test func aKilledMasterIsFollowedToTheNextOne() throws {
        let servers = try SentinelServers()
        let subject = try servers.subject()
        try subject.conversation()
        let generation = try subject.subscribe()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        let seen = try subject.head()
        try servers.waitForReplica("c1", seq: 20)
        let before = subject.outputs.count
        servers.master.process.kill()
        let next = try subject.outputs.wait("the next generation", from: before) { output in
            if case .subscribed("c1", let next) = output { next } else { nil }
        }
        #expect(next > generation)
        try subject.waitUntilOnline()
        #expect(try subject.changes(since: seen.rev, mark: seen.mark).messages.isEmpty)
        #expect(try subject.send("after").seq == 21)
    }

    @Test func aMasterWithoutAMajorityCountsNoMoreThoughItAnswers() throws {
        let servers = try SentinelServers()
        let subject = try servers.subject()
        try subject.conversation()
        let generation = try subject.subscribe()
        // What one sentinel says alone counts for nothing; the master itself goes on.
        for sentinel in servers.sentinels.prefix(2) { sentinel.process.send(SIGSTOP) }
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        #expect(throws: RequestError.originUnavailable) { try subject.send("not written") }
        #expect(try SentinelServers.seq(of: "c1", at: servers.master) == 0)
        for sentinel in servers.sentinels.prefix(2) { sentinel.process.send(SIGCONT) }
        try subject.waitUntilOnline()
        #expect(try subject.send("written").seq == 1)
    }

    @Test func whatAMasterThatWasCutOffAcceptedAloneIsFoundAsAFork() throws {
        let user = ["--user", "gateway", "on", ">secret", "~*", "&*", "+@all"]
        var ways: [Strait] = []
        let servers = try SentinelServers(user) { master in
            ways.append(try Strait(to: master.port, passing: "gateway"))
            return ways[0].port
        }
        let subject = try servers.subject {
            $0.user = "gateway"
            $0.password = "secret"
        }
        try subject.conversation()
        let generation = try subject.subscribe()
        for number in 1...5 { try subject.send("\(number)") }
        let common = try subject.head()
        try servers.waitForReplica("c1", seq: 5)

        ways[0].cut()
        // Until the sentinels name another, it goes on.
        func lapse() -> Int? {
            subject.outputs.all.firstIndex { output in
                if case .lapsed(generation) = output { true } else { false }
            }
        }
        let hasLapsed = Deadline.standard.poll {
            _ = try? subject.send("alone")
            return lapse() != nil
        }
        try #require(hasLapsed)
        // The newest change of which the feed of the old master told.
        let told = subject.outputs.all.prefix(lapse() ?? 0).compactMap { output -> Head? in
            if case .feed(.message(_, _, _, let head)) = output { head } else { nil }
        }
        let lost = try #require(told.last)
        #expect(lost.rev > common.rev && lost.epoch == common.epoch)
        _ = try subject.outputs.wait("the feed of the next master") { output in
            if case .subscribed("c1", let next) = output, next > generation { true } else { nil }
        }
        try subject.waitUntilOnline()
        let accepted = try SentinelServers.seq(of: "c1", at: servers.master)
        let forked = try subject.send("other")
        #expect(try SentinelServers.seq(of: "c1", at: servers.replica) == forked.seq)
        #expect(try SentinelServers.seq(of: "c1", at: servers.master) == accepted)

        let known = try subject.changes(since: common.rev, mark: common.mark)
        #expect(known.messages.map(\.seq) == Array(common.seq + 1...forked.seq))
        #expect(refusal { try subject.changes(since: lost.rev, mark: lost.mark) } == .conflict)
        let disowned = try subject.disown(lost, of: "c1")
        #expect(disowned.epoch != common.epoch && disowned.seq == forked.seq)
        #expect(try subject.disown(lost, of: "c1") == disowned)
    }
}
