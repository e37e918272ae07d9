import Foundation
import Testing

/// Worlds of real client sessions around the real engine, from seeds: after every frame each client
/// holds what the log had and no more, and at rest everything has arrived.
@Suite struct SessionWorldTests {
    /// `TEST_SCALE` makes the run so many times as long, `TEST_SEED` begins elsewhere.
    private static let scale = number("TEST_SCALE") ?? 1
    private static let first = UInt64(truncatingIfNeeded: number("TEST_SEED") ?? 1)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// A late answer of a log that was deleted moved a message of the one after it.
    @Test(arguments: [3_777_071 as UInt64]) func whatWasFoundOnce(_ seed: UInt64) throws {
        try SessionWorld(seed: seed).run(steps: 250)
    }

    @Test(arguments: 0..<8) func everyFrameLeavesTheClientsRight(_ part: Int) throws {
        var judged = 0
        for place in 0..<(3 * Self.scale) {
            let world = SessionWorld(seed: Self.first &+ UInt64(part * 1_000_000 + place))
            try world.run(steps: 250)
            judged += world.judged
        }
        #expect(judged > 100)
    }
}
