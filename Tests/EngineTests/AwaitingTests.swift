import Engine
import JSON
import Ports
import Testing
import Wire

/// A conversation that is about to say something while more is on its way to the log waits for
/// that, a moment, and says both at once.
@Suite struct AwaitingTests {
    /// Ann and Ben read along, and the log takes its time.
    private struct Room {
        let rig: Rig
        let ann: SessionID
        let ben: SessionID

        init() {
            var limits = Limits()
            limits.pacing = 1
            rig = Rig(limits)
            rig.create()
            ann = rig.connect("ann")
            ben = rig.connect("ben")
            rig.send(ben, 2, "subscribeMessages", PacingTests.c1)
            _ = rig.take(ben)
            rig.isHoldingWrites = true
        }

        func send(_ id: Int, _ body: String, id message: String? = nil) {
            let named = message.map { #","id":"\#($0)""# } ?? ""
            rig.send(ann, id, "sendMessage", PacingTests.c1 + #","body":"\#(body)""# + named)
        }

        /// What the engine is told of a call of the server API.
        static let token: UInt64 = 1 << 63

        /// One such call begins.
        /// - Returns: what the origin is to do.
        func sendByBackend() -> Operation {
            let content = MessageContent(body: "by the backend")
            let send = Operation.send(
                conversation: "c1", [NewMessage(author: "ben", content: content)])
            rig.engine.noteSend(send, token: Self.token)
            return send
        }

        /// What Ben was sent since the last time: the places of each event.
        func heard() -> [[Int]] { rig.take(ben).map(\.seqs) }
    }

    @Test func whatIsOnItsWayIsSaidWithWhatWaits() {
        let room = Room()
        room.send(3, "one")
        room.send(4, "two")
        room.send(5, "three")
        room.rig.performWrites()
        #expect(room.heard() == [])
        // Its sender is still answered at once.
        #expect(room.rig.take(room.ann).map(\.id) == [3])
        // It waits for one answer of the log, not for the last.
        room.rig.performWrites()
        #expect(room.heard() == [[1, 2]])
        room.rig.performWrites()
        #expect(room.heard() == [[3]])
        #expect(room.rig.engine.report.figures.pacing.heldBack == 0)
    }

    @Test func nothingWaitsWhereNothingIsOnItsWay() {
        let room = Room()
        for seq in 1...3 {
            room.send(seq + 2, "alone")
            room.rig.performWrites()
            #expect(room.heard() == [[seq]])
        }
    }

    @Test func anOriginThatTakesLongIsNotWaitedFor() {
        let room = Room()
        room.send(3, "one")
        room.send(4, "two")
        room.rig.performWrites()
        #expect(room.rig.engine.nextRelease == room.rig.instant + .milliseconds(1))
        room.rig.wait(1)
        #expect(room.heard() == [[1]])
        room.send(5, "three")
        room.rig.performWrites()
        #expect(room.heard() == [[2]])
        // A while later it is tried again.
        room.rig.wait(100)
        room.send(6, "four")
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.performWrites()
        #expect(room.heard() == [[3, 4]])
    }

    @Test func whatBringsNothingIsNotWaitedFor() {
        let room = Room()
        // The same once more, and one by somebody who may not.
        room.send(3, "one", id: "m1")
        room.send(4, "one", id: "m1")
        room.rig.send(room.rig.connect("eve"), 5, "sendMessage", PacingTests.c1 + #","body":"x""#)
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.performWrites()
        #expect(room.heard() == [[1]])
        #expect(room.rig.engine.nextRelease == nil)
        #expect(room.rig.engine.report.figures.pacing.awaitedInVain == 0)
    }

    /// Where feed and answers come on two ways, a message can come before its own answer.
    @Test func aMessageDoesNotWaitForItself() {
        let room = Room()
        let send = room.sendByBackend()
        room.rig.write(send)
        #expect(room.heard() == [])
        room.rig.engine.noteSent(token: Room.token, .success(.done))
        room.rig.turn()
        #expect(room.heard() == [[1]])
        #expect(room.rig.engine.report.figures.pacing.awaitedInVain == 0)
    }

    /// What was written together makes the conversation rest, and a rest is not cut short by what
    /// comes in it.
    @Test func aRestFollowsWhatWasToldTogether() {
        let room = Room()
        // Ann is written too, so half of it counts.
        room.rig.writing = .milliseconds(10)
        room.send(3, "one")
        room.send(4, "two")
        room.send(5, "three")
        room.rig.performWrites()
        room.rig.performWrites()
        #expect(room.heard() == [[1, 2]])
        room.send(6, "four")
        room.rig.performWrites()
        room.rig.wait(4)
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.wait(1)
        #expect(room.heard() == [[3, 4]])
    }

    /// A client that the drain sends away is told all before.
    @Test func aDrainKeepsNothingBack() {
        let room = Room()
        room.send(3, "one")
        room.send(4, "two")
        room.rig.performWrites()
        room.rig.engine.beginDrain(window: 10_000, deadline: 30_000, at: room.rig.now)
        room.rig.turn()
        #expect(room.heard().contains([1]))
    }

    /// A reply about the conversation stands behind what waits, and takes it along.
    @Test func whoComesMeanwhileMissesNothing() throws {
        let room = Room()
        room.send(3, "one")
        room.send(4, "two")
        room.rig.performWrites()
        room.rig.send(room.ann, 5, "subscribeMessages", PacingTests.c1)
        #expect(room.heard() == [[1]])
        let reply = try #require(room.rig.take(room.ann).last)
        #expect(reply.result?["asOf"]?.int == 2)
        room.rig.performWrites()
        #expect(room.heard() == [[2]])
        // Its wait brought a message.
        room.send(6, "three")
        room.send(7, "four")
        room.rig.performWrites()
        #expect(room.heard() == [])
    }

    /// A batch that something behind it has sent ahead is not waited with once more.
    @Test func whoSpokeEarlyDoesNotWaitAgainForWhatHasCome() {
        let room = Room()
        for id in 3...5 { room.send(id, "on its way") }
        room.rig.performWrites()
        room.rig.send(room.ann, 6, "subscribeMessages", PacingTests.c1)
        #expect(room.heard() == [[1]])
        room.rig.performWrites()
        #expect(room.heard() == [[2]])
        #expect(room.rig.engine.nextRelease == nil)
        #expect(room.rig.engine.report.figures.pacing.awaited == 1)
    }

    /// The same of calls that the engine does not know, such as those of the server API.
    @Test func othersSendToo() {
        let room = Room()
        let send = room.sendByBackend()
        room.send(3, "one")
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.write(send)
        room.rig.engine.noteSent(token: Room.token, .success(.done))
        #expect(room.heard() == [[1, 2]])
    }
}
