import Foundation
import TestSupport
import Testing

/// The objects for views against the truth, through outages of 1 to 5,000 changes with edits,
/// deletions, trims and new logs, random scrolls, jumps, openings and closings, four of them on one
/// conversation, and a gateway that answers late or refuses.
///
/// `TEST_SCALE` makes the run so many times as long, `TEST_SEED` begins elsewhere. What fails is
/// made smaller before it is told, unless `TEST_SHRINK` is 0.
@MainActor @Suite struct FacePropertyTests {
    private static let scale = number("TEST_SCALE") ?? 1
    private static let first = UInt64(truncatingIfNeeded: number("TEST_SEED") ?? 1)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// The same seed is the same world in both languages.
    @Test(arguments: Vectors.cases(of: "deeds").map { Vector(value: $0) })
    func theDeedsAreThoseOfTheVector(_ vector: Vector) {
        let value = vector.value
        let seed = UInt64(value["seed"].int ?? 0)
        let deeds = value["deeds"].array ?? []
        #expect(deeds.count == 60)
        #expect(Self.deeds(of: seed).map { "\($0)" } == deeds.map(Self.written))
        let world = FaceWorld(seed: seed)
        #expect(world.faces.map(\.limit) == (value["limits"].array ?? []).compactMap(\.int))
        #expect(world.gateway.log.seq == value["messages"].int)
    }

    /// A deed of a vector as `Deed` describes itself.
    private static func written(_ deed: JSONValue) -> String {
        let parts = deed.array ?? []
        let numbers = parts.dropFirst().compactMap(\.int).map { "\($0)" }
        let name = ".\(parts.first?.string ?? "")"
        return numbers.isEmpty ? name : "\(name)(\(numbers.joined(separator: ", ")))"
    }

    private static func deeds(of seed: UInt64) -> [Deed] {
        var random = SplitMix64(seed: seed &* 31 &+ 7)
        return (0..<60).map { _ in Deed(&random) }
    }

    @Test(arguments: 0..<4) func noFaceTakesAHoleForSilence(_ part: Int) throws {
        var judged = 0
        for place in 0..<(25 * Self.scale) {
            let seed = Self.first &+ UInt64(part * 1_000_000 + place)
            judged += try Self.run(seed: seed, Self.deeds(of: seed)).judged
        }
        #expect(judged > 1_000)
    }

    /// What an app, its user and its machine do that nobody wants: listeners that are not read for
    /// long, clocks that are set, credentials that throw, stores that are lost.
    @Test(arguments: 0..<4) func norDoesWhatGoesWrongAroundIt(_ part: Int) throws {
        var behind = 0
        for place in 0..<(25 * Self.scale) {
            let seed = Self.first &+ UInt64(part * 1_000_000 + place)
            behind += try Self.run(seed: seed, Self.mishaps(of: seed), patience: 40).fallenBehind
        }
        #expect(behind > 10)
    }

    private static func mishaps(of seed: UInt64) -> [Deed] {
        var random = SplitMix64(seed: seed &* 97 &+ 13)
        var deeds = deeds(of: seed)
        for _ in 0..<Int.random(in: 1...20, using: &random) {
            deeds.insert(.mishap(&random), at: Int.random(in: 0...deeds.count, using: &random))
        }
        return deeds
    }

    /// What earlier worlds found, as small as it was told.
    struct Found: Sendable, CustomStringConvertible {
        let description: String
        let seed: UInt64
        let deeds: [Deed]
    }

    nonisolated private static let found = [
        Found(
            description: "an opening jump that the connection did not outlive left an empty list",
            seed: 2_000_007,
            deeds: [.open(1), .serve(3), .deliver(6), .serve(1), .deliver(5), .cut]),
        Found(
            description: "what healed a gap at the top of the list was not taken",
            seed: 1_000_026, deeds: [.serve(4), .deliver(4), .serve(2), .lack(9, 1)]),
        Found(
            description: "what a page lacked at its oldest end was taken for the beginning",
            seed: 2_000_053, deeds: [.trim(566), .lack(561, 1), .write(345)]),
        Found(
            description: "a gap at the top was said to be one of newer messages",
            seed: 1_000_055, deeds: [.serve(3), .deliver(6), .serve(4), .slow(187, 17)]),
        Found(
            description: "a gap that healed while the connection was lost was never asked for",
            seed: 3_000_107,
            deeds: [
                .serve(1), .lack(775, 37), .write(10), .write(12), .deliver(2), .write(18),
                .serve(4), .write(22), .heal, .deliver(5), .cut,
            ]),
        Found(
            description: "a place in a log that has lost its end was taken for one in the present",
            seed: 1_000_041,
            deeds: [
                .serve(1), .deliver(1), .open(3), .serve(3), .deliver(6), .rewind(105), .cut,
                .tell(8), .bottom(3),
            ]),
    ]

    @Test(arguments: found) func whatWasFoundStaysMended(_ found: Found) throws {
        try FaceWorld(seed: found.seed).run(found.deeds)
    }

    private static func world(_ seed: UInt64, _ patience: Int) -> FaceWorld {
        let world = FaceWorld(seed: seed)
        world.patience = patience
        return world
    }

    private static func run(
        seed: UInt64, _ deeds: [Deed], patience: Int = 2_000
    ) throws -> FaceWorld {
        let world = world(seed, patience)
        do {
            try world.run(deeds)
            return world
        } catch {
            if number("TEST_SHRINK") == 0 { throw TestFailure("seed \(seed): \(error)") }
            let (less, why) = smaller(deeds, seed, patience, "\(error)")
            throw TestFailure("seed \(seed): \(why) after \(less)")
        }
    }

    /// Leaves out what is not needed for it to fail.
    private static func smaller(
        _ deeds: [Deed], _ seed: UInt64, _ patience: Int, _ why: String
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
                    try world(seed, patience).run(less)
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
