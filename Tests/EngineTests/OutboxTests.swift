import Chat
import JSON
import Simulation
import Testing
import Wire

@testable import Engine

/// The shedding rules of `protocol.md` 2, one by one.
@Suite struct OutboxTests {
    static let now = Timestamp(milliseconds: 1_000_000)

    // MARK: - What is queued

    /// Message changes with these places, from change `prev` on.
    static func messages(
        _ places: Coverage, prev: Int, deltas: Int? = nil, in conversation: String = "c1",
        size: Int = 400
    ) -> Broadcast {
        let count = deltas ?? places.count
        return Broadcast(
            payload("messages \(conversation)", size),
            .stream(
                prev: prev, asOf: prev + count, touched: places, deltas: count, record: nil,
                head: head(prev + count), isOpen: false), conversation: conversation)
    }

    static func record(title: String, prev: Int, in conversation: String = "c1") -> Broadcast {
        let record = Record(
            id: conversation, title: title, participants: [], admins: [], metadata: .emptyObject,
            createdAt: now, updatedAt: now, rev: prev + 1, unknown: [])
        return Broadcast(
            payload("record \(conversation)", 400),
            .stream(
                prev: prev, asOf: prev + 1, touched: Coverage(), deltas: 0, record: record,
                head: head(prev + 1), isOpen: false), conversation: conversation)
    }

    static func other(_ kind: Broadcast.Kind, _ name: String, of conversation: String = "c1")
        -> Broadcast
    {
        Broadcast(payload(name, 400), kind, conversation: conversation)
    }

    static func head(_ rev: Int) -> Head { Head(epoch: "e1", seq: 1000, rev: rev, mark: "m") }

    /// A frame of about `size` bytes that tells its name.
    static func payload(_ name: String, _ size: Int) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("event", string: name)
        json.member("filler", string: String(repeating: "x", count: max(0, size - 40)))
        json.endObject()
        return json.bytes
    }

    static func outbox(_ events: Broadcast...) -> Outbox {
        var outbox = Outbox()
        for event in events { outbox.append(.event(event)) }
        return outbox
    }

    static func frames(of outbox: Outbox) -> [JSONObject] {
        var outbox = outbox
        var frames: [JSONObject] = []
        _ = outbox.take(.max) { frame in
            if case .text(let payload) = try? ReceivedFrame(frame.bytes),
                let object = try? JSONObject(payload)
            {
                frames.append(object)
            }
        }
        return frames
    }

    static func names(of outbox: Outbox) -> [String] { frames(of: outbox).map { $0.event ?? "" } }

    static func gaps(_ frame: JSONObject) -> [[Int]] {
        (frame["gaps"]?.array ?? []).compactMap(\.object).map {
            [$0["after"]?.int ?? -1, $0["before"]?.int ?? -1]
        }
    }

    static var reply: Outbox.Item { .barrier(Frame(payload("reply", 100))) }

    // MARK: - The order of shedding

    @Test func aQueueWithinTheLimitIsLeftAsItIs() {
        var outbox = Self.outbox(
            Self.other(.typing, "typing"), Self.messages([[1, 3]], prev: 1),
            Self.other(.read(user: "ann"), "read"), Self.other(.read(user: "ann"), "read"))
        let bytes = outbox.bytes
        #expect(outbox.shed(to: bytes, at: Self.now) == 0)
        #expect(outbox.bytes == bytes)
        #expect(Self.names(of: outbox) == ["typing", "messages c1", "read", "read"])
    }

    /// They name what changed, each something else.
    @Test func unreadTotalsAreNotShed() {
        let unread = Self.other(.unread, "unread", of: "")
        var outbox = Self.outbox(unread, Self.other(.typing, "typing"))
        #expect(outbox.holdsUnread)
        outbox.append(.event(unread))
        #expect(outbox.shed(to: 1, at: Self.now) == 0)
        #expect(Self.names(of: outbox) == ["unread", "unread"])
        _ = outbox.take(1) { _ in }
        #expect(outbox.holdsUnread)
        _ = outbox.take(1) { _ in }
        #expect(!outbox.holdsUnread && outbox.isEmpty)
        outbox.append(.event(unread))
        _ = outbox.takeSole { _ in }
        #expect(!outbox.holdsUnread && outbox.isEmpty)
        outbox.append(.event(unread))
        _ = outbox.discard()
        #expect(!outbox.holdsUnread)
    }

    @Test func typingGoesFirst() {
        var outbox = Self.outbox(
            Self.messages([[1, 1]], prev: 1), Self.other(.typing, "typing"),
            Self.other(.read(user: "ann"), "read"), Self.other(.typing, "typing"))
        #expect(outbox.shed(to: outbox.bytes - 1, at: Self.now) == 0)
        #expect(Self.names(of: outbox) == ["messages c1", "read"])
    }

    @Test func ofReadConversationsUpstreamAndPingTheLatestStays() {
        var outbox = Self.outbox(
            Self.other(.read(user: "ann"), "ann in c1, old"),
            Self.other(.read(user: "ann"), "ann in c2", of: "c2"),
            Self.other(.read(user: "ben"), "ben in c1"),
            Self.other(.conversations(head: nil), "list of c1, old"),
            Self.other(.upstream, "offline", of: ""),
            Self.other(.conversations(head: nil), "list of c2", of: "c2"),
            Self.messages([[1, 1]], prev: 1), Self.other(.ping, "old ping", of: ""),
            Self.other(.conversations(head: nil), "list of c1"),
            Self.other(.upstream, "online", of: ""),
            Self.other(.read(user: "ann"), "ann in c1"), Self.other(.ping, "ping", of: ""))
        #expect(outbox.shed(to: outbox.bytes - 1, at: Self.now) == 0)
        #expect(
            Self.names(of: outbox) == [
                "ann in c2", "ben in c1", "list of c2", "messages c1", "list of c1", "online",
                "ann in c1", "ping",
            ])
    }

    @Test func thenMessagesBecomeAGapOfAllThatTheyTouched() {
        var outbox = Self.outbox(
            Self.messages([[5, 7]], prev: 10), Self.messages([[2, 2], [8, 9]], prev: 13))
        #expect(outbox.shed(to: 600, at: Self.now) == 6)
        let frames = Self.frames(of: outbox)
        #expect(frames.map(\.event) == ["gap"])
        #expect(frames.map(Self.gaps) == [[[1, 3], [4, 10]]])
        #expect(frames.first?["prev"]?.int == 10)
        #expect(frames.first?["asOf"]?.int == 16)
        #expect(frames.first?["head"]?.object?["rev"]?.int == 16)
        #expect(frames.first?["gaps"]?.array?.first?.object?["cause"]?.string == "slow")
        #expect(frames.first?["gaps"]?.array?.last?.object?["missing"]?.int == 5)
    }

    @Test func whatIsCoveredWithoutADeltaIsInTheGapToo() {
        var outbox = Self.outbox(Self.messages([[3, 40]], prev: 10, deltas: 1, size: 700))
        #expect(outbox.shed(to: 600, at: Self.now) == 1)
        #expect(Self.frames(of: outbox).map(Self.gaps) == [[[2, 41]]])
    }

    @Test func theHeaviestConversationIsShedFirstAndNoMoreThanNeeded() {
        var outbox = Self.outbox(
            Self.messages([[1, 1]], prev: 1, in: "light"),
            Self.messages([[1, 1]], prev: 1, in: "heavy", size: 2000),
            Self.messages([[2, 2]], prev: 2, in: "light"),
            Self.messages([[2, 2]], prev: 2, in: "heavy", size: 2000))
        #expect(outbox.shed(to: 2000, at: Self.now) == 2)
        #expect(Self.names(of: outbox) == ["messages light", "gap", "messages light"])
    }

    // MARK: - What a span says

    @Test func theLatestRecordComesBeforeTheGapAndMovesNothing() {
        var outbox = Self.outbox(
            Self.messages([[5, 5]], prev: 10), Self.record(title: "old", prev: 11),
            Self.messages([[6, 6]], prev: 12), Self.record(title: "new", prev: 13))
        #expect(outbox.shed(to: 600, at: Self.now) == 2)
        let frames = Self.frames(of: outbox)
        #expect(frames.map(\.event) == ["conversation", "gap"])
        #expect(frames.first?["conversation"]?.object?["title"]?.string == "new")
        #expect(frames.map { $0["prev"]?.int } == [10, 10])
        #expect(frames.map { $0["asOf"]?.int } == [10, 14])
        #expect(frames.map { $0["head"]?.object?["rev"]?.int } == [14, 14])
        #expect(frames.last.map(Self.gaps) == [[4, 7]])
    }

    @Test func aSpanWithoutMessagesStillRaisesAsOf() {
        var outbox = Self.outbox(
            Self.record(title: "old", prev: 10), Self.record(title: "new", prev: 11))
        #expect(outbox.shed(to: 600, at: Self.now) == 0)
        let frames = Self.frames(of: outbox)
        #expect(frames.map(\.event) == ["conversation", "gap"])
        #expect(frames.last.map(Self.gaps) == [])
        #expect(frames.last?["asOf"]?.int == 12)
    }

    @Test func repliesAreNeverShedAndEventsAreNeverJoinedAcrossThem() {
        var outbox = Self.outbox(Self.messages([[1, 2]], prev: 10))
        outbox.append(Self.reply)
        outbox.append(.event(Self.messages([[3, 3]], prev: 12)))
        outbox.append(.event(Self.messages([[1, 1]], prev: 13)))
        outbox.append(Self.reply)
        #expect(outbox.shed(to: 0, at: Self.now) == 4)
        let frames = Self.frames(of: outbox)
        #expect(frames.map(\.event) == ["gap", "reply", "gap", "reply"])
        #expect(frames.map { $0["prev"]?.int } == [10, nil, 12, nil])
        #expect(frames.map { $0["asOf"]?.int } == [12, nil, 14, nil])
        #expect(frames.map(Self.gaps) == [[[0, 3]], [], [[0, 2], [2, 4]], []])
    }

    @Test func theLatestOfEachCountsBetweenTwoRepliesOnly() {
        var outbox = Self.outbox(
            Self.other(.conversations(head: nil), "before"),
            Self.other(.conversations(head: nil), "right before"))
        outbox.append(Self.reply)
        outbox.append(.event(Self.other(.conversations(head: nil), "behind")))
        _ = outbox.shed(to: outbox.bytes - 1, at: Self.now)
        #expect(Self.names(of: outbox) == ["right before", "reply", "behind"])
    }

    @Test func aGapHasAtMostSixteenIntervalsAndHoldsEverySeqTouched() {
        var random = SplitMix64(7)
        for round in 0..<200 {
            var outbox = Outbox()
            var touched = Coverage()
            for prev in 1...60 {
                let place = random.number(1...900)
                touched.insert(place, place)
                outbox.append(.event(Self.messages(Coverage(place, place), prev: prev, size: 60)))
                // Shed now and then, so that spans take up what follows them.
                if random.chance(20) { _ = outbox.shed(to: 100, at: Self.now) }
            }
            _ = outbox.shed(to: 100, at: Self.now)
            let frames = Self.frames(of: outbox)
            #expect(frames.count == 1, "round \(round)")
            let gaps = frames.flatMap(Self.gaps)
            #expect(gaps.count <= 16, "round \(round)")
            let told = Coverage(gaps.map { Coverage.Run($0[0] + 1, $0[1] - 1) })
            #expect(told.contains(touched), "round \(round)")
            #expect(frames.first?["prev"]?.int == 1, "round \(round)")
            #expect(frames.first?["asOf"]?.int == 61, "round \(round)")
        }
    }

    @Test func aSpanTakesUpWhatFollowsIt() {
        var outbox = Self.outbox(Self.messages([[1, 1]], prev: 1))
        #expect(outbox.shed(to: 0, at: Self.now) == 1)
        outbox.append(.event(Self.record(title: "new", prev: 2)))
        outbox.append(.event(Self.messages([[9, 9]], prev: 3)))
        #expect(outbox.shed(to: 0, at: Timestamp(milliseconds: 2_000_000)) == 1)
        let frames = Self.frames(of: outbox)
        #expect(frames.map(\.event) == ["conversation", "gap"])
        #expect(frames.map { $0["prev"]?.int } == [1, 1])
        #expect(frames.map { $0["asOf"]?.int } == [1, 4])
        #expect(frames.last.map(Self.gaps) == [[0, 2], [8, 10]])
        // The doubt is as old as its first event.
        let since = frames.last?["gaps"]?.array?.last?.object?["since"]?.string
        #expect(since == Self.now.description)
    }

    // MARK: - Accounts

    @Test func bytesAndDeltasAreAccountedForWhateverIsShedAndTaken() {
        var random = SplitMix64(11)
        for round in 0..<300 {
            var outbox = Outbox()
            var (queued, out, coalesced) = (0, 0, 0)
            for prev in 1...40 {
                let conversation = random.chance(50) ? "c1" : "c2"
                let item: Outbox.Item =
                    switch random.upTo(5) {
                    case 0: Self.reply
                    case 1: .event(Self.other(.typing, "typing"))
                    case 2: .event(Self.record(title: "new", prev: prev, in: conversation))
                    default:
                        .event(
                            Self.messages(
                                Coverage(1, random.number(1...9)), prev: prev, in: conversation))
                    }
                if case .event(let event) = item { queued += event.deltas }
                outbox.append(item)
                if random.chance(20) {
                    coalesced += outbox.shed(to: random.upTo(3000), at: Self.now)
                }
                if random.chance(30) { out += outbox.take(random.upTo(1500)) { _ in } }
                #expect(outbox.deltas == queued - out - coalesced, "round \(round)")
            }
            out += outbox.take(.max) { _ in }
            #expect(queued == out + coalesced, "round \(round)")
            #expect(outbox.bytes == 0 && outbox.isEmpty, "round \(round)")
        }
    }

    @Test func whatTheSocketHasNotTakenCounts() {
        var outbox = Self.outbox(Self.messages([[1, 1]], prev: 1))
        outbox.bytesInFlight = 1000
        #expect(outbox.shed(to: outbox.bytes + 999, at: Self.now) == 1)
        #expect(Self.names(of: outbox) == ["gap"])
    }

    @Test func takingGivesWholeFramesOldestFirstAndAtLeastOne() {
        var outbox = Self.outbox(
            Self.messages([[1, 2]], prev: 1), Self.messages([[3, 3]], prev: 3),
            Self.messages([[4, 6]], prev: 4))
        var sizes: [Int] = []
        #expect(outbox.take(1) { sizes.append($0.bytes.count) } == 2)
        #expect(sizes.count == 1 && sizes[0] > 1)
        #expect(outbox.take(sizes[0] + 1) { sizes.append($0.bytes.count) } == 4)
        #expect(outbox.isEmpty)
        #expect(outbox.take(1) { sizes.append($0.bytes.count) } == 0)
        #expect(sizes.count == 3)
    }

    @Test func discardingTellsWhatWasQueued() {
        var outbox = Self.outbox(
            Self.messages([[1, 2]], prev: 1), Self.messages([[3, 9]], prev: 3))
        outbox.bytesInFlight = 10
        #expect(outbox.discard() == 9)
        #expect(outbox.isEmpty && outbox.backlog == 0 && outbox.deltas == 0)
    }
}
