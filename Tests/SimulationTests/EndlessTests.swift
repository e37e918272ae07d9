import Foundation
import Simulation
import Testing

/// Worlds without end, for `make simulate`: says now and then how many there were and what went
/// wrong in them, and stops at the first promise that is broken.
@Suite struct EndlessTests {
    @Test func noPromiseIsEverBroken() {
        guard Setting.isEndless else { return }
        var injected: [Fault: Int] = [:]
        var steps = 0
        var said = ContinuousClock.now
        for seed in Setting.first... {
            for kind in Trial.Kind.allCases {
                let trial = Trial(kind, seed: UInt64(seed), steps: 40 + seed % 80)
                steps += trial.steps
                let failure = trial.failure { counts in
                    injected.merge(counts) { $0 + $1 }
                }
                if let failure {
                    Issue.record("\(failure)")
                    return
                }
            }
            guard ContinuousClock.now - said > .seconds(10) else { continue }
            said = .now
            let faults = injected.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { "\($0.key.rawValue) \($0.value)" }
            let line =
                "\(seed - Setting.first + 1) seeds to \(seed), \(steps) steps; "
                + faults.joined(separator: ", ") + "\n"
            try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
        }
    }
}
