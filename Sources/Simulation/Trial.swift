/// One seed put to the test: its world runs, and if a promise is broken in it, the fewest turns
/// that break one are looked for, and the command that shows them again.
package struct Trial {
    package let seed: UInt64
    package let steps: Int

    package init(seed: UInt64, steps: Int) {
        self.seed = seed
        self.steps = steps
    }

    /// What is wrong in the seed's world, nil if nothing is.
    package func failure() -> String? {
        guard let violation = violation(steps: steps) else { return nil }
        // Fewer turns are another run only from its rest on; so the shortest is found from below.
        for fewer in 0..<steps {
            guard let violation = self.violation(steps: fewer) else { continue }
            return "\(violation)\n\(command(steps: fewer))"
        }
        return "\(violation)\n\(command(steps: steps))"
    }

    /// - Parameter trace: gets a line for whatever happens.
    package func violation(steps: Int, trace: ((String) -> Void)? = nil) -> Violation? {
        let world = World(seed: seed)
        world.trace = trace
        do throws(Violation) {
            try world.run(steps: steps)
            return nil
        } catch {
            return error
        }
    }

    private func command(steps: Int) -> String {
        "to see it again: SIMULATION_SEED=\(seed) SIMULATION_STEPS=\(steps)"
            + " swift test --filter SimulationTests"
    }
}
