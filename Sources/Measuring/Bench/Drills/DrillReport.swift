import JSON

/// The result of a drill: figures, the criteria with what was seen, and the verdict. It is good if
/// all criteria hold; if the driver was too busy to measure, the result is invalid, and so not
/// good.
package struct DrillReport: Sendable {
    /// One condition that must hold.
    struct Criterion: Sendable {
        let name: String
        let seen: String
        let bar: String
        let holds: Bool
    }

    private struct Figure: Sendable {
        let name: String
        let value: Double
        let unit: String
    }

    /// Above this load the driver itself may be the bottleneck.
    private static let busiest = 0.8

    private let drill: String
    private let scale: [(name: String, value: Int)]
    private var figures: [Figure] = []
    private var criteria: [Criterion] = []
    private var invalid: String?

    init(_ drill: String, scale: [(name: String, value: Int)]) {
        self.drill = drill
        self.scale = scale
    }

    /// Whether the exit code may be 0.
    package var isGood: Bool { invalid == nil && criteria.allSatisfy(\.holds) }

    mutating func add(_ name: String, _ value: Double, _ unit: String = "") {
        figures.append(Figure(name: name, value: value, unit: unit))
    }

    mutating func add(_ name: String, _ count: Int) { add(name, Double(count)) }

    mutating func add(_ name: String, _ latencies: Histogram) {
        guard latencies.count > 0 else { return }
        for (suffix, part) in [("P50", 0.5), ("P95", 0.95), ("P99", 0.99)] {
            add(name + suffix, Self.milliseconds(latencies.quantile(part)), "ms")
        }
        add(name + "Max", Self.milliseconds(latencies.largest), "ms")
    }

    static func milliseconds(_ span: Nanoseconds) -> Double { Double(span) / 1e6 }

    // MARK: - Criteria

    mutating func require(_ name: String, _ holds: Bool, seen: String, bar: String) {
        criteria.append(Criterion(name: name, seen: seen, bar: bar, holds: holds))
    }

    mutating func require(_ name: String, none count: Int) {
        require(name, count == 0, seen: "\(count)", bar: "0")
    }

    mutating func require(_ name: String, _ value: Double, below bar: Double, _ unit: String) {
        require(
            name, value < bar, seen: "\(Self.words(value)) \(unit)",
            bar: "below \(Self.words(bar)) \(unit)")
    }

    /// Adds the criteria of every drill: nothing was lost, nothing was wrong, the gateway is well,
    /// and the driver was not the bottleneck.
    mutating func close(
        _ ledger: Ledger, _ account: Account, busy: Double, _ site: Site
    ) throws(BenchError) {
        add("expected", account.expected)
        add("delivered", account.held)
        add("deliveredLive", ledger.live)
        add("deliveredByReplay", ledger.replayed)
        add("deliveredByHealing", ledger.healed)
        add("declared", ledger.declared)
        add("unaccounted", account.unaccounted)
        add("resumes", ledger.resumes)
        add("lostConnections", ledger.ends)
        add("driverBusy", busy * 100, "%")
        add("gatewayMemory", Double(try site.operations.residentBytes()) / 1_048_576, "MiB")
        require("messages neither held nor declared", none: account.unaccounted)
        require("clients that do not hold all in the end", none: account.behind)
        for (fault, count) in ledger.faults.sorted(by: { $0.key < $1.key }) {
            require(fault, none: count)
        }
        if ledger.faults.isEmpty { require("have true after every frame", none: 0) }
        let own = try site.operations.faults()
        require(
            "the gateway by its own account", own.isEmpty,
            seen: own.isEmpty ? "well" : own.joined(separator: ", "), bar: "well")
        if busy > Self.busiest {
            invalid = "the driver was \(Int((busy * 100).rounded())) % busy (at most 80 %)"
        }
    }

    /// What all clients together hold at the end.
    struct Account: Sendable {
        var expected = 0
        var held = 0
        var declared = 0
        var unaccounted = 0
        /// The number of clients that do not hold everything.
        var behind = 0
    }

    // MARK: - For programs

    package func json() -> [UInt8] {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("scenario", string: drill)
        json.member("good", bool: isGood)
        if let invalid { json.member("invalid", string: invalid) }
        json.key("scale")
        json.beginObject()
        for (name, value) in scale { json.member(name, int: value) }
        json.endObject()
        json.key("criteria")
        json.beginArray()
        for one in criteria {
            json.beginObject()
            json.member("name", string: one.name)
            json.member("holds", bool: one.holds)
            json.member("seen", string: one.seen)
            json.member("bar", string: one.bar)
            json.endObject()
        }
        json.endArray()
        json.key("figures")
        json.beginObject()
        for figure in figures {
            json.key(figure.name)
            json.beginObject()
            json.key("value")
            json.double(figure.value)
            if !figure.unit.isEmpty { json.member("unit", string: figure.unit) }
            json.endObject()
        }
        json.endObject()
        json.endObject()
        return json.bytes + [UInt8(ascii: "\n")]
    }

    // MARK: - For people

    package func text() -> String {
        let words = scale.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
        var lines = ["\(drill) (\(words))"]
        for figure in figures {
            lines.append(
                "  " + Self.padded(figure.name, to: 24)
                    + Self.padded(Self.words(figure.value), to: 14, right: true)
                    + (figure.unit.isEmpty ? "" : " \(figure.unit)"))
        }
        let width = criteria.map(\.name.count).max() ?? 0
        for one in criteria {
            lines.append(
                "  " + (one.holds ? "holds  " : "FAILS  ") + Self.padded(one.name, to: width)
                    + "  \(one.seen) (\(one.bar))")
        }
        if let invalid { lines.append("  INVALID: \(invalid)") }
        return (lines + [isGood ? "good" : "not good"]).joined(separator: "\n") + "\n"
    }

    /// Three decimals for small numbers that have any.
    static func words(_ value: Double) -> String {
        guard value != value.rounded(), value.magnitude < 1000 else {
            return String(Int(value.rounded()))
        }
        let thousandths = Int((value.magnitude * 1000).rounded())
        let rest = String(1000 + thousandths % 1000).dropFirst()
        return "\(value < 0 ? "-" : "")\(thousandths / 1000).\(rest)"
    }

    private static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }
}
