import Foundation
import Simulation
import Testing

/// The real engine in seeded worlds, judged by the oracle of `design.md` after every frame.
///
/// `SIMULATION_SEEDS` runs that many seeds instead of the usual ones, `SIMULATION_FIRST` begins
/// elsewhere; `SIMULATION_SEED` and `SIMULATION_STEPS` run one world and print what happens in it.
@Suite struct WorldTests {
    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    private static let seeds = number("SIMULATION_SEEDS") ?? 600
    private static let first = number("SIMULATION_FIRST") ?? 1
    /// Seeds that run after each other, while others run beside them.
    private static let share = 50

    @Test(arguments: Array(stride(from: first, to: first + seeds, by: share)))
    func everyClientIsWholeOrToldOfAGap(from start: Int) {
        guard Self.number("SIMULATION_SEED") == nil else { return }
        for seed in start..<min(start + Self.share, Self.first + Self.seeds) {
            let trial = Trial(seed: UInt64(seed), steps: 40 + seed % 40)
            if let failure = trial.failure() { Issue.record("\(failure)") }
        }
    }

    @Test func oneSeedIsShown() {
        guard let seed = Self.number("SIMULATION_SEED") else { return }
        let trial = Trial(seed: UInt64(seed), steps: Self.number("SIMULATION_STEPS") ?? 80)
        if let violation = trial.violation(steps: trial.steps, trace: { print($0) }) {
            Issue.record("\(violation)")
        }
    }

    @Test func theSameSeedIsTheSameWorld() {
        for seed in 1...5 as ClosedRange<UInt64> {
            var traces: [[String]] = []
            for _ in 0..<2 {
                var lines: [String] = []
                _ = Trial(seed: seed, steps: 40).violation(steps: 40) { lines.append($0) }
                traces.append(lines)
            }
            #expect(traces[0] == traces[1], "seed \(seed)")
            #expect(traces[0].count > 40, "seed \(seed)")
        }
    }
}
