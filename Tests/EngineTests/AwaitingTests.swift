import Engine
import JSON
import Testing
import Wire

/// A conversation that is about to say something while more is on its way to the log waits for
/// that, a moment, and says both at once.
@Suite struct AwaitingTests {
    /// Ann and Ben read along, and the log takes its time.
    private struct Room {
        let rig = Rig()
        let ann: SessionID
        let ben: SessionID

        init() {
            rig.create()
            ann = rig.connect("ann")
            ben = rig.connect("ben")
            rig.send(ben, 2, "subscribeMessages", PacingTests.c1)
            _ = rig.take(ben)
            rig.isHoldingWrites = true
        }

        func send(_ id: Int, _ body: String) {
            rig.send(ann, id, "sendMessage", PacingTests.c1 + #","body":"\#(body)""#)
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
        // Whoever sent it is told at once, all the same.
        #expect(room.rig.take(room.ann).map(\.id) == [3])
        // It waits for one answer of the log, not for the last.
        room.rig.performWrites()
        #expect(room.heard() == [[1, 2]])
        room.rig.performWrites()
        #expect(room.heard() == [[3]])
        #expect(room.rig.engine.figures.heldBack == 0)
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

    @Test func whatIsRefusedIsNotWaitedFor() {
        let room = Room()
        room.send(3, "one")
        room.rig.send(room.rig.connect("eve"), 4, "sendMessage", PacingTests.c1 + #","body":"x""#)
        room.rig.performWrites(1)
        room.rig.performWrites(1)
        #expect(room.heard() == [[1]])
        #expect(room.rig.engine.nextRelease == nil)
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
        // It did not wait in vain.
        room.send(6, "three")
        room.send(7, "four")
        room.rig.performWrites()
        #expect(room.heard() == [])
    }

    /// The same of calls that the engine does not know, such as those of the server API.
    @Test func othersSendToo() {
        let room = Room()
        let content = MessageContent(body: "by the backend")
        let send = Operation.send(
            conversation: "c1", [NewMessage(author: "ben", content: content)])
        room.rig.engine.expect(send, token: 1 << 63)
        room.send(3, "one")
        room.rig.performWrites()
        #expect(room.heard() == [])
        room.rig.write(send)
        room.rig.engine.stopExpecting(token: 1 << 63, .success(.done))
        #expect(room.heard() == [[1, 2]])
    }
}
