import Chat
import TestSupport
import Testing

/// `merge` and `applyDelta` over conversations: the rules one by one, then against a log of
/// changes.
@Suite struct ConversationMergeTests {
    private static func moment(_ second: Int) -> Timestamp {
        Timestamp(milliseconds: Int64(second) * 1_000)
    }

    private static func conversation(
        _ id: String, at second: Int = 1, rev: Int? = nil, title: String? = nil,
        participants: [String]? = nil
    ) -> Conversation {
        Conversation(
            id: id, title: title, participants: participants, createdAt: moment(0),
            updatedAt: moment(second), rev: rev)
    }

    private static func delta(_ type: DeltaKind, _ value: Conversation) -> ConversationDelta {
        ConversationDelta(type: type, conversation: value)
    }

    private static func head(_ seq: Int, rev: Int, epoch: String = "e") -> Conversation.Head {
        Conversation.Head(epoch: epoch, seq: seq, rev: rev, mark: "\(rev)")
    }

    // MARK: The rules

    @Test func latestActivityStandsFirst() {
        var quiet = Self.conversation("quiet", at: 5)
        var busy = Self.conversation("busy", at: 1)
        busy.lastMessage = .numbered(9)
        let idle = ["b", "a"].map { Self.conversation($0) }
        let list = merge(conversations: [quiet, busy] + idle, toList: [])
        #expect(list.map(\.id) == ["busy", "quiet", "a", "b"])
        quiet.lastMessage = .numbered(10)
        let moved = applyDelta([Self.delta(.updated, quiet)], toList: list)
        #expect(moved.map(\.id) == ["quiet", "busy", "a", "b"])
    }

    @Test func theNewestRecordWins() {
        let old = Self.conversation("c", rev: 1, title: "old")
        let new = Self.conversation("c", rev: 4, title: "new")
        let reversed = [Self.delta(.updated, new), Self.delta(.inserted, old)]
        #expect(applyDelta(reversed, toList: []) == [new])
        #expect(merge(conversations: [old], toList: [new]) == [new])
        let earlier = Self.conversation("c", at: 1, title: "earlier")
        let later = Self.conversation("c", at: 2, title: "later")
        #expect(merge(conversations: [earlier], toList: [later]) == [later])
        #expect(merge(conversations: [later], toList: [earlier]) == [later])
        let fetched = Self.conversation("c", at: 2, title: "fetched")
        #expect(merge(conversations: [fetched], toList: [later]) == [fetched])
    }

    @Test func recordAndActivityAreMergedApart() throws {
        var record = Self.conversation("c", rev: 7, title: "new title")
        record.head = Self.head(3, rev: 7)
        record.lastMessage = .numbered(3, rev: 6)
        var activity = Self.conversation("c", rev: 1, title: "old title")
        activity.head = Self.head(5, rev: 9)
        activity.lastMessage = .numbered(5, rev: 9)
        for pair in [[record, activity], [activity, record]] {
            let list = merge(conversationDeltas: pair.map { Self.delta(.updated, $0) }, toList: [])
            let only = try #require(list.first)
            #expect(only.title == "new title" && only.rev == 7)
            #expect(only.lastMessage?.seq == 5 && only.head?.rev == 9)
        }
    }

    @Test func whatADeltaLeavesOutIsKeptWhileItIsKnownToHold() {
        var held = Self.conversation("c", rev: 3, participants: ["alice", "bob"])
        held.unreadCount = 2
        held.lastReadSeq = 1
        held.head = Self.head(3, rev: 3)
        var told = Self.conversation("c", rev: 3)
        told.participantCount = 2
        told.head = Self.head(4, rev: 4)
        told.lastMessage = .numbered(4, rev: 4)
        let list = applyDelta([Self.delta(.updated, told)], toList: [held])
        #expect(list.first?.participants == ["alice", "bob"])
        #expect(list.first?.unreadCount == 2 && list.first?.lastReadSeq == 1)

        var bareRecord = told
        bareRecord.lastMessage = nil
        let kept = applyDelta([Self.delta(.updated, bareRecord)], toList: list)
        #expect(kept.first?.lastMessage?.seq == 4)

        // A newer record may be of other people: the list no longer knows who they are.
        told.rev = 5
        told.participantCount = 3
        let changed = applyDelta([Self.delta(.updated, told)], toList: list)
        #expect(changed.first?.participants == nil && changed.first?.participantCount == 3)
        #expect(changed.first?.lastReadSeq == 1)
    }

    @Test func theReadersPartComesFromRepliesAndNeverMovesBack() {
        var told = Self.conversation("c", rev: 1)
        told.unreadCount = 99
        told.lastReadSeq = 50
        let inserted = applyDelta([Self.delta(.inserted, told)], toList: [])
        #expect(inserted.first?.unreadCount == nil && inserted.first?.lastReadSeq == nil)

        told.lastReadSeq = 4
        told.unreadCount = 6
        let read = merge(conversations: [told], toList: inserted)
        #expect(read.first?.lastReadSeq == 4 && read.first?.unreadCount == 6)
        told.lastReadSeq = 2
        told.unreadCount = 8
        let late = merge(conversations: [told], toList: read)
        #expect(late.first?.lastReadSeq == 4 && late.first?.unreadCount == 6)
        told.lastReadSeq = 4
        told.unreadCount = 7
        #expect(merge(conversations: [told], toList: read).first?.unreadCount == 7)
    }

    @Test func aBareRemovalTakesOutAndLaterNewsPutIn() {
        let held = Self.conversation("c", rev: 3)
        let removal = Self.delta(.deleted, Conversation(id: "c"))
        #expect(applyDelta([removal], toList: [held, Self.conversation("d")]).map(\.id) == ["d"])
        #expect(applyDelta([removal, removal], toList: []).isEmpty)
        #expect(applyDelta([removal, Self.delta(.inserted, held)], toList: [held]) == [held])
    }

    @Test func aNumberedRemovalOutweighsOlderNews() {
        let old = Self.conversation("c", rev: 3, title: "old")
        let removal = Self.delta(.deleted, Self.conversation("c", rev: 5, title: "secret"))
        let update = Self.delta(.updated, old)
        for deltas in [[update, removal], [removal, update]] {
            let list = applyDelta(deltas, toList: [])
            #expect(list.count == 1 && list.visible.isEmpty)
            #expect(list.first?.title == nil)
        }
        let same = Self.conversation("c", rev: 5)
        #expect(applyDelta([Self.delta(.updated, same), removal], toList: []).visible.isEmpty)
        #expect(applyDelta([removal, Self.delta(.updated, same)], toList: []).visible.isEmpty)
        let bare = Self.delta(.deleted, Conversation(id: "c"))
        #expect(applyDelta([removal, bare, update], toList: []).visible.isEmpty)
        let back = Self.conversation("c", rev: 6)
        #expect(applyDelta([Self.delta(.inserted, back), removal], toList: [old]) == [back])
    }

    @Test func ofAnotherEpochWhatComesLastCounts() {
        var held = Self.conversation("c", rev: 90, title: "before")
        held.head = Self.head(80, rev: 95)
        var anew = Self.conversation("c", rev: 1, title: "after")
        anew.head = Self.head(0, rev: 1, epoch: "f")
        #expect(applyDelta([Self.delta(.updated, anew)], toList: [held]) == [anew])
    }

    @Test func withoutHeadsTheLaterLastMessageCounts() {
        var early = Self.conversation("c")
        early.lastMessage = .numbered(3, body: "early")
        var late = Self.conversation("c")
        late.lastMessage = .numbered(4, body: "late")
        for pair in [[early, late], [late, early]] {
            let list = applyDelta(pair.map { Self.delta(.updated, $0) }, toList: [])
            #expect(list.first?.lastMessage?.seq == 4)
        }
        let kept = merge(conversations: [Self.conversation("c")], toList: [late])
        #expect(kept.first?.lastMessage?.seq == 4)
    }

    // MARK: Against a log

    /// The deltas of three conversations' logs, and the list at the end of them.
    private static func log(
        using generator: inout SplitMix64
    ) -> (deltas: [ConversationDelta], truth: [Conversation]) {
        var deltas: [ConversationDelta] = []
        var truth: [Conversation] = []
        for id in ["a", "b", "c"] {
            var present = Self.conversation(id, at: 0, rev: 1)
            present.head = Self.head(0, rev: 1)
            deltas.append(Self.delta(.inserted, present))
            var isRemoved = false
            for rev in 2...Int.random(in: 2...12, using: &generator) {
                let seq = present.head?.seq ?? 0
                let draw = isRemoved ? 0 : Int.random(in: 0..<6, using: &generator)
                switch draw {
                case 0:
                    // A removal, or the return after one: both change the record.
                    isRemoved.toggle()
                    present.rev = rev
                    present.updatedAt = Self.moment(rev)
                    present.head = Self.head(seq, rev: rev)
                    deltas.append(Self.delta(isRemoved ? .deleted : .inserted, present))
                case 1, 2:
                    present.rev = rev
                    present.title = "title \(rev)"
                    present.updatedAt = Self.moment(rev)
                    present.head = Self.head(seq, rev: rev)
                    deltas.append(Self.delta(.updated, present))
                default:
                    present.lastMessage = .numbered(seq + 1, rev: rev)
                    present.head = Self.head(seq + 1, rev: rev)
                    deltas.append(Self.delta(.updated, present))
                }
            }
            if !isRemoved { truth.append(present) }
        }
        return (deltas, truth)
    }

    @Test func deltasInAnyOrderAndNumberGiveTheTruth() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            let (deltas, truth) = Self.log(using: &generator)
            let expected = merge(conversations: truth, toList: [])
            let repeated = deltas.filter { _ in Bool.random(using: &generator) }
            let arriving = (deltas + repeated).shuffled(using: &generator)
            let split = Int.random(in: 0...arriving.count, using: &generator)
            let first = applyDelta(Array(arriving[..<split]), toList: [])
            let list = applyDelta(Array(arriving[split...]), toList: first)
            try #require(list.visible == expected, "seed \(seed)")
            try #require(applyDelta(arriving, toList: list) == list, "seed \(seed)")
            try #require(applyDelta(deltas, toList: []) == list, "seed \(seed)")
        }
    }
}
