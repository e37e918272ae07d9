import Chat
import Glibc
import Synchronization
import Testing

@testable import Gateway

/// Clocks that are set, and descriptors that run out, as they are told.
@Suite struct ClockTests {
    private final class Clocks: Sendable {
        let steady = Atomic<Int64>(1_000_000)
        let ahead = Atomic<Int64>(50_000_000)

        func read(_ clock: clockid_t) -> Int64 {
            let steady = steady.load(ordering: .relaxed)
            return clock == CLOCK_MONOTONIC ? steady : steady + ahead.load(ordering: .relaxed)
        }

        func pass(_ milliseconds: Int64) { steady.add(milliseconds, ordering: .relaxed) }
        func jump(_ milliseconds: Int64) { ahead.add(milliseconds, ordering: .relaxed) }
    }

    @Test func orderDoesNotGoByATimeOfDayThatJumps() {
        let clocks = Clocks()
        var clock = SteadyClock(read: clocks.read)
        let start = clock.now().milliseconds
        #expect(clock.look() == nil)
        for step in [7_200_000, -7_200_000, -3_600_000] as [Int64] {
            clocks.jump(step)
            clocks.pass(100)
            #expect(clock.look() == step)
            clocks.pass(100)
            #expect(clock.look() == nil)
        }
        #expect(clock.now().milliseconds == start + 600)
    }

    @Test func sessionsGoByATimeOfDayThatAgreesWithItself() {
        let clocks = Clocks()
        var clock = SteadyClock(read: clocks.read)
        clocks.jump(7_200_000)
        _ = clock.look()
        for _ in 0..<99 {
            clocks.pass(100)
            _ = clock.look()
            #expect(clock.ahead == 0)
        }
        clocks.pass(100)
        _ = clock.look()
        #expect(clock.ahead == 7_200_000)
        // What it is corrected by little by little is followed at once.
        clocks.jump(20)
        #expect(clock.look() == nil && clock.ahead == 7_200_020)
    }

    @Test func aShortageIsToldWhenItBeginsEveryMinuteAndWhenItIsOver() {
        var shortage = Shortage()
        let start = ContinuousClock.now
        #expect(shortage.look(refused: 0, at: start) == nil && !shortage.lasts)
        #expect(shortage.look(refused: 3, at: start) == .began(3))
        for second in 1..<60 {
            #expect(shortage.look(refused: 3 + second, at: start + .seconds(second)) == nil)
        }
        #expect(shortage.look(refused: 70, at: start + .seconds(60)) == .goesOn(67))
        #expect(shortage.lasts)
        #expect(shortage.look(refused: 70, at: start + .seconds(119)) == nil)
        #expect(shortage.look(refused: 70, at: start + .seconds(120)) == .ended)
        #expect(!shortage.lasts)
        #expect(shortage.look(refused: 71, at: start + .seconds(200)) == .began(1))
    }
}
