import JSON

/// The values of one figure over the trials of a case.
struct Spread: Sendable {
    let name: String
    let unit: String
    let values: [Double]

    var median: Double { values.median }

    /// The figures of trials of one case.
    static func all(of trials: [Trial]) -> [Spread] {
        (trials.first?.figures ?? []).map { figure in
            Spread(name: figure.name, unit: figure.unit, values: trials.values(of: figure.name))
        }
    }
}

/// A gateway beside a peer under the same load: ratios of figures of the same round, so that the
/// machine's other load affects both.
struct Comparison: Sendable {
    let name: String
    let server: String
    let peer: String
    let ratios: [Spread]

    private static let figures = ["deliveriesPerCPUSecond", "latencyP50", "latencyP99"]

    init(
        _ own: Scenario.Case, _ trials: [Trial], _ other: Scenario.Case, _ others: [Trial]
    ) {
        name = own.name
        server = own.server
        peer = other.server
        ratios = Self.figures.map { figure in
            let pairs = zip(trials.values(of: figure), others.values(of: figure))
            return Spread(
                name: "\(figure)Ratio", unit: "×",
                values: pairs.filter { $0.1 > 0 }.map { $0.0 / $0.1 })
        }
    }
}

extension [Double] {
    /// The middle value, or the mean of the two middle ones; 0 if there are none.
    package var median: Double {
        let sorted = sorted()
        guard !isEmpty else { return 0 }
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}

extension [Trial] {
    func values(of figure: String) -> [Double] {
        flatMap { $0.figures.filter { $0.name == figure } }.map(\.value)
    }
}

extension JSONWriter {
    /// A spread as a member, under its name.
    mutating func member(_ spread: Spread) {
        key(spread.name)
        beginObject()
        member("unit", string: spread.unit)
        key("median")
        double(spread.median)
        key("values")
        beginArray()
        for value in spread.values { double(value) }
        endArray()
        endObject()
    }
}
