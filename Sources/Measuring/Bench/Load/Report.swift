import JSON

/// All trials of a scenario, as JSON for programs and as text for people: the median of each
/// figure, and its range.
struct Report {
    private let scenario: String
    private let plots: [(title: String, figure: String)]
    private let settings: [String]
    private let machine: Machine
    private let cases: [Scenario.Case]
    private let trials: [[Trial]]

    /// - Parameter trials: by case, in the order of `cases`.
    init(
        _ scenario: Scenario, _ cases: [Scenario.Case], trials: [[Trial]], settings: [String],
        on machine: Machine
    ) {
        self.scenario = scenario.name
        plots = scenario.plots
        self.cases = cases
        self.trials = trials
        self.settings = settings
        self.machine = machine
    }

    /// Whether no trial is bad.
    var isGood: Bool { trials.allSatisfy { $0.allSatisfy(\.faults.isEmpty) } }

    /// Each gateway compared with each peer under the same load.
    private var comparisons: [Comparison] {
        let all = zip(cases, trials).map { (one: $0, trials: $1) }
        return all.flatMap { own in
            all.compactMap { peer in
                guard case .gateway = own.one.subject, case .peer = peer.one.subject,
                    own.one.name == peer.one.name
                else { return nil }
                return Comparison(own.one, own.trials, peer.one, peer.trials)
            }
        }
    }

    private static func distinct(_ texts: [String]) -> [String] {
        texts.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    // MARK: For programs

    func json() -> [UInt8] {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("scenario", string: scenario)
        json.member("good", bool: isGood)
        json.key("gateway")
        json.beginObject()
        // The defaults, which a setting below may override.
        json.member("upstream", string: "embedded")
        json.member("synchronous", string: "FULL")
        json.member("tls", bool: false)
        json.key("settings")
        json.strings(settings)
        json.endObject()
        json.key("cores")
        json.beginArray()
        for core in [machine.gatewayCore, machine.generatorCore] {
            if let core { json.int(core) } else { json.null() }
        }
        json.endArray()
        json.key("cases")
        json.beginArray()
        for (one, trials) in zip(cases, trials) { write(one, trials, to: &json) }
        json.endArray()
        if !comparisons.isEmpty {
            json.key("comparisons")
            json.beginArray()
            for one in comparisons {
                json.beginObject()
                json.member("name", string: one.name)
                json.member("server", string: one.server)
                json.member("peer", string: one.peer)
                for ratio in one.ratios { json.member(ratio) }
                json.endObject()
            }
            json.endArray()
        }
        json.endObject()
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private func write(_ one: Scenario.Case, _ trials: [Trial], to json: inout JSONWriter) {
        json.beginObject()
        json.member("name", string: one.name)
        json.member("server", string: one.server)
        json.key("parameters")
        json.beginObject()
        for (name, value) in one.parameters { json.member(name, int: value) }
        json.endObject()
        json.member("trials", int: trials.count)
        json.key("figures")
        json.beginObject()
        for spread in Spread.all(of: trials) { json.member(spread) }
        json.endObject()
        json.key("faults")
        json.strings(Self.distinct(trials.flatMap(\.faults)))
        json.key("notes")
        json.strings(Self.distinct(trials.flatMap(\.notes)))
        json.endObject()
    }

    // MARK: For people

    /// The cost and latency of the servers as a picture; empty if there is nothing to compare.
    func picture() -> String {
        Plot.page(plots.map { Plot("\(scenario): \($0.title)", figure: $0.figure, cases, trials) })
    }

    func text() -> String {
        trialText() + comparisonText()
    }

    private func comparisonText() -> String {
        guard !comparisons.isEmpty else { return "" }
        let lines = comparisons.flatMap { one in
            ["", "\(scenario) \(one.name): \(one.server) to \(one.peer)"]
                + one.ratios.map(Self.line)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ spread: Spread) -> String {
        let low = spread.values.min() ?? 0
        let high = spread.values.max() ?? 0
        let range = spread.values.count > 1 ? "  \(words(low)) … \(words(high))" : ""
        return "  " + padded(spread.name, to: 26, right: false)
            + padded(words(spread.median), to: 14, right: true)
            + " " + padded(spread.unit, to: 5, right: false) + range
    }

    private func trialText() -> String {
        zip(cases, trials).map { one, trials in
            let bad = trials.count { !$0.faults.isEmpty }
            let title = "\(scenario) \(one.name), \(one.server)"
            var lines = ["", "\(title): \(trials.count) trials, \(bad) bad"]
            lines += Spread.all(of: trials).map(Self.line)
            lines += Self.distinct(trials.flatMap(\.notes)).map { "  note: \($0)" }
            lines += Self.distinct(trials.flatMap(\.faults)).map { "  FAULT: \($0)" }
            return lines.joined(separator: "\n") + "\n"
        }.joined()
    }

    /// Three decimals for small numbers, and thousands separators in large ones.
    private static func words(_ value: Double) -> String {
        guard value.magnitude >= 100 else {
            let thousandths = Int((value.magnitude * 1000).rounded())
            let sign = value < 0 ? "-" : ""
            let rest = String(1000 + thousandths % 1000).dropFirst()
            return "\(sign)\(thousandths / 1000).\(rest)"
        }
        var groups: [String] = []
        var left = Int(value.magnitude.rounded())
        while left >= 1000 {
            groups.insert(String(String(1000 + left % 1000).dropFirst()), at: 0)
            left /= 1000
        }
        return (value < 0 ? "-" : "") + ([String(left)] + groups).joined(separator: ",")
    }

    private static func padded(_ text: String, to width: Int, right: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }
}

extension JSONWriter {
    fileprivate mutating func strings(_ texts: [String]) {
        beginArray()
        for text in texts { string(text) }
        endArray()
    }
}
