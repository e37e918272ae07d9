import TestSupport
import Testing

@testable import Upstream

/// Pieces of long jobs on links of every kind: never too small to get on, never so large that
/// others wait for long, and as large as a slow way needs.
@Suite struct LinkPaceTests {
    /// A server behind a way, and two pieces of long jobs in flight, as the link has them.
    private struct Link {
        var pace = LinkPace()
        var now = ContinuousClock.now
        /// There and back, with nothing before it.
        var way: Duration
        /// What a command costs the server.
        var cost: Duration
        var jitter: Duration = .zero
        /// Of a command.
        var bytes = 500
        private var serverIsFreeAt: ContinuousClock.Instant?
        private var pieces = Fifo<(trip: LinkPace.Trip, count: Int, end: ContinuousClock.Instant)>()
        /// In flight: commands, pieces of long jobs, and short commands.
        private var commands = 0
        private var long = 0
        private var short = 0

        init(way: Duration, cost: Duration, jitter: Duration = .zero) {
            self.way = way
            self.cost = cost
            self.jitter = jitter
        }

        private mutating func send(_ count: Int, isLong: Bool) {
            commands += count
            if isLong { long += 1 } else { short += 1 }
            let trip = LinkPace.Trip(
                sentAt: now, ahead: commands, bytes: commands * bytes, isTypical: isLong)
            let free = max(now + way / 2, serverIsFreeAt ?? now) + cost * count
            serverIsFreeAt = free
            pieces.append((trip, count, free + way / 2))
        }

        /// Answers come, pieces are sent, and short commands beside them.
        /// - Returns: how many commands of long jobs were done, and in which time.
        @discardableResult
        mutating func work(
            answers: Int, beside others: Int = 0, _ random: inout Chance,
            look: (LinkPace) -> Void = { _ in }
        ) -> (done: Int, span: Duration) {
            let began = now
            var done = 0
            for _ in 0..<answers {
                while long < CommandQueue.longPieces { send(pace.pieceCount, isLong: true) }
                while short < others { send(1, isLong: false) }
                guard let piece = pieces.popFirst() else { continue }
                commands -= piece.count
                if piece.trip.isTypical { long -= 1 } else { short -= 1 }
                if piece.trip.isTypical { done += piece.count }
                now = max(now, piece.end + jitter * Double.random(in: 0...1, using: &random))
                pace.answered(piece.trip, at: now)
                look(pace)
            }
            return (done, now - began)
        }

        /// Large commands come faster than they are answered.
        /// - Returns: the largest window meanwhile.
        mutating func saturate(for span: Duration) -> Int {
            let end = now + span
            var largest = 0
            while now < end {
                while commands * bytes < pace.window { send(1, isLong: false) }
                guard let piece = pieces.popFirst() else { continue }
                commands -= piece.count
                short -= 1
                now = max(now, piece.end)
                pace.answered(piece.trip, at: now)
                largest = max(largest, pace.window)
            }
            return largest
        }

        /// Works until a time.
        mutating func work(
            for span: Duration, beside others: Int = 0, _ random: inout Chance
        ) {
            let end = now + span
            while now < end { work(answers: 10, beside: others, &random) }
        }
    }

    private typealias Chance = SplitMix64

    /// The work of a piece, in what it may be: half a millisecond and half of the way.
    private func fair(_ link: Link) -> Double { (LinkPace.grain + link.way / 2) / link.cost }

    /// A window that followed what its own bytes take would grow without end.
    @Test(arguments: [30, 100, 300, 2000])
    func theWindowDoesNotFollowItself(cost: Int) {
        var random = Chance(seed: UInt64(cost))
        var link = Link(way: .microseconds(100), cost: .microseconds(20))
        link.work(for: .seconds(3), &random)
        (link.bytes, link.cost) = (30 << 10, .microseconds(cost))
        #expect(link.saturate(for: .seconds(20)) == LinkPace.leastWindow)
    }

    /// A short way needs little in flight, and so a small command waits behind little.
    @Test(arguments: [(50, 128), (200, 128), (1000, 256), (2000, 512), (50_000, 512)])
    func theWindowIsAsLargeAsTheWayNeeds(way: Int, kibibytes: Int) {
        var pace = LinkPace()
        #expect(pace.window == LinkPace.leastWindow)
        let now = ContinuousClock.now
        pace.answered(
            LinkPace.Trip(sentAt: now, ahead: 1, bytes: 300, isTypical: false),
            at: now + .microseconds(way))
        #expect(pace.window == kibibytes << 10)
    }

    @Test(arguments: [50, 100, 500, 2000, 20_000, 200_000], [5, 30, 70, 1000, 10_000])
    func aPieceIsAsLargeAsTheWayNeeds(way: Int, cost: Int) {
        var random = Chance(seed: UInt64(way + cost))
        var link = Link(way: .microseconds(way), cost: .microseconds(cost))
        link.work(answers: 50, &random)
        var counts: [Int] = []
        link.work(answers: 50, &random) { counts.append($0.pieceCount) }
        let most = min(max(fair(link), Double(LinkPace.least)), Double(LinkPace.most))
        let median = Double(counts.sorted()[counts.count / 2])
        // Of what is in flight a part is on its way, so a command seems to cost less than it does;
        // and the shortest round trip has some commands in it.
        #expect(median >= 0.7 * most - 1 && median <= 3 * most, "\(median) of \(most)")
    }

    @Test(arguments: 0..<50) func itIsBoundedAndGetsOnWhateverHappens(seed: Int) {
        var random = Chance(seed: UInt64(seed))
        var link = Link(way: .microseconds(100), cost: .microseconds(30))
        for _ in 0..<10 {
            link.way = .microseconds([20, 200, 3000, 80_000].randomElement(using: &random) ?? 20)
            link.cost = .microseconds([1, 30, 300, 5000].randomElement(using: &random) ?? 1)
            link.jitter = .microseconds([0, 100, 30_000].randomElement(using: &random) ?? 0)
            let short = [0, 0, 1, 30, 256].randomElement(using: &random) ?? 0
            // Short commands of before are answered too.
            let (done, _) = link.work(answers: 600, beside: short, &random) { pace in
                #expect((LinkPace.least...LinkPace.most).contains(pace.pieceCount))
            }
            #expect(done >= LinkPace.least)
        }
    }

    /// However long the server was busy, the shortest round trip is still known, and pieces don't
    /// grow because all of them are slow.
    @Test func aQueueOfItsOwnIsNotTakenForTheWay() {
        var random = Chance(seed: 7)
        var link = Link(way: .microseconds(100), cost: .microseconds(30))
        link.work(for: .seconds(20), beside: 200, &random)
        let base = link.pace.base ?? .zero
        #expect(base < .milliseconds(1), "\(base)")
        #expect(Double(link.pace.pieceCount) < 3 * fair(link), "\(link.pace.pieceCount)")
    }

    @Test func aWayThatBecomesLongerIsFound() {
        var random = Chance(seed: 1)
        var link = Link(way: .microseconds(100), cost: .microseconds(30))
        link.work(for: .seconds(6), &random)
        #expect(link.pace.pieceCount < 50)
        link.way = .milliseconds(50)
        link.work(for: LinkPace.period * 2, &random)
        #expect(link.pace.base ?? .zero >= .milliseconds(50))
        #expect(link.pace.pieceCount == LinkPace.most)
        link.way = .microseconds(100)
        link.work(for: LinkPace.period * 2, &random)
        #expect(link.pace.pieceCount < 50)
    }

    /// Where the server is all that is slow, it is never without work for long.
    @Test(arguments: [100, 1000, 10_000]) func theServerIsBusy(way: Int) {
        var random = Chance(seed: 3)
        var link = Link(way: .microseconds(way), cost: .microseconds(30))
        link.work(answers: 200, &random)
        let (done, span) = link.work(answers: 500, &random)
        #expect(link.cost * done > span * 0.5, "\(done) in \(span)")
    }

    /// The queue bounds the pieces of a job by it, from the first one on.
    @Test func theNextPieceOfAJobIsAsLargeAsItSays() {
        var queue = CommandQueue()
        var inFlight = JobsInFlight()
        let commands = Array(repeating: RedisCommand.words("PING"), count: 5000)
        let isTaken = queue.add(CommandJob(commands, until: .now + .seconds(60)) { _ in })
        #expect(isTaken)
        var now = ContinuousClock.now
        var counts: [Int] = []
        for _ in 0..<15 {
            guard var job = queue.next(beside: inFlight) else { break }
            counts.append(job.advance(behind: inFlight, at: now).count)
            inFlight.append(job)
            now += .milliseconds(100)
            guard let answered = inFlight.answered(at: now) else { break }
            queue.putBack(answered)
            #expect(counts.last ?? 0 <= inFlight.pace.pieceCount)
        }
        #expect(counts.first == LinkPace.least && counts.last == LinkPace.most, "\(counts)")
        #expect(counts == counts.sorted())
    }
}
