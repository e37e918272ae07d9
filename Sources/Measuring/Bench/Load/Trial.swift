/// The result of one run of a case: its figures, its faults, and notes for the reader of the
/// figures.
package struct Trial: Sendable {
    /// One number, named for the JSON report, with its unit.
    struct Figure: Sendable {
        let name: String
        let unit: String
        let value: Double
    }

    private(set) var figures: [Figure] = []
    /// A trial with any fault is bad, whatever its figures.
    package var faults: [String] = []
    package var notes: [String] = []

    package init() {}

    package mutating func add(_ name: String, _ value: Double, _ unit: String) {
        figures.append(Figure(name: name, unit: unit, value: value))
    }

    /// The usual figures of a distribution, in microseconds.
    package mutating func add(latencies: Histogram, _ name: String = "latency") {
        let thousand = 1000.0
        add("\(name)P50", Double(latencies.quantile(0.5)) / thousand, "µs")
        add("\(name)P99", Double(latencies.quantile(0.99)) / thousand, "µs")
        add("\(name)Max", Double(latencies.largest) / thousand, "µs")
    }

    /// The CPU that both processes used in a span of time; adds a note if the generator was the
    /// bottleneck.
    mutating func add(_ usage: Usage) {
        add("gatewayCPU", usage.gatewaySeconds / usage.wallSeconds, "cores")
        let own = usage.generatorSeconds / usage.wallSeconds
        add("generatorCPU", own, "cores")
        if own >= 0.95 { notes.append("the generator used its core to 95 % or more") }
    }
}

/// CPU seconds of the gateway and of the generator between two moments.
struct Usage: Sendable {
    let wallSeconds: Double
    let gatewaySeconds: Double
    let generatorSeconds: Double
}

/// Measures usage since its creation.
struct UsageMeter {
    private let figures: () throws(BenchError) -> ProcessFigures
    private let swarm: Swarm?
    private let start: Nanoseconds
    private let gatewayCPU: Double
    private let generatorCPU: Double

    /// - Throws: `BenchError.failure`
    init(_ gateway: GatewayProcess, _ swarm: Swarm? = nil) throws(BenchError) {
        try self.init(swarm) { () throws(BenchError) in try gateway.figures() }
    }

    /// - Parameters:
    ///   - swarm: the generator's swarm: its busy waiting does not count as work.
    ///   - figures: those of the measured server.
    /// - Throws: `BenchError.failure`
    init(
        _ swarm: Swarm?, _ figures: @escaping () throws(BenchError) -> ProcessFigures
    ) throws(BenchError) {
        self.figures = figures
        self.swarm = swarm
        gatewayCPU = try figures().cpuSeconds
        generatorCPU = Self.worked(swarm)
        start = Clock.now()
    }

    /// The usage since the creation.
    /// - Throws: `BenchError.failure`
    func read() throws(BenchError) -> Usage {
        let wall = Clock.now() - start
        return Usage(
            wallSeconds: Clock.seconds(wall),
            gatewaySeconds: try figures().cpuSeconds - gatewayCPU,
            generatorSeconds: Self.worked(swarm) - generatorCPU)
    }

    private static func worked(_ swarm: Swarm?) -> Double {
        Machine.ownCPUSeconds() - Clock.seconds(swarm?.idle ?? 0)
    }
}
