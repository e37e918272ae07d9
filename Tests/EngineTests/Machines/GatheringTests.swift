import Simulation
import Testing

@testable import Engine

/// When a gateway waits for more requests, and when it must not: a loop whose turns cost 200 µs and
/// 100 µs a request, served by this machine, under several kinds of clients.
@Suite struct GatheringTests {
    /// A loop in virtual time.
    private struct Loop {
        var gathering = Gathering(longest: .milliseconds(1))
        var now = Duration.zero
        /// When the last turn was over, before the wait.
        var over = Duration.zero
        var longestTurn = Duration.zero
        var turns = 0
        var waits = 0
        /// What each request waited, until its turn was over.
        var delays: [Duration] = []
        /// The times at which requests wait to be read, in order.
        var input: [Duration] = []

        /// Serves all that has come, or the next that comes.
        /// - Returns: how many requests that were.
        mutating func turn() -> Int {
            guard let first = input.first else { return 0 }
            now = max(now, first)
            let here = input.prefix { $0 <= now }
            input.removeFirst(here.count)
            let began = now
            for _ in here { gathering.noteRequest(at: began) }
            now += .microseconds(200 + here.count * 100)
            over = now
            longestTurn = max(longestTurn, over - began)
            turns += 1
            delays += here.map { now - $0 }
            if let wait = gathering.turnEnded(at: now) {
                now += wait
                waits += 1
            }
            return here.count
        }

        /// Serves arrivals at these moments.
        mutating func serve(_ arrivals: [Duration]) {
            input += arrivals
            while turn() > 0 {}
        }

        /// Serves clients of which each sends its next request when it has the answer to its last.
        /// - Parameter way: from when the turn is over until the next request is here.
        /// - Returns: how many requests there were in a virtual second.
        mutating func serve(inTurnWith clients: Int, _ way: Duration, seconds: Int = 1) -> Int {
            let end = now + .seconds(seconds)
            var served = 0
            input = Array(repeating: now, count: clients)
            while now < end {
                let count = turn()
                served += count
                // The answers are written when the turn is over, before the wait.
                input += Array(repeating: over + way, count: count)
                input.sort()
            }
            input = []
            return served / seconds
        }
    }

    /// Moments at which independent clients send, as many a second on average.
    private static func arrivals(
        _ perSecond: Int, seconds: Int, seed: UInt64
    ) -> [Duration] {
        var random = SplitMix64(seed)
        let slots = (0..<seconds * 100_000).filter { _ in random.upTo(100_000) < perSecond }
        return slots.map { .microseconds($0 * 10) }
    }

    @Test(arguments: 1...20) func aBusyGatewayNeedsFewerTurns(seed: UInt64) {
        let arrivals = Self.arrivals(2000, seconds: 4, seed: seed)
        var loop = Loop()
        loop.serve(arrivals)
        var unlike = Loop()
        unlike.gathering.adopt(longest: .zero)
        unlike.serve(arrivals)
        #expect(unlike.waits == 0)
        #expect(Double(loop.turns) < 0.75 * Double(unlike.turns))
    }

    /// Each of them, at each distance, from its first request on.
    @Test(arguments: [1, 2, 3, 4, 6, 8, 16, 64], [50, 300, 800, 1500, 5000, 50_000])
    func whoWaitsForAnswersIsNotSlowed(clients: Int, microseconds: Int) {
        let way = Duration.microseconds(microseconds)
        var loop = Loop()
        var without = Loop()
        without.gathering.adopt(longest: .zero)
        let with = loop.serve(inTurnWith: clients, way, seconds: 4)
        let most = without.serve(inTurnWith: clients, way, seconds: 4)
        #expect(Double(with) > 0.9 * Double(most), "\(with) of \(most) requests a second")
    }

    /// A client that sends several requests at once makes no crowd.
    @Test(arguments: [2, 4]) func requestsThatComeTogetherAnywayAreNotWaitedFor(count: Int) {
        var loop = Loop()
        let moments = Self.arrivals(320 / count, seconds: 20, seed: 11)
        loop.serve(moments.flatMap { Array(repeating: $0, count: count) })
        #expect(Double(loop.waits) < 0.02 * Double(loop.turns), "\(loop.waits) of \(loop.turns)")
    }

    @Test func aBurstDoesNotHideThatWaitingHelps() {
        var loop = Loop()
        let burst = Array(repeating: Duration.milliseconds(1), count: 300)
        loop.serve(burst + Self.arrivals(2000, seconds: 2, seed: 13).map { $0 + .milliseconds(40) })
        #expect(loop.waits > 500)
    }

    @Test func aBusyLoopDoesNotWait() {
        var loop = Loop()
        // Turns of two milliseconds: what comes meanwhile gathers by itself.
        _ = loop.serve(inTurnWith: 20, .microseconds(50))
        #expect(loop.waits == 0)
    }

    @Test func whatComesAfterAPauseIsServedAtOnce() {
        var loop = Loop()
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 7))
        let waits = loop.waits
        #expect(waits > 0)
        loop.serve([loop.now + .seconds(1)])
        // Nor does what comes a moment later wait.
        loop.delays = []
        loop.serve([loop.over + .microseconds(100)])
        #expect(loop.waits == waits && loop.delays == [.microseconds(300)])
    }

    @Test(arguments: [20, 100, 150]) func aQuietGatewayNeverWaits(perSecond: Int) {
        var loop = Loop()
        loop.serve(Self.arrivals(perSecond, seconds: 20, seed: 3))
        #expect(loop.waits == 0)
    }

    @Test(arguments: 1...20) func noRequestWaitsLongerThanThat(seed: UInt64) {
        var loop = Loop()
        loop.serve(Self.arrivals(1500, seconds: 3, seed: seed))
        // The rest of the turn before it, the wait, and its own turn.
        let most = .milliseconds(1) + loop.longestTurn * 2
        #expect((loop.delays.max() ?? .zero) <= most)
        #expect(loop.waits > 100)
    }

    @Test func itNoticesThatClientsBeganToWaitForAnswers() {
        var loop = Loop()
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 5))
        #expect(loop.waits > 100)
        _ = loop.serve(inTurnWith: 2, .microseconds(50))
        let before = loop.waits
        let served = loop.serve(inTurnWith: 2, .microseconds(50))
        #expect(served > 4300 && loop.waits - before < 100)
    }

    @Test func aReloadBeginsAnew() {
        var loop = Loop()
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 5))
        let waits = loop.waits
        #expect(waits > 0)
        loop.gathering.adopt(longest: .zero)
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 5).map { $0 + loop.now })
        #expect(loop.waits == waits)
        loop.gathering.adopt(longest: .milliseconds(2))
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 5).map { $0 + loop.now })
        #expect(loop.waits > waits)
    }
}
