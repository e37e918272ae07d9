import Chat
import Glibc
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Who the master is, is what most sentinels say.
@Suite(.serialized) struct SentinelTests {
    @Test func aKilledMasterIsFollowedToTheNextOne() throws {
        let servers = try RedisSentinels()
        let subject = try servers.subject()
        try subject.conversation()
        let generation = try subject.subscribe()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        let seen = try subject.head()
        try servers.waitForReplica("c1", seq: 20)
        let before = subject.outputs.count
        servers.master.kill()
        let next = try subject.outputs.wait("the next generation", from: before) { output in
            if case .subscribed("c1", let next) = output { next } else { nil }
        }
        #expect(next > generation)
        try subject.waitUntilOnline()
        #expect(try subject.changes(since: seen.rev, mark: seen.mark).messages.isEmpty)
        #expect(try subject.send("after").seq == 21)
    }

    @Test func aHealthyStartLogsNoError() throws {
        let servers = try RedisSentinels()
        for _ in 1...5 {
            let notices = Notices()
            let options = try servers.master.options {
                $0.address.port = 1
                $0.sentinels = servers.sentinels.map(\.address)
            }
            let subject = Subject(Redis(options, notice: { notices.take($0) }))
            try subject.waitUntilOnline()
            #expect(notices.all.filter { $0.event.row.level == .error } == [])
        }
    }

    @Test func aMasterWithoutAMajorityCountsNoMoreThoughItAnswers() throws {
        let servers = try RedisSentinels()
        let subject = try servers.subject()
        try subject.conversation()
        let generation = try subject.subscribe()
        // What one sentinel says alone counts for nothing; the master itself goes on.
        for sentinel in servers.sentinels.prefix(2) { sentinel.send(SIGSTOP) }
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        #expect(throws: RequestError.originUnavailable) { try subject.send("not written") }
        #expect(try RedisSentinels.seq(of: "c1", at: servers.master) == 0)
        for sentinel in servers.sentinels.prefix(2) { sentinel.send(SIGCONT) }
        try subject.waitUntilOnline()
        #expect(try subject.send("written").seq == 1)
    }

    @Test func whatAMasterThatWasCutOffAcceptedAloneIsFoundAsAFork() throws {
        let user = ["--user", "gateway", "on", ">secret", "~*", "&*", "+@all"]
        var ways: [TCPProxy] = []
        let servers = try RedisSentinels(user) { master in
            ways.append(try TCPProxy(to: master.port, letting: "gateway"))
            return ways[0].port
        }
        let subject = try servers.subject {
            $0.login.user = "gateway"
            $0.login.password = "secret"
        }
        try subject.conversation()
        let generation = try subject.subscribe()
        for number in 1...5 { try subject.send("\(number)") }
        let common = try subject.head()
        try servers.waitForReplica("c1", seq: 5)

        ways[0].set(.parted)
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
            if case .feed(.message(_, _, _, let head, _)) = output { head } else { nil }
        }
        let lost = try #require(told.last)
        #expect(lost.rev > common.rev && lost.epoch == common.epoch)
        _ = try subject.outputs.wait("the feed of the next master") { output in
            if case .subscribed("c1", let next) = output, next > generation { true } else { nil }
        }
        try subject.waitUntilOnline()
        let accepted = try RedisSentinels.seq(of: "c1", at: servers.master)
        let forked = try subject.send("other")
        #expect(try RedisSentinels.seq(of: "c1", at: servers.replicas[0]) == forked.seq)
        #expect(try RedisSentinels.seq(of: "c1", at: servers.master) == accepted)

        let known = try subject.changes(since: common.rev, mark: common.mark)
        #expect(known.messages.map(\.seq) == Array(common.seq + 1...forked.seq))
        #expect(refusal { try subject.changes(since: lost.rev, mark: lost.mark) } == .conflict)
        let renewed = try subject.forkEpoch(lost, of: "c1")
        #expect(renewed.epoch != common.epoch && renewed.seq == forked.seq)
        #expect(try subject.forkEpoch(lost, of: "c1") == renewed)
    }
}
