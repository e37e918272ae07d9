import Chat

/// One run of a world: its dice, its virtual time, and what is said and counted of it. The parts of
/// the world share it.
package final class Run {
    let seed: UInt64
    var random: SplitMix64
    private(set) var now = Timestamp(milliseconds: 1_700_000_000_000)
    private(set) var turn = 0
    /// Faults and random actions have stopped: what is in flight is completed.
    var isCalm = false
    /// The faults that may strike, and in how many percent of the opportunities.
    var faults: Set<Fault> = []
    private let rate: Int
    /// Whether some edits are reactions instead.
    var reacts = false
    /// How often each fault struck.
    private(set) var injected: [Fault: Int] = [:]
    /// Called with a line for every event.
    var trace: ((String) -> Void)?

    init(seed: UInt64, _ random: SplitMix64, faults: Set<Fault> = [], rate: Int = 0) {
        self.seed = seed
        self.random = random
        self.faults = faults
        self.rate = rate
    }

    func say(_ line: @autoclosure () -> String) {
        if let trace { trace("\(turn): \(line())") }
    }

    /// Begins the next turn.
    /// - Parameter milliseconds: how much later it is while the run is calm.
    func pass(calm milliseconds: Int) {
        turn += 1
        now.milliseconds += Int64(
            isCalm ? milliseconds : random.chance(2) ? 20_000 : random.number(1...400))
    }

    /// Time passes without a turn: the processes stand still.
    func standStill(_ milliseconds: Int64) { now.milliseconds += milliseconds }

    func count(_ fault: Fault) { injected[fault, default: 0] += 1 }

    /// Whether the fault strikes now.
    func strikes(_ fault: Fault, _ percent: Int? = nil) -> Bool {
        guard !isCalm, faults.contains(fault), random.chance(percent ?? rate) else { return false }
        count(fault)
        return true
    }

    /// Runs what belongs to this run, and says of a violation where it was found.
    func judge(_ body: () throws(Violation) -> Void) throws(Violation) {
        do throws(Violation) { try body() } catch {
            throw Violation("seed \(seed), turn \(turn): \(error)")
        }
    }
}
