import Foundation
import Simulation
import Testing

/// Worlds without end, for `make simulate`: says now and then how many there were and what went
/// wrong in them, and stops at the first promise that is broken.
@Suite struct EndlessTests {
    /// What has run so far.
    private struct Tally {
        var seeds = 0
        var worlds: [Trial.Kind: Int] = [:]
        var steps = 0
        var injected: [Fault: Int] = [:]

        var line: String {
            let worlds = worlds.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { "\($0.value) \($0.key.rawValue)" }
            let faults = injected.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { "\($0.key.rawValue) \($0.value)" }
            return "\(seeds) seeds (worlds: \(worlds.joined(separator: ", "))), \(steps) steps; "
                + faults.joined(separator: ", ")
        }
    }

    @Test(.enabled(if: Setting.isEndless, "goes on without end; `make simulate` runs it"))
    func noPromiseIsEverBroken() {
        let start = ContinuousClock.now
        var tally = Tally()
        var said = start
        for seed in Setting.first...Setting.lastSeed {
            for kind in Trial.Kind.allCases {
                let trial = Trial(
                    kind, seed: UInt64(seed), steps: 40 + seed % 80, isPaced: seed % 2 == 0,
                    isRinging: kind == .replica && seed % 4 > 1, reacts: true)
                tally.steps += trial.steps
                tally.worlds[kind, default: 0] += 1
                let failure = trial.failure { counts in
                    tally.injected.merge(counts) { $0 + $1 }
                }
                if let failure {
                    Issue.record("\(failure)")
                    return
                }
            }
            tally.seeds += 1
            if let duration = Setting.duration, .now - start > duration { break }
            guard .now - said > .seconds(10) else { continue }
            said = .now
            say("to seed \(seed): \(tally.line)")
        }
        say("no promise was broken: \(tally.line)")
    }

    private func say(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }
}
