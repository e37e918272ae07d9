import Simulation
import Testing

/// Worlds in which single parts of logs are lost: that the oracle would find it if they were served
/// as the log, and that it finds nothing since they are not.
@Suite struct DamageTests {
    private static let others = Set(Fault.allCases).subtracting([.damages, .lapses, .restarts])

    /// - Returns: how many parts were damaged, and what was found.
    private static func run(
        _ seeds: ClosedRange<UInt64>, looks: Bool
    ) -> (injected: Int, found: [String]) {
        var (injected, found) = (0, [String]())
        for seed in seeds {
            let world = ReplicaWorld(seed: seed, without: others)
            world.damages(looks: looks)
            do throws(Violation) {
                try world.run(steps: 60)
            } catch {
                found.append("\(error)")
            }
            injected += world.injected[.damages, default: 0]
        }
        return (injected, found)
    }

    @Test func damagedLogsAreNeverServedAsWhole() {
        let (injected, found) = Self.run(1...60, looks: true)
        #expect(found == [])
        #expect(injected > 60, "\(injected)")
    }

    /// An origin that answers without looking is found out, whichever way.
    @Test func anOriginThatDoesNotLookIsFound() {
        let (_, found) = Self.run(1...60, looks: false)
        #expect(found.count > 3, "\(found.count)")
    }
}
