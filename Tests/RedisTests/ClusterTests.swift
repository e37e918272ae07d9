import Chat
import Dispatch
import Foundation
import Glibc
import Ports
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Three masters, each with some of the conversations: what happens to one is no matter of the
/// others.
@Suite(.serialized) struct ClusterTests {
    private let servers: RedisClusterServers
    private let notices = Notices()

    init() throws { servers = try RedisClusterServers() }

    private func subject() throws -> Subject {
        let options = try servers.options()
        return Subject(Redis(options, notice: { [notices] in notices.take($0) }))
    }

    private func trouble(of subject: Subject) -> String? {
        (subject.upstream as? Redis)?.trouble?.text
    }

    /// A subject that is online, with some conversations at each master that it follows.
    private func following() throws -> (Subject, conversations: [String], followers: [Follower]) {
        let subject = try subject()
        try subject.waitUntilOnline()
        let conversations = try (0..<3).map { try servers.conversations(at: $0, 1)[0] }
        let followers = try conversations.map { conversation in
            try subject.conversation(conversation)
            try subject.send("first", to: conversation)
            return try Follower(subject, conversation)
        }
        return (subject, conversations, followers)
    }

    @Test func aClusterSaysWhatTheEmbeddedUpstreamSays() throws {
        for seed in 1...4 {
            let redis = Redis(try servers.options { $0.prefix = "s\(seed):" })
            let directory = servers.masters[0].directory + "/\(seed)"
            try Conformance.check(Subject(redis), in: directory, seed: seed)
        }
    }

    @Test func whatLiesAtSeveralMastersIsAnsweredTogether() throws {
        let (subject, conversations, followers) = try following()
        #expect(Set(followers.map(\.generation)).count == 3, "each shard has its own generation")
        let heads = try subject.askProven(.heads(conversations + ["none"]))
        guard case .heads(let found, _) = heads.answer else { throw TestFailure("no heads") }
        #expect(Set(found.keys) == Set(conversations.map(\.id)) && heads.generation == 0)
        let one = try subject.askProven(.heads([conversations[1], conversations[1]]))
        #expect(one.generation == followers[1].generation)
        let list = HistoryQuery.conversations(user: "alice", limit: 10, cursor: nil)
        guard case .conversations(let listed) = try subject.ask(list) else {
            throw TestFailure("no list")
        }
        #expect(Set(listed.conversations.map(\.record.id)) == Set(conversations))
    }

    @Test func aKilledMasterTakesItsConversationsAlongAndTheyComeBackWithTheNext() throws {
        let (subject, conversations, followers) = try following()
        let other = try self.subject()
        try other.waitUntilOnline()
        try servers.waitForReplica(0)
        let generations = followers.map(\.generation)
        let before = other.outputs.count
        servers.masters[0].kill()
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generations[0]) = output { true } else { nil }
        }
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline && trouble(of: subject)?.contains("\(servers.masters[0].port)") == true)
        // The others go on, before anybody has taken the place of the dead one.
        for conversation in conversations.dropFirst() {
            try subject.send("meanwhile", to: conversation)
        }
        for place in [1, 2] {
            try followers[place].catchUp()
            #expect(followers[place].generation == generations[place])
        }
        _ = try other.outputs.wait("the end of being online", from: before) { output in
            if case .state(.offline) = output { true } else { nil }
        }
        try other.waitUntilOnline()
        for number in 1...10 { try other.send("\(number)", to: conversations[0]) }
        try followers[0].catchUp()
        #expect(followers[0].generation > generations[0])
        try followers[0].expectWhole(as: other)
        try subject.waitUntilOnline()
        let isWell = Deadline.standard.poll { trouble(of: subject) == nil }
        #expect(isWell, "the dead one troubles nobody now")
        for place in [1, 2] {
            try followers[place].catchUp()
            #expect(followers[place].generation == generations[place])
        }
    }

    @Test func aSlotThatMovesIsFollowedAndItsNeighboursGoOnAtOnce() throws {
        let (subject, conversations, followers) = try following()
        let moving = conversations[0]
        // With each of its keys, since of some of them a node can't tell where they are.
        try subject.send("deleted", id: "x", to: moving)
        try subject.perform(.delete(conversation: moving, id: "x"))
        let neighbour = try servers.conversations(at: 0, 2)[1]
        try subject.conversation(neighbour)
        let beside = try Follower(subject, neighbour)
        let slot = HashSlot.of(RedisKeys(try servers.options()).channel(of: moving))
        let generations = followers.map(\.generation)
        let listener = try servers.masters[0].ask("CLIENT", "LIST", "TYPE", "pubsub").string

        try servers.beginMoving(slot, from: 0, to: 1)
        // It is read where it is; written there, it would be told to nobody.
        #expect(try subject.page(of: moving).messages.count == 2)
        #expect(throws: RequestError.originUnavailable) { try subject.send("x", to: moving) }
        #expect(try subject.send("x", to: neighbour).seq == 1)
        try servers.endMoving(slot, from: 0, to: 1)

        let moved = try subject.outputs.wait("the subscription at the other") { output in
            if case .subscribed(moving, let next) = output, next == generations[1] {
                next
            } else {
                nil
            }
        }
        #expect(moved == generations[1], "it joins those that are there already")
        for number in 1...10 { try subject.send("\(number)", to: moving) }
        try followers[0].catchUp()
        #expect(followers[0].generation == generations[1])
        try followers[0].expectWhole(as: subject)
        try beside.catchUp()
        #expect(beside.generation > generations[0])
        let still = try servers.masters[0].ask("CLIENT", "LIST", "TYPE", "pubsub").string
        #expect(Self.id(of: listener) == Self.id(of: still), "on the same connection")
    }

    @Test func slotsThatMoveWhileEverybodyWritesLoseNothing() throws {
        let (subject, _, _) = try following()
        let conversations = try servers.conversations(in: 0...199, 4)
        let followers = try conversations.map { conversation in
            try subject.conversation(conversation)
            try subject.send("deleted", id: "x", to: conversation)
            try subject.perform(.delete(conversation: conversation, id: "x"))
            return try Follower(subject, conversation)
        }
        let isOver = Atomic<Bool>(false)
        // Threads of their own: those of the runner are as few as the machine's cores.
        let writing = DispatchGroup()
        for conversation in conversations {
            let writer = try self.subject()
            try writer.waitUntilOnline()
            writing.enter()
            Thread.detachNewThread {
                defer { writing.leave() }
                var number = 0
                while !isOver.load(ordering: .relaxed) {
                    // What was refused goes again with the same id.
                    let isSent = (try? writer.send("\(number)", id: "m\(number)", to: conversation))
                    if isSent != nil { number += 1 }
                }
            }
        }
        try servers.reshard(200, from: 0, to: 1)
        isOver.store(true, ordering: .relaxed)
        writing.wait()
        for (place, follower) in followers.enumerated() {
            try follower.catchUp()
            try follower.expectWhole(as: subject)
            #expect(try subject.head(conversations[place]).seq > 1)
        }
        try subject.waitUntilOnline()
        #expect(trouble(of: subject) == nil)
    }

    @Test func theKeyBesideTheDataMayMoveAndNothingSeemsLost() throws {
        let (subject, conversations, followers) = try following()
        let last = RedisClusterServers.slots(0).last
        #expect(try servers.masters[0].ask("CLUSTER", "COUNTKEYSINSLOT", "\(last)").int == 1)
        try servers.beginMoving(last, from: 0, to: 1)
        try servers.endMoving(last, from: 0, to: 1)
        let generation = followers[0].generation
        _ = try subject.outputs.wait("the next generation") { output in
            if case .subscribed(conversations[0], let next) = output, next > generation {
                true
            } else {
                nil
            }
        }
        try subject.waitUntilOnline()
        for follower in followers { try follower.catchUp() }
        #expect(!notices.all.contains { $0.text.contains("lost its data") })
    }

    private static func id(of list: String?) -> Substring? { list?.split(separator: " ").first }

    @Test func oneMasterWithoutTheOthersCountsNoMore() throws {
        let (subject, conversations, followers) = try following()
        let generations = followers.map(\.generation)
        for server in servers.masters.dropFirst() { server.send(SIGSTOP) }
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generations[0]) = output { true } else { nil }
        }
        #expect(throws: RequestError.originUnavailable) {
            try subject.send("not written", to: conversations[0])
        }
        for server in servers.masters.dropFirst() { server.send(SIGCONT) }
        try subject.waitUntilOnline()
        for follower in followers { try follower.catchUp() }
    }

    @Test func anEmptiedMasterIsNoticedAndOnlyItsConversationsLapse() throws {
        let (subject, conversations, followers) = try following()
        let generations = followers.map(\.generation)
        try servers.masters[1].ask("FLUSHALL")
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generations[1]) = output { true } else { nil }
        }
        try notices.wait(for: "lost its data")
        #expect(refusal { try subject.page(of: conversations[1]) } == .notFound)
        let others = [0, 2].map { generations[$0] }
        let hasLapsed = subject.outputs.all.contains { output in
            if case .lapsed(let generation) = output { others.contains(generation) } else { false }
        }
        #expect(!hasLapsed)
    }

    @Test func aListIsToldOfWhateverMasterTheConversationIsAt() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        subject.upstream.submit([.subscribeList(user: "bob")])
        let conversations = try (0..<3).map { try servers.conversations(at: $0, 1)[0] }
        // Nothing acknowledges a list: the first ones may be too early.
        var told: Set<String> = []
        let isTold = try Deadline.standard.poll {
            for id in conversations {
                try subject.perform(.put(id: id, ConversationFields(participants: ["bob"])))
                try subject.perform(.deleteConversation(id))
            }
            for case .listed("bob", let id, true) in subject.outputs.events { told.insert(id) }
            return told == Set(conversations)
        }
        #expect(isTold)
    }
}
