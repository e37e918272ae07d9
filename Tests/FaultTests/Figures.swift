import TestSupport

/// What the runs of one kind came to: a row of the table.
struct Figures {
    var runs = 0
    var detection = Duration.zero
    var recovery = Duration.zero
    var deltas = 0
    var changes = 0
    var refusals = 0
    var violations = 0
    private var fetches: [String: Int] = [:]

    private static let kinds = ["range", "changes", "heads", "conversation", "participants"]

    mutating func noteFetches(_ gateway: GatewayProcess, since earlier: [String: Int]) throws {
        for (kind, count) in try gateway.fetches() {
            fetches[kind, default: 0] += count - (earlier[kind] ?? 0)
        }
    }

    /// Adds a run that is over.
    mutating func noteEnd(_ world: World, _ truths: [String: Truth], _ faults: [String]) throws {
        for gateway in world.gateways {
            deltas += try gateway.metrics()["gapless_deltas_accepted_total"] ?? 0
        }
        changes += truths.values.reduce(0) { $0 + ($1.log?.headRev ?? 0) }
        refusals += world.ledger.refusalCount
        violations += faults.count
        runs += 1
    }

    func report(_ name: String, _ more: String = "") {
        let fetches = Self.kinds.map { "\($0) \(self.fetches[$0] ?? 0)" }.joined(separator: " ")
        Faults.report(
            "\(name) | runs \(runs) | detected \(detection.text) s | recovered \(recovery.text) s"
                + " | fetches \(fetches) | changes \(changes) | deltas \(deltas)"
                + " | calls repeated \(refusals)\(more) | violations \(violations)")
    }
}
