import Testing

@testable import WebSockets

@Suite struct DeadlinesTests {
    private func id(_ number: UInt64) -> SocketID { SocketID(rawValue: number) }

    @Test func anEntryComesUpAtItsTickAndOnce() {
        var deadlines = Deadlines(now: 1000)
        #expect(deadlines.insert(id(1), at: 1010) == 1010)
        #expect(deadlines.advance(to: 1009).isEmpty)
        let due = deadlines.advance(to: 1010)
        #expect(due.map(\.id) == [id(1)] && due.map(\.tick) == [1010])
        #expect(deadlines.advance(to: 5000).isEmpty)
        #expect(deadlines.count == 0)
    }

    @Test func aDeadlineBeyondTheWheelComesUpEarly() {
        var deadlines = Deadlines(now: 0)
        let tick = deadlines.insert(id(1), at: 1_000_000)
        #expect(tick < 1000)
        #expect(deadlines.advance(to: tick).map(\.id) == [id(1)])
    }

    @Test func whatComesUpTogetherIsHandedOutInParts() {
        var deadlines = Deadlines(now: 0)
        for number in UInt64(0)..<100 { _ = deadlines.insert(id(number), at: 10 + number / 50) }
        var handedOut: Set<UInt64> = []
        for round in 1...4 {
            let due = deadlines.advance(to: 11, limit: 30)
            #expect(due.count == (round < 4 ? 30 : 10))
            #expect(due.allSatisfy { $0.tick == 10 + $0.id.rawValue / 50 })
            handedOut.formUnion(due.map(\.id.rawValue))
            #expect(deadlines.isBehind(11) == (round < 4))
        }
        #expect(handedOut.count == 100 && deadlines.count == 0)
        // What is set meanwhile is not lost.
        _ = deadlines.insert(id(100), at: 5)
        #expect(deadlines.advance(to: 12).map(\.id) == [id(100)])
    }

    @Test func aLongSleepLosesNothing() {
        for seed in UInt64(1)...200 {
            var random = SplitMix64(state: seed)
            var now = UInt64.random(in: 0...5000, using: &random)
            var deadlines = Deadlines(now: now)
            var expected: [UInt64: UInt64] = [:]
            for number in UInt64(0)..<300 {
                let wanted = now + UInt64.random(in: 0...600, using: &random)
                expected[number] = deadlines.insert(id(number), at: wanted)
                guard number.isMultiple(of: 7) else { continue }
                now += UInt64.random(in: 0...900, using: &random)
                for entry in deadlines.advance(to: now) {
                    #expect(expected.removeValue(forKey: entry.id.rawValue) != nil, "seed \(seed)")
                }
                #expect(expected.values.allSatisfy { $0 > now }, "seed \(seed)")
            }
            #expect(deadlines.count == expected.count, "seed \(seed)")
        }
    }
}
