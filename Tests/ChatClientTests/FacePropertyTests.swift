import Foundation
import TestSupport
import Testing

/// The objects for views against the truth, through outages of 1 to 5,000 changes with edits,
/// deletions, trims and new logs, random scrolls, jumps, openings and closings, four of them on one
/// conversation, and a gateway that answers late or refuses.
///
/// `TEST_SCALE` makes the run so many times as long, `TEST_SEED` begins elsewhere. What fails is
/// made smaller before it is told.
@MainActor @Suite struct FacePropertyTests {
    private static let scale = number("TEST_SCALE") ?? 1
    private static let first = UInt64(truncatingIfNeeded: number("TEST_SEED") ?? 1)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test(arguments: 0..<4) func noFaceTakesAHoleForSilence(_ part: Int) throws {
        var judged = 0
        for place in 0..<(3 * Self.scale) {
            judged += try Self.run(seed: Self.first &+ UInt64(part * 1_000_000 + place))
        }
        #expect(judged > 100)
    }

    private static func run(seed: UInt64) throws -> Int {
        var random = SplitMix64(seed: seed &* 31 &+ 7)
        let deeds = (0..<60).map { _ in Deed(&random) }
        let world = FaceWorld(seed: seed)
        do {
            try world.run(deeds)
            return world.judged
        } catch {
            let (less, why) = smaller(deeds, seed, "\(error)")
            throw TestFailure("seed \(seed): \(why) after \(less)")
        }
    }

    /// Leaves out what is not needed for it to fail.
    private static func smaller(
        _ deeds: [Deed], _ seed: UInt64, _ why: String
    ) -> (deeds: [Deed], why: String) {
        var (deeds, why) = (deeds, why)
        var size = deeds.count / 2
        let deadline = Deadline.after(.seconds(15))
        while size > 0 {
            var at = 0
            while at < deeds.count, !deadline.isOver {
                var less = deeds
                less.removeSubrange(at..<min(at + size, deeds.count))
                do {
                    try FaceWorld(seed: seed).run(less)
                    at += size
                } catch {
                    (deeds, why) = (less, "\(error)")
                }
            }
            size /= 2
        }
        return (deeds, why)
    }
}
