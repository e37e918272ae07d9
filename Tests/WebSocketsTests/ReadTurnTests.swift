import Testing

@testable import WebSockets

/// The turns of those who send much.
@Suite struct ReadTurnTests {
    private static func id(_ number: UInt64) -> SocketID { SocketID(rawValue: number) }

    /// Of twenty large reads that come in one turn one is processed; the others follow, each once,
    /// in their order, one a turn; small reads never wait.
    @Test func largeReadsTakeTurnsAndSmallOnesPassThem() {
        var reading = ReadTurn()
        var processed: [UInt64] = []
        var isPosted = false
        for number in 0..<20 as Range<UInt64> {
            if reading.admits(40_000) {
                processed.append(number)
            } else if reading.wait(Self.id(number)) {
                #expect(!isPosted, "one job goes on for all")
                isPosted = true
            }
        }
        #expect(processed == [0])
        var turns = 0
        while isPosted, turns < 100 {
            turns += 1
            reading.begin()
            let passes = reading.admits(100)
            #expect(passes, "a small read passes")
            // Who comes later stands behind those who wait.
            let overtakes = reading.admits(40_000)
            #expect(!overtakes)
            reading.beginRelease()
            while let id = reading.takeNext() {
                let isProcessed = reading.admits(40_000)
                #expect(isProcessed)
                processed.append(id.rawValue)
            }
            isPosted = reading.endRelease()
        }
        #expect(processed == Array(0..<20))
        #expect(turns == 19)
        reading.begin()
        let isFree = reading.admits(40_000)
        #expect(isFree, "nobody waits any more")
    }
}
