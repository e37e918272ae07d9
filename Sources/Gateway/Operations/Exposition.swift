/// Writes the exposition format of Prometheus (0.0.4), metric by metric. It knows no metrics.
struct Exposition {
    typealias Labels = KeyValuePairs<String, String>

    private(set) var text = ""

    /// Begins a metric whose samples follow one by one.
    mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ name: String, _ value: some CustomStringConvertible, _ labels: Labels) {
        let list = labels.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ",")
        text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Int, _ labels: Labels = [:]) {
        head(name, "gauge", help)
        sample(name, value, labels)
    }

    mutating func gauge(_ name: String, _ help: String, seconds: Double) {
        head(name, "gauge", help)
        sample(name, seconds, [:])
    }

    mutating func counter(_ name: String, _ help: String, _ value: Int) {
        head(name, "counter", help)
        sample(name, value, [:])
    }

    mutating func counter(_ name: String, _ help: String, seconds: Double) {
        head(name, "counter", help)
        sample(name, seconds, [:])
    }

    /// A counter with a sample for each key, also at 0: a rate needs a first value.
    mutating func counter<Key: CaseIterable & Hashable & RawRepresentable<String>>(
        _ name: String, _ help: String, by label: String, _ values: [Key: Int]
    ) {
        head(name, "counter", help)
        for key in Key.allCases { sample(name, values[key] ?? 0, [label: key.rawValue]) }
    }

    mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
        head(name, "histogram", help)
        var below = 0
        for (bound, count) in zip(Histogram.bounds, histogram.counts) {
            below += count
            sample("\(name)_bucket", below, ["le": bound.label])
        }
        sample("\(name)_bucket", histogram.count, ["le": "+Inf"])
        sample("\(name)_sum", histogram.sum, [:])
        sample("\(name)_count", histogram.count, [:])
    }
}
