import Chat
import Simulation
import Testing
import Wire

@testable import Engine

/// What one turn writes: small outboxes all, and of what is large or goes to many a slice.
@Suite struct WriteSliceTests {
    private static let now = MachineSamples.start
    private var delivery: Delivery
    private var limits = Limits()
    private var slice: WriteSlice { limits.writeSlice }

    init() {
        limits.writeSlice.small = 1000
        limits.writeSlice.crowd = 10
        limits.writeSlice.budget = 40_000
        limits.outboxSoft = 100_000
        limits.outboxHard = 1_000_000
        delivery = Delivery(limits)
    }

    private static func sessions(_ count: Int, from first: Int = 1) -> [Session] {
        (first..<first + count).map { Session(id: SessionID($0), at: now, rate: 0) }
    }

    private static func event(_ stream: Stream, bytes: Int = 100) -> Broadcast {
        Broadcast(
            Array(repeating: 0x20, count: bytes),
            .stream(
                prev: 0, asOf: 1, touched: Coverage(1, 1), deltas: 1, record: nil,
                head: MachineSamples.head(1), isOpen: false), of: stream)
    }

    private static func stream(_ name: String, _ sessions: [Session]) -> Stream {
        let stream = Stream(id: name, at: now)
        for session in sessions { stream.add(session) }
        return stream
    }

    /// A turn's writes, each taken as a socket would.
    private mutating func turn(at now: Timestamp = now) -> [Session] {
        let ready = delivery.takeReady(at: now)
        for session in ready {
            while delivery.take(session, WriteSlice.write, at: Self.now, { _ in }) {
                guard session.isClosing || delivery.isUrgent(session) else {
                    delivery.leave(session)
                    break
                }
            }
        }
        return ready
    }

    @Test mutating func aLargeMessageToManyIsWrittenInSlicesAndASmallOneInAnyTurn() {
        let (readers, others) = (Self.sessions(8), Self.sessions(2, from: 100))
        let (large, small) = (Self.stream("large", readers), Self.stream("small", others))
        delivery.push(Self.event(large, bytes: 30_000), to: large.subscribers)
        // 34 of 40 thousand each: two a turn.
        #expect(turn().map(\.id) == [1, 2])
        for reader in [3, 5, 7] {
            #expect(delivery.hasMore)
            delivery.push(Self.event(small), to: small.subscribers)
            #expect(turn().map(\.id) == [100, 101, SessionID(reader), SessionID(reader + 1)])
        }
        #expect(!delivery.hasMore && turn().isEmpty)
    }

    @Test mutating func aCrowdIsWrittenInSlicesAndNobodyTwice() {
        let crowd = Self.sessions(30)
        let stream = Self.stream("crowd", crowd)
        let place = delivery.push(Self.event(stream), to: stream.subscribers)
        // A reply to one of them does not wait, and takes the event with it.
        delivery.push(crowd[29], .barrier(Frame([0x20])))
        #expect(turn().map(\.id) == [30] + (1...10).map { SessionID($0) })
        #expect(crowd[29].lane.outbox.isEmpty)
        #expect(place == 30 && !delivery.sliced.isPast(30))
        #expect(turn().map(\.id) == (11...20).map { SessionID($0) })
        #expect(turn().map(\.id) == (21...29).map { SessionID($0) })
        #expect(delivery.sliced.isPast(30) && turn().isEmpty)
    }

    @Test mutating func aConversationOfAFewIsNoCrowd() {
        let stream = Self.stream("few", Self.sessions(10))
        #expect(delivery.push(Self.event(stream), to: stream.subscribers) == nil)
        #expect(turn().count == 10)
    }

    @Test mutating func whoIsClosedGetsWhatWaitedInThisTurn() {
        let crowd = Self.sessions(30)
        let stream = Self.stream("crowd", crowd)
        delivery.push(Self.event(stream), to: stream.subscribers)
        for _ in 0..<5 { delivery.push(crowd[25], Self.event(stream, bytes: 50_000)) }
        crowd[25].isClosing = true
        delivery.hasten(crowd[25])
        #expect(turn().first?.id == 26 && crowd[25].lane.outbox.isEmpty)
    }

    @Test mutating func whoFallsFarBehindForWaitingIsWrittenAtOnceAndNotClosed() {
        let crowd = Self.sessions(2000)
        let stream = Self.stream("crowd", crowd)
        for _ in 0..<9 {
            delivery.push(Self.event(stream, bytes: 60_000), to: stream.subscribers)
        }
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty)
        _ = turn()
        #expect(crowd.allSatisfy { !delivery.isUrgent($0) })
    }

    @Test mutating func aSlowReaderInACrowdIsShedAsElsewhere() {
        let crowd = Self.sessions(30)
        let stream = Self.stream("crowd", crowd)
        _ = delivery.blocked(crowd[20], unsent: 100, at: Self.now)
        for _ in 0..<20 {
            delivery.push(Self.event(stream, bytes: 10_000), to: stream.subscribers)
        }
        #expect(delivery.shedSlowReaders(at: Self.now).isEmpty && delivery.shedCount == 1)
        #expect(crowd[20].lane.outbox.backlog <= 100_000)
    }

    /// A read's large reply, which nobody else gets, is written at once. An outbox that requests
    /// wait for is written down to the soft limit after a tenth of a second. So they do not wait
    /// for as long as more comes than is written.
    @Test mutating func repliesAndRequestsDoNotWaitAsLongAsEventsCome() {
        // Nobody is ever near it, or would be written at once.
        limits.outboxHard = 1 << 40
        delivery = Delivery(limits)
        let readers = Self.sessions(40)
        let stream = Self.stream("busy", readers)
        for _ in 0..<10 {
            delivery.push(Self.event(stream, bytes: 20_000), to: stream.subscribers)
        }
        #expect(delivery.isOverfull(readers[39]) && !delivery.isUrgent(readers[39]))
        let small = delivery.push(readers[38], own: Frame([0x20]), at: Self.now)
        let reply = Frame(Array(repeating: 0x20, count: 50_000))
        let large = delivery.push(readers[39], own: reply, at: Self.now)
        #expect(!small && !large && delivery.takeToFlush().map(\.id) == [40])
        #expect(delivery.isUrgent(readers[39]) && !delivery.isUrgent(readers[38]))
        let written = turn().map(\.id)
        #expect(written.contains(40) && !written.contains(39))
        // With room for what comes until its requests are taken up.
        #expect(readers[39].lane.outbox.bytes <= limits.outboxSoft / 2)
        #expect(!delivery.isUrgent(readers[39]))

        readers[20].postponed = [.frame(.decode(Array("{}".utf8), isBinary: false))]
        var turns = 0
        while delivery.isOverfull(readers[20]), turns < 200 {
            delivery.push(Self.event(stream, bytes: 20_000), to: stream.subscribers)
            _ = turn(at: Self.now.adding(Int64(10 * turns)))
            turns += 1
        }
        #expect(10..<120 ~= turns && delivery.isOverfull(readers[21]))
        #expect(delivery.takeResumable().map(\.id) == [21])
        #expect(readers[20].lane.outbox.bytes <= limits.outboxSoft / 2)
    }

    /// Large replies to writes come many at a time, to sessions that are above their soft limits:
    /// they wait for their slices, at most a tenth of a second and a round of those, and a
    /// bystander is written in each turn. A read that ends meanwhile has its own session flushed,
    /// and no other.
    @Test mutating func largeRepliesToWritesWaitForTheirSlices() {
        limits.outboxHard = 1 << 40
        delivery = Delivery(limits)
        let sessions = Self.sessions(62)
        let (authors, bystander, reader) = (sessions[..<60], sessions[60], sessions[61])
        let stream = Self.stream("loud", Array(authors))
        let reply = Frame(Array(repeating: 0x20, count: 30_000))
        var waitsSince = [Int?](repeating: nil, count: 60)
        for step in 0..<300 {
            let now = Self.now.adding(Int64(step))
            for (index, author) in authors.enumerated() where !delivery.isOverfull(author) {
                delivery.push(author, Self.event(stream, bytes: 30_000))
                _ = delivery.push(author, own: reply, at: now)
                if waitsSince[index] == nil { waitsSince[index] = step }
            }
            delivery.push(bystander, Self.event(stream, bytes: 10))
            delivery.beginAnswer()
            while !delivery.isOverfull(reader) { _ = delivery.push(reader, own: reply, at: now) }
            #expect(delivery.takeToFlush().map(\.id) == [reader.id])
            delivery.discard(reader, at: now)
            var bytes = 0
            for session in delivery.takeReady(at: now) {
                repeat {
                    _ = delivery.take(session, WriteSlice.write, at: now) { bytes += $0.count }
                } while delivery.isUrgent(session)
                if !session.lane.outbox.isEmpty { delivery.leave(session) }
                if session.id <= 60, session.lane.outbox.bytes <= limits.outboxSoft / 2 {
                    waitsSince[Int(session.id) - 1] = nil
                }
            }
            // More by what one session has above half of its soft limit.
            #expect(bytes <= limits.writeSlice.budget + limits.outboxSoft + 2 * WriteSlice.write)
            #expect(bystander.lane.outbox.isEmpty)
            #expect(waitsSince.allSatisfy { $0.map { step - $0 < 250 } ?? true })
        }
        var turns = 0
        while turns < 400, authors.contains(where: { !$0.lane.outbox.isEmpty }) {
            _ = turn(at: Self.now.adding(Int64(300 + turns)))
            turns += 1
        }
        #expect(turns < 400)
    }

    /// Those who are flushed together because their requests have waited are counted with all that
    /// goes out for them, down to half of the soft limit.
    @Test mutating func whatAFlushWritesCountsInFull() {
        limits.outboxHard = 1 << 40
        limits.outboxSoft = 400_000
        limits.writeSlice.budget = 300_000
        delivery = Delivery(limits)
        let readers = Self.sessions(20)
        let stream = Self.stream("busy", readers)
        for reader in readers {
            reader.postponed = [.frame(.decode(Array("{}".utf8), isBinary: false))]
        }
        var flushes = 0
        for step in 0..<200 {
            for reader in readers where reader.lane.outbox.bytes <= limits.outboxSoft {
                while reader.lane.outbox.bytes < limits.outboxSoft + 10_000 {
                    delivery.push(reader, Self.event(stream, bytes: 1000))
                }
            }
            let before = readers.map(\.lane.outbox.bytes)
            let written = turn(at: Self.now.adding(Int64(50 * step))).map(\.id)
            let costs = written.map { id in
                let (at, left) = (Int(id) - 1, readers[Int(id) - 1].lane.outbox.bytes)
                if before[at] - left > 2 * WriteSlice.write { flushes += 1 }
                return before[at] - left
            }
            #expect(!costs.isEmpty && costs.dropLast().reduce(0, +) < slice.budget, "\(costs)")
        }
        #expect(flushes > 100)
    }

    /// Events other than messages do not keep messages back, however often they come. A message
    /// that is being written keeps back the next, unless the gateway drains.
    @Test func onlyMessagesWaitForMessages() {
        var limits = limits
        limits.writeSlice = .tiny
        let fanout = Fanout(limits, Clock(at: Self.now), nil)
        let stream = Self.stream("crowd", Self.sessions(3))
        func due(isDraining: Bool = false) -> Int {
            fanout.pacing.touch(stream)
            return fanout.pacing.takeDue(
                isDraining: isDraining, fanout.delivery.sliced
            ).count
        }
        fanout.send(Broadcast([0x20], .typing, of: stream), to: stream)
        _ = fanout.delivery.takeReady(at: Self.now)
        #expect(!fanout.delivery.sliced.isEmpty && due() == 1)
        fanout.send(Self.event(stream), to: stream)
        _ = fanout.delivery.takeReady(at: Self.now)
        #expect(due() == 0 && due(isDraining: true) == 1)
        while !fanout.delivery.takeReady(at: Self.now).isEmpty {}
        #expect(due() == 1)
    }

    /// Whatever is pushed: what is small is written in its turn; the rest of a turn costs no more
    /// than the budget and one write, and is of those who have waited longest; and everything is
    /// written in the end.
    @Test(arguments: 0..<200) mutating func nobodyWaitsForThoseWhoCameLater(seed: Int) {
        var random = SplitMix64(UInt64(seed))
        // Nobody is ever near it, or would be written at once.
        limits.outboxHard = 1 << 40
        delivery = Delivery(limits)
        let all = Self.sessions(60)
        let streams = [5, 20, 90, 5, 20, 90].enumerated().map { index, share in
            Self.stream("c\(index)", all.filter { _ in random.chance(share) })
        }
        // The turn in which each began to wait, and who was left with a rest in the last one.
        var since: [SessionID: Int] = [:]
        var left: Set<SessionID> = []
        for step in 0..<100 {
            var marked = left
            for _ in 0..<random.number(0...2) where step < 60 {
                guard let stream = random.pick(streams) else { continue }
                let bytes = random.pick([50, 500, 5_000, 30_000, 70_000]) ?? 0
                let place = delivery.push(
                    Self.event(stream, bytes: bytes), to: stream.subscribers)
                if place == nil { marked.formUnion(stream.subscribers.map { $0.session.id }) }
            }
            var bytes: [SessionID: Int] = [:]
            for session in all where !session.lane.outbox.isEmpty {
                bytes[session.id] = session.lane.outbox.bytes
                since[session.id] = since[session.id] ?? step
            }
            let prompt = marked.filter { 1...slice.small ~= bytes[$0] ?? 0 }
            let written = turn().map(\.id)
            #expect(Set(written).count == written.count && prompt.isSubset(of: written))
            let sliced = written.filter { !prompt.contains($0) }
            let costs = sliced.map { WriteSlice.cost(of: bytes[$0] ?? 0) }
            #expect(costs.dropLast().reduce(0, +) < slice.budget)
            let waiting = since.filter { !written.contains($0.key) }.map(\.value)
            let newest = sliced.compactMap { since[$0] }.max() ?? 0
            #expect(waiting.allSatisfy { $0 >= newest })
            #expect(sliced.isEmpty == false || waiting.isEmpty)
            for id in written { since[id] = nil }
            left = Set(all.filter { written.contains($0.id) && !$0.lane.outbox.isEmpty }.map(\.id))
        }
        while delivery.hasMore { _ = turn() }
        #expect(all.allSatisfy { $0.lane.outbox.isEmpty })
        #expect(delivery.accounting.written == delivery.accounting.accepted)
    }
}
