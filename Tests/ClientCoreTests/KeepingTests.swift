import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// What holders and outboxes do that no vector says.
@Suite struct KeepingTests {
    private func message(_ seq: Int) -> Message {
        Message(
            id: "m\(seq)", conversation: "c", seq: seq, rev: seq + 1, author: "a",
            createdAt: Timestamp(milliseconds: Int64(seq)))
    }

    private func holder(_ run: ClosedRange<Int>) -> Holder {
        let head = Head(epoch: "e", seq: run.upperBound, rev: run.upperBound + 1, mark: "x")
        return Holder(
            Have(
                head: head, asOf: head.rev, runs: Coverage(run.lowerBound, run.upperBound)),
            values: run.map(message), record: nil)
    }

    @Test func theOldestIsLetGoOfButNotWhatIsLookedAt() {
        var holder = holder(1...100)
        let none = holder.trim(to: 80, keeping: [])
        #expect(none.isEmpty)
        let dropped = holder.trim(to: 50, keeping: [[11, 20]])
        #expect(dropped == [[0, 10], [21, 60]])
        #expect(holder.runs == [[11, 20], [61, 100]])
        #expect(holder.held.count == 50)
        #expect(holder.gaps.map(\.places) == [Coverage.Run(21, 60)])
        #expect(holder.changes.places == Set(1...10).union(21...60))
    }

    /// A view that has loaded more than the client keeps by itself.
    @Test func whatComesStaysHoweverMuchIsLookedAt() {
        var holder = holder(1...2_600)
        for seq in 2_601...2_700 {
            var frame = MessagesFrame(
                asOf: seq + 1, head: Head(epoch: "e", seq: seq, rev: seq + 1, mark: "x"))
            frame.prev = seq
            frame.covers = Coverage(seq, seq)
            frame.messages = [message(seq)]
            holder.event(frame)
            let dropped = holder.trim(to: 2_000, keeping: [[1, 2_600]])
            #expect(dropped.isEmpty)
        }
        #expect(holder.runs == [[1, 2_700]] && holder.gaps.isEmpty)
    }

    /// A store that lost rows: what they prove is gone with them.
    @Test func whatWasStoredWithoutAValueIsNotHeld() {
        let head = Head(epoch: "e", seq: 9, rev: 10, mark: "x")
        let have = Have(head: head, asOf: 10, runs: [[1, 6], [8, 9]])
        let holder = Holder(have, values: [1, 2, 4, 7, 8, 9].map(message), record: nil)
        #expect(holder.runs == [[1, 2], [4, 4], [8, 9]])
        #expect(holder.held.keys.sorted() == [1, 2, 4, 8, 9])
        #expect(holder.gaps.map(\.places) == [Coverage.Run(3, 3), Coverage.Run(5, 7)])
    }

    /// No frame names the gap between an old message that was changed and what is held.
    @Test func theGapAboveAChangeBelowAllThatIsHeldIsNamedAtOnce() {
        var holder = holder(50...52)
        var edit = MessagesFrame(asOf: 54, head: Head(epoch: "e", seq: 52, rev: 54, mark: "y"))
        edit.prev = 53
        edit.covers = [[2, 2]]
        edit.messages = [message(2)]
        holder.event(edit)
        #expect(holder.runs == [[2, 2], [50, 52]])
        #expect(holder.gaps.map(\.places) == [Coverage.Run(3, 49)])
        #expect(holder.gaps.map(\.cause) == [.cold])
    }

    @Test func aPageWithoutASubscriptionIsOnlyShown() {
        var holder = holder(1...5)
        var page = MessagesFrame(
            asOf: 10, head: Head(epoch: "e", seq: 9, rev: 10, mark: "y"))
        page.covers = [[8, 9]]
        page.messages = [8, 9].map(message)
        holder.fetched(page)
        #expect(holder.head?.seq == 5)
        #expect(holder.runs == [[1, 5]])
        #expect(holder.shown.keys.sorted() == [8, 9])
        #expect(holder.gaps == [])
    }

    /// A window that shows all of what a holder has, and a holder that lets go of some of it.
    @Test func aListenerThatComesBackHasAGapWhereTheClientLetGo() {
        var holder = holder(1...20)
        var window = MessageWindow(conversation: "c", reader: "alice")
        _ = window.take(.began(ConversationUpdate.Snapshot(holder)))
        #expect(window.timeline.coverage == [[1, 20]])
        holder.drop([[5, 9]])
        _ = window.take(.began(ConversationUpdate.Snapshot(holder)))
        #expect(window.timeline.coverage == [[1, 4], [10, 20]])
        #expect(window.gaps.map(\.places) == [Coverage.Run(5, 9)])
    }

    /// A window that opened on an empty log, and shows a message of one's own that is not held.
    @Test func aListenerThatIsToldInShortTakesNoPlaceWithoutItsMessage() {
        let empty = Head(epoch: "e", seq: 0, rev: 1, mark: "x")
        var window = MessageWindow(conversation: "c", reader: "alice")
        let nothing = Holder(Have(head: empty, asOf: 1, runs: []), values: [], record: nil)
        _ = window.take(.began(ConversationUpdate.Snapshot(nothing)))
        _ = window.take(.shown([message(2)]))
        _ = window.take(.began(ConversationUpdate.Snapshot(holder(1...3))))
        let rows = window.timeline.items.compactMap(\.seq)
        #expect(window.timeline.coverage == Coverage(rows[0], 3))
        #expect(rows == Array(rows[0]...3) && window.hasMore.before == (rows[0] > 1))
    }

    /// What the gateway lacks is not asked for until it stands at the present again: what it pushes
    /// then may be lost or left out here.
    @Test(arguments: [true, false]) func whatTheGatewayHealsIsAskedForOnceItIsBack(_ isNew: Bool) {
        let places = Coverage(5, 9)
        var window = MessageWindow(conversation: "c", reader: "alice")
        _ = window.take(.began(ConversationUpdate.Snapshot(holder(1...20))))
        var frame = MessagesFrame(asOf: 21, head: Head(epoch: "e", seq: 20, rev: 21, mark: "x"))
        frame.gaps = [
            Gap(
                after: 4, before: 10, missing: 5, cause: .upstream,
                since: Timestamp(milliseconds: 0))
        ]
        _ = window.take(.changed(frame))
        #expect(window.known.closed == places && window.known.runs == [[1, 4], [10, 20]])
        frame.gaps = []
        _ = window.take(isNew ? .resumed(frame) : .open(false))
        #expect(window.known.closed.isEmpty && window.known.runs == [[1, 4], [10, 20]])
        #expect(nextLoad(for: .down(1...3), in: window.known)?.after == 4)
    }

    /// An edit and a message were answered between two subscriptions, and the log lost both.
    @Test func whatTheLogLostIsTakenBackFromTheWindow() {
        var holder = holder(1...3)
        var window = MessageWindow(conversation: "c", reader: "alice")
        _ = window.take(.began(ConversationUpdate.Snapshot(holder)))
        let edited = Message(
            id: "m2", conversation: "c", seq: 2, rev: 5, author: "a",
            createdAt: Timestamp(milliseconds: 2))
        _ = window.take(.shown(holder.show([edited, message(5)])))
        #expect(window.timeline.items.map(\.rev) == [2, 5, 4, 6])

        let frame = MessagesFrame(asOf: 4, head: Head(epoch: "e", seq: 3, rev: 4, mark: "x"))
        let lost = holder.subscribed(frame, resumed: true)
        _ = window.take(.resumed(frame))
        let values = lost.map { message in
            ConversationUpdate.TakenBack(
                message: message, instead: message.seq.flatMap { holder.value(at: $0) })
        }
        let effect = window.take(.takenBack(values))
        #expect(window.timeline.items.map(\.rev) == [2, 3, 4])
        #expect(window.gaps.isEmpty && !window.hasMore.after)
        #expect(effect.steps.map(\.updated.count) == [1, 0])
        #expect(effect.steps.map(\.deleted.count) == [0, 1])
    }

    @Test func aPageWhoseAnchorIsGoneIsARunOfItsOwn() {
        let holder = holder(91...100)
        var window = MessageWindow(conversation: "c", reader: "alice")
        _ = window.take(.began(ConversationUpdate.Snapshot(holder)))
        window.ask(.before(.seq(50)), as: 7)
        var page = MessagesFrame(asOf: 101, head: Head(epoch: "e", seq: 100, rev: 101, mark: "x"))
        page.covers = [[40, 49]]
        page.messages = (40...49).map(message)
        _ = window.take(.page(7, .success(page)))
        #expect(window.timeline.coverage == [[40, 49], [91, 100]])
    }

    @Test func aThousandRunsAreResumedWith() throws {
        var holder = holder(1...3001)
        for seq in stride(from: 2, through: 3000, by: 2) { holder.drop([[seq, seq]]) }
        #expect(holder.runs.runs.count == 1501)
        let resumable = holder.resumable()
        let have = try #require(resumable)
        #expect(have.runs.runs.count == 1000)
        #expect(have.runs.first == 1003)
        // What is not named is not held: no change of it would be told.
        #expect(holder.runs == have.runs && holder.held[1001] == nil)
    }

    @Test func draftsGoOneAfterTheOther() {
        let start = Timestamp(milliseconds: 0)
        var outbox = Outbox(["a", "b"].map { Draft(id: $0, body: $0, createdAt: start) })
        func next() -> String? { outbox.next()?.id }
        func fail(_ error: RequestError) -> Int64? { outbox.fail(error, random: 0) }
        func confirm(_ id: String) -> Bool {
            outbox.confirm([Message(id: id, conversation: "c", author: "x", createdAt: start)])
        }
        #expect(next() == "a")
        #expect(next() == nil)
        outbox.interrupt()
        let later = RequestError(.limitRequestsPerSecond, "", after: 70)
        for _ in 0..<4 {
            #expect(next() == "a")
            #expect(fail(later) == 70)
        }
        #expect(next() == "a")
        #expect(fail(later) == nil)
        #expect(outbox.drafts[0].state == .failed(later))
        #expect(next() == "b")
        outbox.succeed()
        #expect(confirm("b"))
        #expect(!confirm("b"))
        #expect(next() == nil)
        outbox.retry("a")
        #expect(next() == "a")
        #expect(fail(RequestError(.limitMessage, "")) == nil)
    }

    @Test func aDraftIsStoredWhole() throws {
        var draft = Draft(
            id: "a", body: "text", attachment: .init(string: "x"), metadata: .emptyObject,
            createdAt: Timestamp(milliseconds: 1_700_000_000_123))
        #expect(Draft(json: draft.json) == draft)
        draft.state = .failed(RequestError(.limitMessage, "body: too large"))
        #expect(Draft(json: draft.json) == draft)
        #expect(Draft(json: Array("[]".utf8)) == nil)
    }

    @Test func codesDecideWhetherOneComesBack() {
        for code: UInt16? in [nil, 1000, 1002, 1006, 1009, 3000, 3001, 3004, 3499, 4000] {
            #expect(ClientLink.mayComeBack(code))
        }
        for code: UInt16 in [3500, 3501, 3502, 3777, 3999] {
            #expect(!ClientLink.mayComeBack(code))
        }
    }
}
