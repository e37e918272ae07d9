import Chat
import Testing
import Wire

@testable import Engine

/// Who is written and what becomes of slow readers, decided by `Delivery` alone; after each step
/// the accounting has to balance.
@Suite struct DeliveryTests {
    private static let now = MachineSamples.start
    private var delivery: Delivery
    private var sessions: [Session] = []

    init() {
        var limits = Limits()
        limits.outboxSoft = 1000
        limits.outboxHard = 3000
        delivery = Delivery(limits)
        for id in 1...3 { sessions.append(Session(id: SessionID(id), at: Self.now, rate: 0)) }
    }

    /// Some deltas of a conversation's stream, in a frame of about so many bytes.
    private static func event(_ stream: Stream, deltas: Int, bytes: Int = 100) -> Broadcast {
        Broadcast(
            Array(repeating: 0x20, count: bytes),
            .stream(
                prev: 0, asOf: deltas, touched: Coverage(1, deltas), deltas: deltas, record: nil,
                head: MachineSamples.head(deltas), isOpen: false), of: stream)
    }

    private let stream = Stream(id: "c1", at: now)

    private mutating func watch(_ count: Int) {
        for session in sessions.prefix(count) { stream.add(session) }
    }

    private mutating func take(_ session: Session, _ limit: Int = .max) -> Int {
        var frames = 0
        _ = delivery.take(session, limit, at: Self.now) { _ in frames += 1 }
        return frames
    }

    /// What was accepted is written, coalesced, discarded or queued, in all and of the
    /// conversation.
    private func expectBalance(_ location: SourceLocation = #_sourceLocation) {
        for var accounting in [delivery.accounting, stream.accounting.deltas] {
            accounting.queued = sessions.reduce(0) { $0 + $1.lane.outbox.deltas }
            #expect(accounting.error == 0, sourceLocation: location)
        }
    }

    @Test mutating func anEventIsCountedOnceForEachWhoGetsIt() {
        watch(3)
        sessions[2].isClosing = true
        delivery.push(Self.event(stream, deltas: 2), to: stream.subscribers)
        #expect(delivery.accounting.accepted == 4 && stream.accounting.deltas.accepted == 4)
        delivery.push(sessions[0], Self.event(stream, deltas: 3))
        #expect(delivery.accounting.accepted == 7 && stream.accounting.deltas.accepted == 7)
        expectBalance()
        #expect(delivery.takeReady(at: Self.now).map(\.id) == [1, 2])
        #expect(delivery.takeReady(at: Self.now).count == 0)
        #expect(take(sessions[0]) == 2 && take(sessions[1]) == 1)
        #expect(delivery.accounting.written == 7 && stream.accounting.deltas.written == 7)
        expectBalance()
    }

    @Test mutating func aWriteIsAboutAsLongAsItMayBe() {
        watch(1)
        for _ in 0..<3 { delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers) }
        let isMore = delivery.take(sessions[0], 150, at: Self.now.adding(7)) { _ in }
        #expect(isMore && sessions[0].lane.lastSent == Self.now.adding(7))
        #expect(delivery.accounting.written == 2 && sessions[0].lane.outbox.deltas == 1)
        expectBalance()
    }

    @Test mutating func whatIsLeftAtACloseIsDiscarded() {
        watch(2)
        delivery.push(Self.event(stream, deltas: 2), to: stream.subscribers)
        delivery.discard(sessions[1], at: Self.now)
        #expect(delivery.accounting.discarded == 2 && stream.accounting.deltas.discarded == 2)
        #expect(take(sessions[0]) == 1 && take(sessions[1]) == 0)
        expectBalance()
    }

    @Test mutating func aBlockedSocketIsNotWrittenUntilItHasTakenAll() {
        watch(1)
        delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers)
        _ = delivery.takeReady(at: Self.now)
        let isClosed = delivery.blocked(sessions[0], unsent: 200, at: Self.now)
        #expect(!isClosed && sessions[0].lane.outbox.backlog > 200)
        delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers)
        #expect(delivery.takeReady(at: Self.now).count == 0)
        delivery.progressed(sessions[0], unsent: 1)
        #expect(delivery.takeReady(at: Self.now).count == 0)
        delivery.progressed(sessions[0], unsent: 0)
        #expect(delivery.takeReady(at: Self.now).map(\.id) == [1])
    }

    @Test mutating func beyondTheSoftLimitASlowReadersEventsBecomeAGap() {
        watch(2)
        _ = delivery.blocked(sessions[0], unsent: 100, at: Self.now)
        for _ in 0..<20 { delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers) }
        let closing = delivery.shedSlowReaders(at: Self.now)
        #expect(closing.count == 0 && delivery.shedCount == 1)
        #expect(sessions[0].lane.outbox.backlog <= 1000)
        #expect(delivery.accounting.coalesced == 20 && stream.accounting.deltas.coalesced == 20)
        expectBalance()
        // Nobody else is shed, however much waits: its socket was not tried.
        #expect(sessions[1].lane.outbox.deltas == 20)
        #expect(take(sessions[1]) == 20)
        expectBalance()
    }

    @Test mutating func beyondTheHardLimitItIsClosedAtOnce() {
        watch(2)
        // One is blocked, the other's last write is in flight.
        _ = delivery.blocked(sessions[0], unsent: 2500, at: Self.now)
        delivery.push(sessions[1], Self.event(stream, deltas: 1, bytes: 2500))
        delivery.handOver(sessions[1], .max, at: Self.now) { _ in }
        delivery.push(Self.event(stream, deltas: 2, bytes: 600), to: stream.subscribers)
        var closing = delivery.shedSlowReaders(at: Self.now)
        #expect(Set(closing.map(\.id)) == [1, 2])
        #expect(delivery.accounting.written == 1 && delivery.accounting.coalesced == 4)
        #expect(delivery.accounting.discarded == 0)
        expectBalance()
        for session in closing { session.isClosing = true }
        closing = delivery.shedSlowReaders(at: Self.now)
        #expect(closing.count == 0)
    }

    @Test mutating func aFewSlowReadersAreShedInOneTurnAndTheRestInTheNext() {
        sessions = (1...10).map { Session(id: SessionID($0), at: Self.now, rate: 0) }
        watch(10)
        for session in sessions { _ = delivery.blocked(session, unsent: 1, at: Self.now) }
        for _ in 0..<15 { delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers) }
        _ = delivery.shedSlowReaders(at: Self.now)
        #expect(delivery.shedCount == 8 && delivery.hasMore)
        _ = delivery.shedSlowReaders(at: Self.now)
        #expect(delivery.shedCount == 10 && !delivery.hasMore)
        expectBalance()
    }

    @Test mutating func whatIsInFlightCountsUntilItHasLanded() {
        watch(1)
        delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers)
        _ = delivery.takeReady(at: Self.now)
        var bytes = 0
        delivery.handOver(sessions[0], .max, at: Self.now) { bytes += $0.bytes.count }
        #expect(sessions[0].lane.isInFlight && sessions[0].lane.outbox.backlog == bytes)
        delivery.push(Self.event(stream, deltas: 1), to: stream.subscribers)
        #expect(delivery.takeReady(at: Self.now).count == 0)
        var isClosed = delivery.landed(sessions[0], unsent: 0, at: Self.now)
        #expect(!isClosed && delivery.takeReady(at: Self.now).map(\.id) == [1])
        delivery.handOver(sessions[0], .max, at: Self.now) { _ in }
        isClosed = delivery.landed(sessions[0], unsent: 5, at: Self.now)
        #expect(!isClosed && sessions[0].lane.isBlocked && !sessions[0].lane.isInFlight)
        expectBalance()
    }

    @Test mutating func anOwnFramePastTheSoftLimitIsFlushedBeforeMoreIsAnswered() {
        let large = Frame(Array(repeating: 0x20, count: 1100))
        for _ in 0..<2 {
            let isClosed = delivery.push(sessions[0], own: large, at: Self.now)
            #expect(!isClosed)
        }
        #expect(delivery.takeToFlush().map(\.id) == [1])
        #expect(delivery.takeToFlush().count == 0)
        // A reader that does not read is closed instead.
        _ = delivery.blocked(sessions[1], unsent: 2000, at: Self.now)
        let isClosed = delivery.push(sessions[1], own: large, at: Self.now)
        #expect(isClosed && delivery.takeToFlush().count == 0)
    }

    @Test mutating func requestsGoOnOnceThereIsRoom() {
        let frame = Frame(Array(repeating: 0x20, count: 1100))
        _ = delivery.push(sessions[0], own: frame, at: Self.now)
        _ = delivery.push(
            sessions[0], own: Frame(Array(repeating: 0x20, count: 1100)), at: Self.now)
        sessions[0].postponed = [
            .frame(RequestFrame.decode(Array("{}".utf8), isBinary: false))
        ]
        #expect(take(sessions[0], 1) == 1)
        #expect(delivery.takeResumable().count == 0 && !delivery.hasMore)
        #expect(take(sessions[0], 1) == 1)
        #expect(delivery.hasMore)
        #expect(delivery.takeResumable().map(\.id) == [1])
        #expect(delivery.takeResumable().count == 0)
    }
}
