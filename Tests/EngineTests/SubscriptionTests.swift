import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// The order of subscriptions, of their ends and of the events between them: `protocol.md` 4.
@Suite struct SubscriptionTests {
    static let c1 = #""conversation":"c1""#

    @Test func subscribingAndUnsubscribingInOneTurnHappenInOrder() {
        let rig = Rig()
        rig.create()
        rig.say("one")
        let ends = rig.connect("ann")
        let stays = rig.connect("ben")
        rig.isHoldingReads = true
        rig.send(ends, (2, "subscribeMessages", Self.c1), (3, "unsubscribeMessages", Self.c1))
        rig.send(
            stays, (2, "subscribeMessages", Self.c1), (3, "unsubscribeMessages", Self.c1),
            (4, "subscribeMessages", Self.c1))
        rig.say("two")
        rig.isHoldingReads = false
        rig.answerReads()
        rig.answerReads()
        #expect(rig.take(ends).map(\.id) == [2, 3])
        #expect(rig.take(stays).map(\.id) == [2, 3, 4])
        rig.say("three")
        #expect(rig.take(ends).isEmpty)
        #expect(rig.take(stays).map(\.seqs) == [[3]])
    }

    @Test func anAnswerAheadOfTheFeedWaitsForIt() {
        let rig = Rig()
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "fetchMessages", Self.c1)
        _ = rig.take(session)
        let untold = rig.writeUntold(
            .send(
                conversation: "c1",
                (1...3).map { NewMessage(author: "ann", content: .init(body: "\($0)")) }))
        rig.send(session, 3, "subscribeMessages", Self.c1)
        #expect(rig.take(session).isEmpty)
        rig.tell(Array(untold.prefix(2)))
        #expect(rig.take(session).isEmpty)
        rig.tell(Array(untold.suffix(1)))
        // All three are in the answer, and none comes again.
        let frames = rig.take(session)
        #expect(frames.map(\.id) == [3])
        #expect(frames.first?.result?["asOf"]?.int == 4)
        #expect(frames.first?.result?.seqs == [3, 2, 1])
    }

    @Test func anAnswerBehindTheFeedIsReadAgain() {
        let rig = Rig()
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "fetchMessages", Self.c1)
        _ = rig.take(session)
        rig.isHoldingReads = true
        rig.send(session, 3, "subscribeMessages", Self.c1)
        rig.answerReads { rig.say("late") }
        #expect(rig.take(session).isEmpty)
        rig.answerReads()
        let frames = rig.take(session)
        #expect(frames.first?.result?["asOf"]?.int == 2)
        #expect(frames.first?.result?.seqs == [1])
    }

    @Test func anAnswerOfTheLogBeforeThisOneIsReadAgain() {
        let rig = Rig()
        rig.create()
        rig.say("old")
        let session = rig.connect("ann")
        rig.send(session, 2, "fetchMessages", Self.c1)
        _ = rig.take(session)
        rig.isHoldingReads = true
        rig.send(session, 3, "fetchMessages", Self.c1)
        rig.answerReads {
            rig.write(.deleteConversation("c1"))
            rig.create()
            rig.say("new")
            rig.isHoldingReads = false
            let other = rig.connect("ben")
            rig.send(other, 2, "fetchMessages", Self.c1)
        }
        let frames = rig.take(session)
        #expect(frames.map(\.id) == [3])
        #expect(frames.first?.result?["head"]?.object?["epoch"]?.string == "e2")
    }

    @Test func whoIsRemovedHearsNothingMore() {
        let rig = Rig()
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "subscribeMessages", Self.c1)
        _ = rig.take(session)
        let message = NewMessage(author: "ben", content: .init(body: "x"))
        rig.write(
            .send(conversation: "c1", [message]),
            .removeParticipants(conversation: "c1", ["ann"]),
            .send(conversation: "c1", [message]))
        let frames = rig.take(session)
        #expect(frames.map(\.event) == ["messages", "unsubscribed"])
        #expect(frames.first?.seqs == [1])
        #expect(frames.last?["reason"]?.string == "removed")
        rig.send(session, 3, "fetchMessages", Self.c1)
        #expect(rig.take(session).map(\.errorCode) == ["not_found"])
    }

    @Test func theEndOfALogEndsItsSubscriptions() {
        let rig = Rig()
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "subscribeMessages", Self.c1)
        _ = rig.take(session)
        rig.write(.deleteConversation("c1"))
        #expect(rig.take(session).map { $0["reason"]?.string } == ["deleted"])
        rig.create()
        rig.say("new")
        #expect(rig.take(session).isEmpty)
    }

    @Test func aSubscriptionTooManyIsRefusedAndAResyncIsNone() {
        var limits = Limits()
        limits.subscriptions = 1
        let rig = Rig(limits)
        rig.create("c1")
        rig.create("c2")
        let session = rig.connect("ann")
        rig.send(
            session, (2, "subscribeMessages", Self.c1), (3, "subscribeMessages", Self.c1),
            (4, "subscribeMessages", #""conversation":"c2""#))
        let answers = rig.take(session).sorted { $0.id ?? 0 < $1.id ?? 0 }
        #expect(answers.map(\.errorCode) == [nil, nil, "too_large"])
        rig.send(
            session, (5, "unsubscribeMessages", Self.c1),
            (6, "subscribeMessages", #""conversation":"c2""#))
        #expect(rig.take(session).map(\.errorCode) == [nil, nil])
    }

    @Test func typingGoesToSubscribersOnly() {
        let rig = Rig()
        rig.create()
        let watching = rig.connect("ann")
        let other = rig.connect("ann")
        rig.send(watching, 2, "subscribeMessages", Self.c1)
        _ = rig.take(watching)
        let typist = rig.connect("ben")
        rig.send(typist, 2, "typing", #"\#(Self.c1),"state":"begin""#)
        #expect(rig.take(watching).map(\.event) == ["typing"])
        #expect(rig.take(other).isEmpty)
        #expect(rig.take(typist).map(\.errorCode) == [nil])
    }

    @Test func boundariesAskedForBeforeAMessageAreThoseBehindIt() {
        let rig = Rig()
        rig.create()
        rig.say("one")
        let session = rig.connect("ann")
        rig.send(session, 2, "fetchMessages", Self.c1)
        _ = rig.take(session)
        rig.receive(session, #"{"id":3,"method":"findBoundaries","params":{"conversation":"c1"}}"#)
        rig.say("two")
        let result = rig.take(session).first?.result
        let newest = result?["boundaries"]?.array?.first?.object?["newest"]?.object
        #expect(newest?["seq"]?.int == 2)
        #expect(result?["head"]?.object?["seq"]?.int == 2)
    }
}
