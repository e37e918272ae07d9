import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// How a user's numbers follow the changes of a log.
@Suite struct ReadPlaceTests {
    /// Ann has read nothing of a log of two messages, of which so many mention her.
    private static func place(mentions: Int = 0) -> ReadPlace {
        ReadPlace(
            MachineSamples.head(3, seq: 2),
            ReaderState(lastReadSeq: 0, unreadCount: 2, unreadMentions: mentions))
    }

    private static func change(
        _ rev: Int, _ seq: Int, deletes: Bool = false, _ users: String..., all: Bool = false
    ) -> LogChange {
        LogChange(
            rev: rev, seq: seq, author: "ben", isDeleted: deletes,
            mentions: deletes ? .unknown : .these(Mentioned(users: users, all: all)))
    }

    private static func isKnown(_ place: ReadPlace, _ unread: Int, _ mentions: Int) -> Bool {
        place.knowsMentions && place.state.unreadCount == unread
            && place.state.unreadMentions == mentions
    }

    @Test func ofAMessageThatCameAfterTheCountEveryChangeIsFollowed() {
        var place = Self.place(mentions: 1)
        func take(_ change: LogChange, _ unread: Int, _ mentions: Int) {
            let isWhole = place.take([change], by: "ann")
            #expect(isWhole && Self.isKnown(place, unread, mentions))
        }
        take(Self.change(4, 3, all: true), 3, 2)
        take(Self.change(5, 3, all: true), 3, 2)
        take(Self.change(6, 3, "cid"), 3, 1)
        take(Self.change(7, 3, "ann"), 3, 2)
        take(Self.change(8, 4, "ann"), 4, 3)
        take(Self.change(9, 3, deletes: true), 3, 2)
    }

    @Test func ofAMessageThatWasCountedAChangeMayLeaveTheNumberUnknown() {
        for (mentions, change, isKnown) in [
            (1, Self.change(4, 2), false), (1, Self.change(4, 2, "ann"), false),
            (1, Self.change(4, 2, deletes: true), false),
            (0, Self.change(4, 2), true), (0, Self.change(4, 2, deletes: true), true),
            // She may have joined after it.
            (0, Self.change(4, 2, "ann"), false),
        ] {
            var place = Self.place(mentions: mentions)
            let isWhole = place.take([change], by: "ann")
            #expect(isWhole && place.knowsMentions == isKnown)
        }
    }

    @Test func aMarkerLeavesTheMentionsAboveIt() {
        var place = Self.place(mentions: 1)
        _ = place.take([Self.change(4, 3, "ann"), Self.change(5, 4, all: true)], by: "ann")
        var other = place
        let isExact = place.mark(upTo: 3)
        #expect(isExact && Self.isKnown(place, 1, 1))
        let isGuess = !other.mark(upTo: 1)
        #expect(isGuess && !other.knowsMentions)
        // Past all that was counted, it is known again.
        let isExactAgain = other.mark(upTo: 2)
        #expect(isExactAgain && Self.isKnown(other, 2, 2))
    }

    @Test func whereNothingIsUnreadNothingMentions() {
        var place = Self.place(mentions: 2)
        _ = place.take([Self.change(4, 1, deletes: true)], by: "ann")
        #expect(place.state.unreadMentions == 1 && !place.knowsMentions)
        _ = place.take([Self.change(5, 2, deletes: true)], by: "ann")
        #expect(Self.isKnown(place, 0, 0))
    }

    @Test func moreMentionsThanAreKeptOneByOneAreStillCounted() {
        var place = Self.place()
        for number in 0..<200 {
            _ = place.take([Self.change(4 + number, 3 + number, "ann")], by: "ann")
        }
        #expect(Self.isKnown(place, 202, 200))
        _ = place.take([Self.change(204, 3)], by: "ann")
        #expect(!place.knowsMentions)
    }

    /// A change that leaves whom the message mentions says so, where the value before is kept.
    @Test func whatTheStreamRemembersTellsAnEditOfTheTextApart() {
        var recent = RecentChanges()
        func message(_ rev: Int, _ seq: Int, _ users: [String]) -> EncodedMessage {
            EncodedMessage.encode(
                id: "m\(seq)", conversation: "c1", seq: seq, rev: rev, author: "ben", body: "x",
                attachment: nil, metadata: nil, createdAt: MachineSamples.start, editedAt: nil,
                deleted: false, mentions: users, unknown: [])
        }
        func isSame(_ after: EncodedMessage) -> Bool {
            let before = recent.message(at: after.seq, before: after.rev)
            return LogChange.Mentions(after, at: after.rev, after: before).isSame
        }
        var head = MachineSamples.head(1, seq: 0)
        func remember(_ message: EncodedMessage) {
            let next = MachineSamples.head(message.rev, seq: max(head.seq, message.seq))
            recent.append(message, from: head, to: next, limit: .max)
            head = next
        }
        #expect(!isSame(message(2, 1, ["ann"])))
        remember(message(2, 1, ["ann"]))
        remember(message(3, 2, ["cid"]))
        #expect(!isSame(message(4, 3, ["ann"])))
        #expect(isSame(message(4, 1, ["ann"])))
        #expect(!isSame(message(4, 1, ["ann", "cid"])) && !isSame(message(4, 2, [])))
        remember(message(4, 1, ["cid"]))
        // Also when the change itself is kept already.
        #expect(!isSame(message(4, 1, ["cid"])) && isSame(message(5, 1, ["cid"])))
    }

    @Test func whoIsNoLongerKnownIsNamedOnce() {
        let (ann, head) = ("ann".id, MachineSamples.head(3, seq: 2))
        var readership = Readership()
        readership.expect(ann, at: head)
        readership.adopt(
            ReaderState(lastReadSeq: 0, unreadCount: 2, unreadMentions: 1), active: nil, of: ann,
            at: head, position: head)
        var lost = readership.note(Self.change(4, 3, "ann"))
        #expect(lost.isEmpty)
        lost = readership.note(Self.change(5, 3))
        #expect(lost.isEmpty)
        lost = readership.note(Self.change(6, 2))
        #expect(lost == [ann])
        lost = readership.note(Self.change(7, 2, "ann"))
        #expect(lost.isEmpty)
        let state = readership.state(of: ann, at: MachineSamples.head(7, seq: 3))
        #expect(state == nil)
    }
}
