import Testing

@testable import Engine

/// How long a crowd waits for more messages.
@Suite struct LingerTests {
    /// After a fan-out with so many messages, which took so many microseconds.
    private static func after(_ messages: Int, took: Int = 4_000) -> Linger {
        var linger = Linger()
        linger.noteFanOut(of: messages)
        linger.noteWritten(in: .microseconds(took))
        return linger
    }

    private static let now = Duration.seconds(10)

    /// How many microseconds it waits with so many messages.
    private static func wait(
        _ linger: inout Linger, with messages: Int = 1, loops: Int = 1
    ) -> Int? {
        let end = linger.begin(with: messages, at: now, loops: loops)
        return end.map { Int(($0 - now) / .microseconds(1)) }
    }

    private static func isInVain(_ linger: inout Linger, _ messages: Int = 1) -> Bool {
        linger.end(with: messages)
    }

    /// The turn ends so many microseconds after now.
    private static func look(_ linger: inout Linger, _ messages: Int, at time: Int) -> Int? {
        let end = linger.look(messages, at: now + .microseconds(time))
        return end.map { Int(($0 - now) / .microseconds(1)) }
    }

    @Test(
        arguments: [
            (took: 4_000, loops: 1, wait: 500), (took: 8_000, loops: 1, wait: 1_000),
            (took: 40_000, loops: 1, wait: 1_000), (took: 800, loops: 1, wait: 100),
            (took: 799, loops: 1, wait: nil), (took: 4_000, loops: 4, wait: 125),
            (took: 4_000, loops: 6, wait: nil),
        ] as [(took: Int, loops: Int, wait: Int?)])
    func itWaitsAnEighthOfTheFanOutAndAMillisecondAtMost(
        _ one: (took: Int, loops: Int, wait: Int?)
    ) {
        var linger = Self.after(2, took: one.took)
        #expect(Self.wait(&linger, loops: one.loops) == one.wait)
        #expect(linger.isWaiting == (one.wait != nil))
    }

    @Test func itDoesNotWaitWhereNoneAreExpected() {
        var lone = Self.after(1)
        #expect(Self.wait(&lone) == nil)
        var full = Self.after(3)
        #expect(Self.wait(&full, with: 3) == nil)
        var silent = Self.after(3)
        #expect(Self.wait(&silent, with: 0) == nil)
        var rested = Self.after(3)
        rested.noteHeld(follows: false, gathers: true)
        #expect(Self.wait(&rested) == nil)
    }

    @Test func itWaitsOnceForWhatIsToBeSaid() {
        var linger = Self.after(3)
        #expect(Self.wait(&linger) == 500)
        #expect(!Self.isInVain(&linger, 2))
        #expect(Self.wait(&linger, with: 2) == nil)
        linger.noteFanOut(of: 3)
        #expect(Self.wait(&linger) == 500)
    }

    /// 9 and 7 messages, over and over, where 16 come together.
    @Test func oneFanOutBehindTheOtherCountsWithIt() {
        var linger = Self.after(9)
        linger.noteHeld(follows: true, gathers: false)
        #expect(linger.follows)
        linger.noteFanOut(of: 7)
        #expect(!linger.follows)
        #expect(Self.wait(&linger, with: 15) == 500)
        _ = linger.end(with: 15)
        // The last one alone counts with the next: 7 and 8.
        linger.noteHeld(follows: true, gathers: false)
        linger.noteFanOut(of: 8)
        #expect(Self.wait(&linger, with: 15) == nil)
        #expect(Self.wait(&linger, with: 14) == 500)
        linger.noteFanOut(of: 8)
        #expect(Self.wait(&linger, with: 8) == nil)
        // What goes out at once follows nothing.
        linger.noteHeld(follows: true, gathers: false)
        linger.noteDue()
        linger.noteFanOut(of: 8)
        #expect(Self.wait(&linger, with: 8) == nil)
    }

    @Test func waitsInVainBecomeRare() {
        var linger = Self.after(3)
        var waits = 0
        for _ in 0..<8 {
            if Self.wait(&linger) != nil { waits += 1 }
            #expect(Self.isInVain(&linger))
            linger.noteFanOut(of: 3)
        }
        #expect(waits == 8)
        for _ in 0..<64 {
            if Self.wait(&linger) != nil { waits += 1 }
            _ = linger.end(with: 1)
            linger.noteFanOut(of: 3)
        }
        #expect(waits == 10)
        for _ in 0..<31 where Self.wait(&linger) != nil { waits += 1 }
        // One that brings something ends that.
        #expect(waits == 10 && Self.wait(&linger) == 500)
        #expect(!Self.isInVain(&linger, 2))
        linger.noteFanOut(of: 3)
        #expect(Self.wait(&linger) == 500)
    }

    /// So does one that turns into a wait for what is on its way to the log.
    @Test func whatIsOnItsWayIsNotInVain() {
        var linger = Self.after(3)
        for _ in 0..<8 {
            _ = Self.wait(&linger)
            _ = linger.end(with: 1)
            linger.noteFanOut(of: 3)
        }
        for _ in 0..<31 { _ = Self.wait(&linger) }
        #expect(Self.wait(&linger) == 500)
        linger.yield()
        #expect(!linger.isWaiting && Self.wait(&linger) == nil)
        linger.noteFanOut(of: 3)
        #expect(Self.wait(&linger) == 500)
    }

    @Test func itIsLookedAtOnceMoreWhenAllAreThere() {
        var linger = Self.after(3)
        #expect(Self.wait(&linger) == 500)
        #expect(Self.look(&linger, 2, at: 50) == nil)
        #expect(Self.look(&linger, 3, at: 60) == 80)
        #expect(Self.look(&linger, 3, at: 70) == nil)
        #expect(Self.look(&linger, 4, at: 490) == 500)
    }
}
