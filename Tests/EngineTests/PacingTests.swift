import Engine
import JSON
import Ports
import Testing
import Wire

/// Busy conversations rest: what they have to say is gathered for as long as writing it took the
/// last time, and nothing that is to come behind it overtakes it.
@Suite struct PacingTests {
    static let c1 = #""conversation":"c1""#

    /// Ann and Ben read along, and writing what a conversation says takes 10 ms.
    private struct Room {
        let rig: Rig
        let ann: SessionID
        let ben: SessionID

        init(pacing: Double = 1, cap: Duration = .milliseconds(20)) {
            var limits = Limits()
            limits.pacing = pacing
            limits.pacingCap = cap
            rig = Rig(limits)
            rig.create()
            ann = rig.connect("ann")
            ben = rig.connect("ben")
            for session in [ann, ben] {
                rig.send(session, 2, "subscribeMessages", PacingTests.c1)
                _ = rig.take(session)
            }
            rig.writing = .milliseconds(10)
        }

        /// What Ben was sent since the last time: the places of an event, or the id of a reply.
        func heard() -> [[Int]] {
            rig.take(ben).map { $0.event == nil ? [-($0.id ?? 0)] : $0.seqs }
        }
    }

    @Test func aConversationThatIsIdleGoesOutAtOnce() {
        let room = Room()
        for turn in 0..<3 {
            room.rig.say("now", "and now")
            #expect(room.heard() == [[2 * turn + 1, 2 * turn + 2]])
            // Just as long as it rests.
            room.rig.wait(10)
            #expect(room.heard() == [])
        }
        #expect(room.rig.engine.report.figures.pacing.heldBack == 0)
    }

    @Test func oneThatIsBusyRestsForAsLongAsItTookToWriteIt() throws {
        let room = Room()
        room.rig.say("one", "two")
        let began = room.rig.instant
        #expect(room.heard() == [[1, 2]])
        room.rig.say("three")
        room.rig.wait(4)
        room.rig.say("four", "five")
        room.rig.wait(5)
        #expect(room.heard() == [])
        #expect(room.rig.engine.nextRelease == began + .milliseconds(10))
        room.rig.wait(1)
        let frames = room.rig.take(room.ben)
        #expect(frames.map(\.seqs) == [[3, 4, 5]])
        let event = try #require(frames.first)
        #expect(event["prev"]?.int == 3 && event["asOf"]?.int == 6)
        #expect(room.rig.engine.nextRelease == nil)
        #expect(room.rig.engine.report.figures.pacing.heldBack == 1)
        // That was a fan-out like any other.
        room.rig.say("six")
        #expect(room.heard() == [])
        room.rig.wait(10)
        #expect(room.heard() == [[6]])
    }

    /// Fewer come than could be written: to gather them would only make them late.
    @Test func messagesThatAreWrittenOneByOneDoNotWait() {
        let room = Room()
        for seq in 1...3 {
            room.rig.say("now")
            #expect(room.heard() == [[seq]])
            room.rig.wait(1)
        }
        #expect(room.rig.engine.report.figures.pacing.heldBack == 0)
        // Two that waited for a fan-out: more come than it can write.
        room.rig.say("four", "five")
        room.rig.say("six")
        #expect(room.heard() == [[4, 5]])
        room.rig.wait(10)
        #expect(room.heard() == [[6]])
        // It has caught up.
        room.rig.say("seven")
        #expect(room.heard() == [[7]])
    }

    @Test(arguments: [
        (pacing: 2.0, writing: 4, cap: 20, rest: 8), (pacing: 0.5, writing: 12, cap: 20, rest: 6),
        (pacing: 1, writing: 100, cap: 20, rest: 20), (pacing: 10, writing: 3, cap: 25, rest: 25),
    ])
    func itRestsSoManyTimesAsLongAndNeverBeyondTheCap(
        _ one: (pacing: Double, writing: Int, cap: Int, rest: Int)
    ) {
        let room = Room(pacing: one.pacing, cap: .milliseconds(one.cap))
        room.rig.writing = .milliseconds(one.writing)
        room.rig.say("zero", "one")
        room.rig.say("two")
        room.rig.wait(Int64(one.rest - 1))
        #expect(room.heard() == [[1, 2]])
        room.rig.wait(1)
        #expect(room.heard() == [[3]])
    }

    @Test(arguments: [0.0, 1])
    func withoutPacingOrWithNextToNoWorkNobodyRests(_ pacing: Double) {
        let room = Room(pacing: pacing)
        room.rig.writing = pacing == 0 ? .seconds(1) : .microseconds(199)
        for turn in 0..<3 {
            room.rig.say("now", "and now")
            #expect(room.heard() == [[2 * turn + 1, 2 * turn + 2]])
        }
    }

    @Test func aConversationBearsThePartOfTheWritingThatWentToItsSubscribers() {
        let room = Room()
        room.rig.create("c2", ["ann", "ben", "cat", "dan", "eve"])
        for name in ["cat", "dan", "eve", "ann", "ben", "cat", "dan", "eve"] {
            let session = room.rig.connect(name)
            room.rig.send(session, 2, "subscribeMessages", #""conversation":"c2""#)
        }
        room.rig.wait(100)
        // Two of ten sessions, in one turn.
        let events = room.rig.writeUntold(
            .send(
                conversation: "c1",
                ["zero", "one"].map { .init(author: "ann", content: .init(body: $0)) }),
            .send(conversation: "c2", [.init(author: "ann", content: .init(body: "one"))]))
        room.rig.tell(events)
        _ = room.heard()
        room.rig.say("two")
        room.rig.wait(1)
        #expect(room.heard() == [])
        room.rig.wait(1)
        #expect(room.heard() == [[3]])
    }

    @Test func nothingElseWaits() {
        let room = Room()
        room.rig.create("c2", ["ann", "ben"])
        room.rig.send(room.ben, 3, "subscribeMessages", #""conversation":"c2""#)
        _ = room.heard()
        room.rig.say("zero", "one")
        let began = room.rig.instant
        room.rig.say("two")
        room.rig.say("elsewhere", to: "c2")
        room.rig.send(room.ben, 4, "sendMessage", Self.c1 + #","body":"three""#)
        room.rig.send(room.ann, 4, "typing", Self.c1 + #","state":"begin""#)
        let frames = room.rig.take(room.ben)
        #expect(frames.map { $0.id ?? 0 } == [0, 0, 4, 0])
        #expect(frames.map { $0["conversation"]?.string } == ["c1", "c2", nil, "c1"])
        #expect(frames.map(\.seqs) == [[1, 2], [1], [], []])
        // Nor does it end the rest, or have it forgotten.
        #expect(room.rig.engine.nextRelease == began + .milliseconds(10))
        room.rig.wait(10)
        #expect(room.heard() == [[3, 4]])
    }

    @Test(arguments: [
        ("fetchMessages", ""), ("subscribeMessages", #","limit":1"#), ("unsubscribeMessages", ""),
    ])
    func whatStandsBehindItDoesNotOvertakeIt(_ method: String, _ more: String) {
        let room = Room()
        room.rig.say("zero", "one")
        room.rig.say("two")
        #expect(room.heard() == [[1, 2]])
        room.rig.send(room.ben, 7, method, Self.c1 + more)
        #expect(room.heard() == [[3], [-7]])
        // The others were not made to wait longer than he.
        #expect(room.rig.take(room.ann).map(\.seqs) == [[1, 2], [3]])
        room.rig.wait(10)
        #expect(room.heard() == [])
    }

    @Test func theRecordAndTheEndComeBehindIt() {
        let room = Room()
        room.rig.say("zero", "one")
        room.rig.say("two")
        room.rig.write(.update(conversation: "c1", .init(title: "new")), by: .user("ann"))
        #expect(room.rig.take(room.ben).map(\.event) == ["messages", "messages", "conversation"])
        room.rig.say("three")
        room.rig.write(.deleteConversation("c1"), by: .server)
        let frames = room.rig.take(room.ben)
        #expect(frames.map(\.event) == ["messages", "unsubscribed"])
        #expect(frames.first?.seqs == [4])
        room.rig.wait(100)
        #expect(room.heard() == [])
    }

    @Test func aGatewayThatDrainsKeepsNothingBack() {
        let room = Room()
        room.rig.say("zero", "one")
        room.rig.say("two")
        #expect(room.heard() == [[1, 2]])
        room.rig.engine.beginDrain(window: 10_000, deadline: 30_000, at: room.rig.now)
        room.rig.turn()
        #expect(room.rig.take(room.ben).map(\.event) == ["goaway", "messages"])
        room.rig.say("three")
        #expect(room.heard() == [[4]])
    }

    @Test func whoLeavesMeanwhileIsOwedNothing() {
        let room = Room()
        room.rig.say("zero", "one")
        room.rig.say("two")
        room.rig.engine.closed(room.ann)
        room.rig.engine.closed(room.ben)
        room.rig.wait(10)
        #expect(room.rig.engine.nextRelease == nil)
        #expect(room.rig.engine.report.totals().accounting.error == 0)
        #expect(room.rig.engine.report.totals().accounting.accepted == 4)
    }
}
