import Glibc
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Whom one gateway is asked to disconnect, every other hears of: at once, or when it is back.
@Suite struct DisconnectTests {
    private let redis: LinkedRedis
    private let asked: Subject

    init() throws {
        redis = try LinkedRedis()
        asked = Subject(Redis(try redis.server.options()))
        try asked.waitUntilOnline()
    }

    /// A gateway that goes by way of what can be cut.
    private func linked() throws -> Subject {
        let subject = Subject(
            Redis(
                try redis.server.options {
                    $0.address.port = redis.proxy.port
                    $0.deadline = .seconds(1)
                }))
        try subject.waitUntilOnline()
        return subject
    }

    private func disconnect(_ user: String, mayComeBack: Bool = false) throws {
        let token = asked.outputs.token()
        asked.upstream.submit([.disconnect(user: user, mayComeBack: mayComeBack, token: token)])
        guard case .performed(_, let result) = try asked.outputs.wait(for: token) else {
            throw TestFailure("another kind of answer")
        }
        _ = try result.get()
    }

    private func told(_ subject: Subject) -> [String] {
        subject.outputs.all.compactMap { output in
            guard case .disconnect(let user, let mayComeBack) = output else { return nil }
            return mayComeBack ? "\(user) may come back" : user
        }
    }

    /// Nobody can be told by it; but nobody is kept offline by it, and it is said once.
    @Test func whatIsNoStreamKeepsNoGatewayOffline() throws {
        try redis.server.ask("SET", "gapless:disconnects:{all}", "x")
        let notices = Collected()
        let subject = Subject(Redis(try redis.server.options()) { notices.add($0.text) })
        try subject.waitUntilOnline()
        try subject.conversation()
        let said = notices.all.filter { $0.contains("whom to disconnect") }
        #expect(said.count == 1 && said[0].contains("WRONGTYPE"), "\(said)")
        #expect(throws: RequestError.self) { try disconnect("alice") }
    }

    /// A server that does not answer it now is asked again in a while, not as fast as it refuses.
    @Test func aRefusalIsNotAnsweredWithHaste() throws {
        let server = redis.server
        try server.ask("SET", "gapless:disconnects:{all}", "x")
        let rights = ["on", "nopass", "~*", "&*", "+@all", "-xrange"]
        try server.ask(["ACL", "SETUSER", "gate"] + rights)
        let notices = Collected()
        let options = try server.options {
            $0.login.user = "gate"
            $0.login.password = "any"
        }
        let subject = Subject(Redis(options) { notices.add($0.text) })
        let began = ContinuousClock.now
        let isRefused = Deadline.standard.poll {
            notices.all.contains { $0.contains("whom to disconnect") }
        }
        #expect(isRefused)
        try server.ask("DEL", "gapless:disconnects:{all}")
        while ContinuousClock.now < began + .seconds(1) { usleep(10_000) }
        #expect(notices.all.filter { $0.contains("whom to disconnect") }.count == 1)
        try server.ask("ACL", "SETUSER", "gate", "+xrange")
        try subject.waitUntilOnline()
    }

    @Test func everyOtherGatewayHearsOfItOnce() throws {
        let others = try (0..<2).map { _ in try linked() }
        try disconnect("alice")
        try disconnect("bob", mayComeBack: true)
        for other in others {
            #expect(Deadline.standard.poll { told(other).count == 2 })
            #expect(told(other) == ["alice", "bob may come back"])
        }
        #expect(told(asked) == [], "who was asked knows")
    }

    @Test func whoWasCutOffHearsOfItBeforeItIsOnline() throws {
        let other = try linked()
        try disconnect("before")
        #expect(Deadline.standard.poll { told(other) == ["before"] })
        redis.proxy.set(.refusing)
        #expect(Deadline.standard.poll { other.outputs.reported == .offline })
        try disconnect("alice")
        try disconnect("bob")
        redis.proxy.set(.open)
        try other.waitUntilOnline()
        let all = other.outputs.all
        let back = try #require(
            all.lastIndex { if case .state(.online) = $0 { true } else { false } })
        let users = all[..<back].compactMap { output in
            if case .disconnect(let user, _) = output { user } else { nil }
        }
        #expect(users == ["before", "alice", "bob"], "each once, and before it is ready")
    }

    @Test func whoBeginsLaterHasNobodyToDisconnect() throws {
        try disconnect("alice")
        // A second of grace for a connection that came before the link.
        sleep(2)
        let later = try linked()
        try disconnect("bob")
        #expect(Deadline.standard.poll { told(later) == ["bob"] })
    }

    @Test func whatCannotBeToldIsRefused() throws {
        redis.server.kill()
        #expect(refusal { try disconnect("alice") } == .originUnavailable)
        try redis.server.restart()
        try asked.waitUntilOnline()
        try disconnect("alice")
        #expect(told(asked) == [])
    }

    @Test func whatIsOlderThanAnHourIsNotKept() throws {
        let key = "gapless:disconnects:{all}"
        try redis.server.ask("XADD", key, "1000-1", "user", "x", "back", "0", "by", "y")
        try disconnect("alice")
        #expect(try redis.server.ask("XLEN", key) == .integer(1))
    }
}
