import JSON

/// All trials of a scenario, as JSON for programs and as text for people: the median of each
/// figure, and between what it lay.
struct Report {
    private let scenario: String
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
        self.cases = cases
        self.trials = trials
        self.settings = settings
        self.machine = machine
    }

    /// Whether no trial is bad.
    var isGood: Bool { trials.allSatisfy { $0.allSatisfy(\.faults.isEmpty) } }

    /// The values of one figure over the trials of a case.
    private struct Spread {
        let name: String
        let unit: String
        let values: [Double]

        var median: Double {
            let sorted = values.sorted()
            let middle = sorted.count / 2
            return sorted.count % 2 == 1
                ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        }
    }

    private func spreads(_ trials: [Trial]) -> [Spread] {
        (trials.first?.figures ?? []).map { figure in
            let values = trials.flatMap { $0.figures.filter { $0.name == figure.name } }
            return Spread(name: figure.name, unit: figure.unit, values: values.map(\.value))
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
        // What it runs on unless a setting below says otherwise.
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
        json.endObject()
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private func write(_ one: Scenario.Case, _ trials: [Trial], to json: inout JSONWriter) {
        json.beginObject()
        json.member("name", string: one.name)
        json.key("parameters")
        json.beginObject()
        for (name, value) in one.parameters { json.member(name, int: value) }
        json.endObject()
        json.member("trials", int: trials.count)
        json.key("figures")
        json.beginObject()
        for spread in spreads(trials) {
            json.key(spread.name)
            json.beginObject()
            json.member("unit", string: spread.unit)
            json.key("median")
            json.double(spread.median)
            json.key("values")
            json.beginArray()
            for value in spread.values { json.double(value) }
            json.endArray()
            json.endObject()
        }
        json.endObject()
        json.key("faults")
        json.strings(Self.distinct(trials.flatMap(\.faults)))
        json.key("notes")
        json.strings(Self.distinct(trials.flatMap(\.notes)))
        json.endObject()
    }

    // MARK: For people

    func text() -> String {
        zip(cases, trials).map { one, trials in
            let bad = trials.count { !$0.faults.isEmpty }
            var lines = ["", "\(scenario) \(one.name): \(trials.count) trials, \(bad) bad"]
            for spread in spreads(trials) {
                let low = spread.values.min() ?? 0
                let high = spread.values.max() ?? 0
                let range = trials.count > 1 ? "  \(Self.words(low)) … \(Self.words(high))" : ""
                lines.append(
                    "  " + Self.padded(spread.name, to: 26, right: false)
                        + Self.padded(Self.words(spread.median), to: 14, right: true)
                        + " " + Self.padded(spread.unit, to: 5, right: false) + range)
            }
            lines += Self.distinct(trials.flatMap(\.notes)).map { "  note: \($0)" }
            lines += Self.distinct(trials.flatMap(\.faults)).map { "  FAULT: \($0)" }
            return lines.joined(separator: "\n") + "\n"
        }.joined()
    }

    /// Three digits behind the point for small numbers, and commas in large ones.
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
