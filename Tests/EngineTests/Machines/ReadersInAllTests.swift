import Chat
import Simulation
import Testing
import Wire

@testable import Engine

/// What waits for all readers together that take nothing is bounded, whatever each may hold.
@Suite struct ReadersInAllTests {
    private static let now = MachineSamples.start

    private static func delivery(total: Int) -> Delivery {
        var limits = Limits()
        limits.outboxSoft = 10_000
        limits.outboxHard = 50_000
        limits.outboxTotal = total
        return Delivery(limits)
    }

    private static func reader(_ number: Int) -> Session {
        Session(id: SessionID(number), at: now, rate: 0)
    }

    /// Queues an event of a conversation for a reader whose socket is full.
    private static func event(
        _ bytes: Int, _ session: Session, _ delivery: inout Delivery
    ) {
        let stream = Stream(id: "c1", at: now)
        let event = Broadcast(
            Array(repeating: 0x20, count: bytes),
            .stream(
                prev: 0, asOf: 1, touched: Coverage(1, 1), deltas: 1, record: nil,
                head: MachineSamples.head(1), isOpen: false), of: stream)
        delivery.push(session, event)
        _ = delivery.blocked(session, unsent: 1, at: now)
    }

    private static func answer(
        _ bytes: Int, _ session: Session, _ delivery: inout Delivery
    ) {
        delivery.push(session, .barrier(Frame(Array(repeating: 0x20, count: bytes))))
        _ = delivery.blocked(session, unsent: 1, at: now)
    }

    @Test func theLargestReadersLoseTheirEventsFirst() {
        var delivery = Self.delivery(total: 60_000)
        let readers = (1...8).map(Self.reader)
        for reader in readers[..<5] { Self.event(9_000, reader, &delivery) }
        for reader in readers[5...] { Self.event(2_000, reader, &delivery) }
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty)
        #expect(delivery.shedCount == 0)
        // One more, and as many are shed as it takes to be below seven eighths.
        Self.event(9_900, readers[7], &delivery)
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty)
        #expect(delivery.shedCount == 1)
        #expect(readers[5].lane.outbox.backlog > 2_000 && readers[7].lane.outbox.backlog < 1_000)
    }

    @Test func whatCanNotBeShedIsClosedWhereItIsMoreThanItsShare() {
        var delivery = Self.delivery(total: 100_000)
        let (large, small) = (Self.reader(1), Self.reader(2))
        Self.answer(49_000, large, &delivery)
        Self.answer(9_000, small, &delivery)
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty)
        let third = Self.reader(3)
        Self.answer(45_000, third, &delivery)
        #expect(delivery.shedSlowReaders(at: Self.now).map(\.id) == [1])
        #expect(third.lane.outbox.backlog > 45_000 && small.lane.outbox.backlog > 9_000)
    }

    @Test func aReaderThatTakesAgainOrIsGoneCountsNoMore() {
        var delivery = Self.delivery(total: 60_000)
        let readers = (1...3).map(Self.reader)
        Self.answer(40_000, readers[0], &delivery)
        delivery.progressed(readers[0], unsent: 0)
        Self.answer(40_000, readers[1], &delivery)
        delivery.discard(readers[1], at: Self.now)
        Self.answer(40_000, readers[2], &delivery)
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty)
        #expect(readers[0].lane.outbox.backlog > 40_000)
    }
}
