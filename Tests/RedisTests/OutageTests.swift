import Chat
import Glibc
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Each way in which the link can die, under a stream of writes from another gateway: the feed's
/// end is told in time, and subscribing, waiting for the acknowledgement and reading what changed
/// since brings all that was missed.
@Suite(.serialized) struct OutageTests {
    enum Kind: String, CaseIterable, Sendable {
        case killed, clientKilled, paused, stopped
    }

    private let server: RedisProcess
    private let subject: Subject
    private let follower: Follower
    private let deadline = Duration.seconds(1)

    init() throws {
        // Written at once, so that what was acknowledged is there after a kill.
        server = try RedisProcess(keeping: .all)
        // Slower to come back than others, who write meanwhile.
        let options = try server.options {
            $0.deadline = .seconds(1)
            $0.backoffBase = .milliseconds(800)
            $0.backoffMax = .milliseconds(800)
        }
        subject = Subject(Redis(options))
        try subject.waitUntilOnline()
        try subject.conversation()
        follower = try Follower(subject, "c1")
    }

    private func begin(_ kind: Kind) throws {
        switch kind {
        case .killed: server.kill()
        case .clientKilled:
            try server.ask("CLIENT", "KILL", "TYPE", "pubsub")
            try server.ask("CLIENT", "KILL", "TYPE", "normal")
        case .paused: try server.ask("CLIENT", "PAUSE", "2500", "ALL")
        case .stopped: server.send(SIGSTOP)
        }
    }

    private func end(_ kind: Kind) throws {
        switch kind {
        case .killed: try server.restart()
        case .clientKilled, .paused: break
        case .stopped: server.send(SIGCONT)
        }
    }

    @Test(arguments: Kind.allCases)
    func whatWasMissedComesAfterTheLinkIsBack(_ kind: Kind) throws {
        for number in 1...20 { try subject.send("before \(number)", id: "a\(number)") }
        try follower.catchUp()
        let generation = follower.generation
        let began = ContinuousClock.now
        try begin(kind)
        let lapsedAt = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { ContinuousClock.now } else { nil }
        }
        // Twice the deadline: one that a ping may take, and what the machine makes of it.
        #expect(lapsedAt - began < deadline * 2, "the lapse of a link that was \(kind)")
        try end(kind)
        let other = Subject(Redis(try server.options()))
        try other.waitUntilOnline()
        for number in 1...20 { try other.send("after \(number)", id: "b\(number)") }
        try other.perform(.edit(conversation: "c1", id: "a3", MessageEdit(body: "edited")))
        try other.perform(.delete(conversation: "c1", id: "a4"))
        try follower.catchUp()
        #expect(follower.generation > generation)
        try follower.expectWhole(as: other)
    }

    @Test func aWriteThatBrokeOnTheWayMayHaveBeenDoneAndIsSafeToRepeat() throws {
        server.send(SIGSTOP)
        #expect(throws: RequestError.fateUnknown) { try subject.send("once", id: "x") }
        server.send(SIGCONT)
        try subject.waitUntilOnline()
        let sent = try subject.send("once", id: "x")
        #expect(try subject.send("once", id: "x") == sent)
        #expect(try subject.page().messages.count == 1)
    }

    @Test func whileTheServerIsAwayWritesAreRefusedAndQuestionsTooInTime() throws {
        server.kill()
        _ = try subject.outputs.wait("the lapse") { if case .lapsed = $0 { true } else { nil } }
        let began = ContinuousClock.now
        #expect(throws: RequestError.originUnavailable) { try subject.send("x") }
        #expect(throws: RequestError.originUnavailable) { try subject.page() }
        #expect(ContinuousClock.now - began < deadline * 4)
        #expect(subject.outputs.reported == .offline)
        try server.restart()
        try subject.waitUntilOnline()
        try subject.send("x")
    }

    @Test func aConversationThatIsNotWantedAnyMoreIsNotTold() throws {
        subject.upstream.submit([.unsubscribe("c1")])
        try subject.conversation("c2")
        try subject.subscribe("c2")
        try subject.send("not told", to: "c1")
        try subject.send("told", to: "c2")
        _ = try subject.outputs.wait("the message in c2") { output in
            if case .feed(.message("c2", _, _, _, _)) = output { true } else { nil }
        }
        let told = subject.outputs.events.contains { event in
            if case .message("c1", _, _, _, _) = event { true } else { false }
        }
        #expect(!told)
    }
}
