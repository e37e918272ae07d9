/// One seed under test: runs its world, and if that breaks a promise, searches for the fewest
/// faults and then the fewest turns that still break one, and gives the command that repeats them.
package struct Trial {
    /// The kind of world.
    package enum Kind: String, Sendable, CaseIterable {
        /// The log is the gateway's own.
        case embedded
        /// The log lives elsewhere.
        case replica
    }

    package let kind: Kind
    package let seed: UInt64
    package let steps: Int
    /// Faults that are left out.
    package var without: Set<Fault>
    /// Whether busy conversations are paced.
    package let isPaced: Bool
    /// Whether the feeds of a world of replicas only notify.
    package let isRinging: Bool
    /// Whether some edits are reactions instead.
    package let reacts: Bool

    package init(
        _ kind: Kind, seed: UInt64, steps: Int, without: Set<Fault> = [], isPaced: Bool = false,
        isRinging: Bool = false, reacts: Bool = false
    ) {
        self.kind = kind
        self.isPaced = isPaced
        self.isRinging = isRinging
        self.reacts = reacts
        self.seed = seed
        self.steps = steps
        self.without = without
    }

    /// The failure of the seed's world; nil if there is none.
    /// - Parameter note: called with how often each fault struck.
    package func failure(_ note: ([Fault: Int]) -> Void = { _ in }) -> String? {
        guard var violation = violation(note: note) else { return nil }
        var least = self
        if kind == .replica {
            for fault in Fault.allCases where !least.without.contains(fault) {
                var fewer = least
                fewer.without.insert(fault)
                guard let other = fewer.violation() else { continue }
                (least, violation) = (fewer, other)
            }
        }
        // A run with fewer turns differs only in its rest, so the shortest is searched from below.
        for steps in 0..<steps {
            let shorter = Trial(
                kind, seed: seed, steps: steps, without: least.without, isPaced: isPaced,
                isRinging: isRinging, reacts: reacts)
            guard let other = shorter.violation() else { continue }
            return "\(other)\n\(shorter.command)"
        }
        return "\(violation)\n\(least.command)"
    }

    /// - Parameters:
    ///   - note: called with how often each fault struck.
    ///   - trace: called with a line for every event.
    package func violation(
        note: ([Fault: Int]) -> Void = { _ in }, trace: ((String) -> Void)? = nil
    ) -> Violation? {
        do throws(Violation) {
            switch kind {
            case .embedded:
                let world = World(seed: seed, isPaced: isPaced)
                world.trace = trace
                world.run.reacts = reacts
                defer { note(world.injected) }
                try world.run(steps: steps)
            case .replica:
                let world = ReplicaWorld(
                    seed: seed, without: without, isPaced: isPaced, isRinging: isRinging)
                world.trace = trace
                world.run.reacts = reacts
                defer { note(world.injected) }
                try world.run(steps: steps)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Repeats the run.
    package var command: String {
        let left = without.map(\.rawValue).sorted().joined(separator: ",")
        return "to see it again: SIMULATION_WORLD=\(kind.rawValue) SIMULATION_SEED=\(seed)"
            + " SIMULATION_STEPS=\(steps)\(left.isEmpty ? "" : " SIMULATION_WITHOUT=\(left)")"
            + (isPaced ? " SIMULATION_PACED=1" : "")
            + (isRinging ? " SIMULATION_RINGING=1" : "")
            + (reacts ? " SIMULATION_REACTS=1" : "")
            + " swift test --filter SimulationTests"
    }
}
