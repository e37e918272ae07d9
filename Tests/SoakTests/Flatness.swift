/// Whether what a gateway takes stays what it is: the median of the last quarter of a run is not
/// above that of its second quarter, but for a tenth and a little.
///
/// Medians, since an outage, a burst or a checkpoint makes a peak that ends; the second quarter and
/// not the first, in which caches fill. A tenth is what medians of equal runs differ by; the little
/// is what one conversation more or some clients more take. A process that was just started takes
/// less than it will, so that its first half minute does not count; and since a gateway that starts
/// again and again could leak unseen, the far one is left alone from a third of the run on: what
/// grows by the change it shows there, what grows in the file both show, over all their lives.
///
/// The write-ahead log is another thing: it is as long as it once had to be while its checkpoint
/// waited, or failed for a full disk, and is cut off by a start only. It has its own bound.
struct Flatness {
    struct Measure: Sendable {
        let name: String
        let unit: String
        let value: @Sendable (Sample) -> Double
        /// What may come on top, in the unit.
        var allowance = 0.0
        /// What no sample may be above, where that is the whole rule.
        var bound: Double?

        static let all = [
            Measure(
                name: "memory", unit: "MiB", value: { Double($0.residentBytes) / 1_048_576 },
                allowance: 2),
            // As many clients as there are may meet at one of the two gateways.
            Measure(
                name: "descriptors", unit: "", value: { Double($0.descriptors) }, allowance: 12),
            Measure(
                name: "file", unit: "MiB", value: { Double($0.fileBytes) / 1_048_576 },
                allowance: 0.5),
            // At 32 MiB writes wait for the checkpoint; one of them may be under way.
            Measure(
                name: "log", unit: "MiB", value: { Double($0.walBytes) / 1_048_576 }, bound: 33),
        ]
    }

    /// One line of the judgement.
    struct Finding {
        let text: String
        let isFlat: Bool
    }

    /// Below this, in seconds, a quarter holds too little to be judged by.
    static let shortest = 300.0
    private static let youth = 30.0
    private static let factor = 1.1

    /// - Parameter length: of the run, in seconds.
    static func judge(_ samples: [Sample], length: Double) -> [Finding] {
        let gateways = Set(samples.map(\.gateway)).sorted()
        return gateways.flatMap { gateway in
            Measure.all.map { measure in
                let own = samples.filter { $0.gateway == gateway && $0.age >= youth }
                return judge(own, measure, gateway, length)
            }
        }
    }

    private static func judge(
        _ samples: [Sample], _ measure: Measure, _ gateway: String, _ length: Double
    ) -> Finding {
        func middle(_ quarter: Int) -> Double? {
            let low = length * Double(quarter) / 4
            let values = samples.filter { $0.second >= low && $0.second < low + length / 4 }
                .map(measure.value).sorted()
            return values.isEmpty ? nil : values[values.count / 2]
        }
        let name = "\(gateway) \(measure.name)"
        if let bound = measure.bound {
            let most = samples.map(measure.value).max() ?? .infinity
            let text = "\(name): at most \(digits(most)) of \(digits(bound)) \(measure.unit)"
            return Finding(text: text, isFlat: most <= bound)
        }
        guard let early = middle(1), let late = middle(3) else {
            return Finding(text: "\(name): not seen in a quarter of the run", isFlat: false)
        }
        let isFlat = late <= early * factor + measure.allowance
        let text = "\(name): \(digits(early)), at the end \(digits(late)) \(measure.unit)"
        return Finding(text: text + (isFlat ? "" : ", which is not flat"), isFlat: isFlat)
    }

    private static func digits(_ value: Double) -> String {
        "\((value * 10).rounded() / 10)"
    }
}
