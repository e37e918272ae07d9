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
        /// - Returns: how many requests there were in a virtual second.
        mutating func serve(inTurnWith clients: Int) -> Int {
            let end = now + .seconds(1)
            var served = 0
            input += Array(repeating: now, count: clients)
            while now < end {
                let before = now
                let count = turn()
                served += count
                // The answers are written when the turn is over, before the wait.
                let answered = before + .microseconds(200 + count * 100)
                input += Array(repeating: answered + .microseconds(50), count: count)
            }
            input = []
            return served
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

    @Test(arguments: [1, 2, 3, 4, 6, 8]) func whoWaitsForAnswersIsNotSlowed(clients: Int) {
        var loop = Loop()
        var without = Loop()
        without.gathering.adopt(longest: .zero)
        _ = loop.serve(inTurnWith: clients)
        let (with, most) = (loop.serve(inTurnWith: clients), without.serve(inTurnWith: clients))
        #expect(Double(with) > 0.97 * Double(most), "\(with) of \(most) requests a second")
    }

    @Test func aBusyLoopDoesNotWait() {
        var loop = Loop()
        // Turns of two milliseconds: what comes meanwhile gathers by itself.
        _ = loop.serve(inTurnWith: 20)
        #expect(loop.waits == 0)
    }

    @Test func whatComesAfterAPauseIsServedAtOnce() {
        var loop = Loop()
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 7))
        #expect(loop.waits > 0)
        let lone = loop.now + .seconds(1)
        loop.delays = []
        loop.serve([lone])
        #expect(loop.delays == [.microseconds(300)])
        // Nor does what comes a moment later wait.
        loop.serve([loop.now + .microseconds(100)])
        #expect(loop.delays.last == .microseconds(300))
    }

    @Test(arguments: [20, 100, 150]) func aQuietGatewayNeverWaits(perSecond: Int) {
        var loop = Loop()
        loop.serve(Self.arrivals(perSecond, seconds: 20, seed: 3))
        #expect(loop.waits == 0)
    }

    @Test(arguments: 1...20) func noRequestWaitsLongerThanThat(seed: UInt64) {
        var loop = Loop()
        loop.serve(Self.arrivals(1500, seconds: 3, seed: seed))
        // The wait, the turn before it, and its own.
        let most = loop.delays.max() ?? .zero
        #expect(most < .milliseconds(4))
    }

    @Test func itNoticesThatClientsBeganToWaitForAnswers() {
        var loop = Loop()
        loop.serve(Self.arrivals(2000, seconds: 1, seed: 5))
        #expect(loop.waits > 100)
        _ = loop.serve(inTurnWith: 2)
        let before = loop.waits
        let served = loop.serve(inTurnWith: 2)
        #expect(served > 4300 && loop.waits - before < 100)
    }
}
