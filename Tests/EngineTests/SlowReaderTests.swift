import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// Many who read slowly, at once.
@Suite struct SlowReaderTests {
    /// So that in a turn nobody waits for all that another is sent; only above half of the hard
    /// limit is it written on.
    @Test func aSessionHasOneWriteATurnUntilItIsNearItsHardLimit() {
        var limits = Limits()
        (limits.outboxSoft, limits.outboxHard) = (3000, 6000)
        let rig = Rig(limits)
        let session = rig.connect("ann")
        let rooms = (1...6).map { "room-\($0)" }
        for room in rooms {
            rig.create(room)
            rig.send(session, 2, "subscribeMessages", #""conversation":"\#(room)""#)
        }
        _ = rig.take(session)
        rig.writeSize = 1
        func say(in rooms: ArraySlice<String>) -> [Int] {
            rig.writesOfTurns = []
            let text = MessageContent(body: String(repeating: "x", count: 600))
            let events = rooms.flatMap { room in
                rig.writeUntold(
                    .send(conversation: room, [NewMessage(author: "ben", content: text)]))
            }
            rig.tell(events)
            #expect(rig.take(session).count == rooms.count)
            return rig.writesOfTurns
        }
        #expect(say(in: rooms[..<3]) == [1, 1, 1])
        // Some 900 bytes each: three of them are below the limit.
        #expect(say(in: rooms[...]) == [3, 1, 1, 1])
    }

    /// Those who stopped reading together pass their limits in one turn.
    @Test func readersWhoStoppedTogetherAreShedAFewInATurn() throws {
        var limits = Limits()
        limits.outboxSoft = 2000
        let rig = Rig(limits)
        rig.create()
        let slow = (0..<20).map { _ in
            let session = rig.connect("ann")
            rig.send(session, 2, "subscribeMessages", #""conversation":"c1""#)
            _ = rig.take(session)
            return session
        }
        rig.blocked = Set(slow)
        rig.say("hello")
        var sheds: [Int] = []
        while rig.engine.report.figures.shed < slow.count {
            try #require(sheds.count < 100, "shed \(sheds) at each turn")
            let before = rig.engine.report.figures.shed
            if !rig.engine.hasMore {
                let hello = NewMessage(author: "ann", content: MessageContent(body: "hello"))
                let said = rig.origin.perform(
                    .send(conversation: "c1", [hello]), by: .user("ann"))
                rig.engine.feed(said.events, at: rig.now)
            }
            _ = rig.engine.endTurn(at: rig.now, instant: rig.instant)
            sheds.append(rig.engine.report.figures.shed - before)
        }
        #expect(sheds.filter { $0 > 0 } == [8, 8, 4])
        rig.blocked = []
        for session in slow {
            rig.engine.sockets.progressed(session, unsent: 0, at: rig.now)
            rig.turn()
            #expect(rig.take(session).map(\.event).contains("gap"))
        }
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    /// A configuration like that is refused; the engine does not rely on it.
    @Test func aHardLimitBelowTheSoftOneHoldsAsWell() {
        var limits = Limits()
        limits.outboxSoft = 1_000_000
        limits.outboxHard = 4000
        let rig = Rig(limits)
        rig.create()
        let slow = rig.connect("ann")
        rig.send(slow, 2, "subscribeMessages", #""conversation":"c1""#)
        _ = rig.take(slow)
        rig.blocked = [slow]
        for _ in 0..<40 { rig.say("hello") }
        #expect(rig.closes[slow] == .outboxOverflow)
        #expect(rig.engine.report.totals().outboxBytes <= limits.outboxHard)
    }

    /// A read that was under way ends in the same batch as large replies to somebody's writes: only
    /// the session that read is flushed outside of the slices.
    @Test func aReadHasNobodyElseFlushed() {
        var limits = Limits()
        limits.outboxSoft = 2000
        let rig = Rig(limits)
        rig.create()
        let author = rig.connect("ann")
        let reader = rig.connect("ben")
        let text = String(repeating: "x", count: 2500)
        rig.say(text)
        rig.isHoldingReads = true
        rig.send(reader, 3, "fetchMessages", #""conversation":"c1","limit":10"#)
        // Where the log stands; then the page is asked for.
        rig.answerReads()
        rig.isHoldingWrites = true
        for id in 2..<6 {
            let message = #""message":{"body":"\#(text)"}"#
            rig.send(author, id, "sendMessage", #""conversation":"c1",\#(message)"#)
        }
        let before = rig.flushes.count
        rig.performBeforeTurn(4)
        rig.answerReads()
        #expect(rig.flushes.dropFirst(before).flatMap(\.self) == [reader])
        #expect(rig.take(author).count == 4)
    }
}
