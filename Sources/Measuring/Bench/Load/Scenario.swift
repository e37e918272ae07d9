/// One subcommand: what it measures, its options, and its cases.
package struct Scenario: Sendable {
    package let name: String
    let summary: String
    let options: [Options.Option]
    /// Its plots: each shows one figure of the trials.
    let plots: [(title: String, figure: String)]
    /// - Throws: `BenchError.usage`
    let cases: @Sendable (Options) throws(BenchError) -> [Case]

    package init(
        name: String, summary: String, options: [Options.Option],
        plots: [(title: String, figure: String)] = [
            ("deliveries per CPU second of the server", "deliveriesPerCPUSecond"),
            ("latency, p99", "latencyP99"),
        ],
        cases: @escaping @Sendable (Options) throws(BenchError) -> [Case]
    ) {
        self.name = name
        self.summary = summary
        self.options = options
        self.plots = plots
        self.cases = cases
    }

    /// A scenario with the cases of both, under the name of this one; an option that both have is
    /// shared.
    package func with(_ other: Scenario) -> Scenario {
        let more = other.options.filter { option in !options.contains { $0.name == option.name } }
        return Scenario(name: name, summary: summary, options: options + more, plots: plots) {
            options throws(BenchError) in
            try cases(options) + other.cases(options)
        }
    }

    /// One point of a scenario.
    package struct Case: Sendable {
        /// The subject of a trial.
        enum Subject: Sendable {
            /// A gateway of its own, with these settings in addition to the command line's.
            case gateway(
                settings: [String], @Sendable (GatewayProcess) throws(BenchError) -> Trial)
            /// The measurement starts its subject itself.
            case alone(name: String, @Sendable (Workbench) throws(BenchError) -> Trial)
            /// A server that is already running.
            case peer(name: String, @Sendable () throws(BenchError) -> Trial)
        }

        let name: String
        let parameters: [(name: String, value: Int)]
        let subject: Subject

        init(
            name: String, parameters: [(name: String, value: Int)], settings: [String] = [],
            run: @escaping @Sendable (GatewayProcess) throws(BenchError) -> Trial
        ) {
            self.name = name
            self.parameters = parameters
            subject = .gateway(settings: settings, run)
        }

        init(
            name: String, parameters: [(name: String, value: Int)], peer: String,
            run: @escaping @Sendable () throws(BenchError) -> Trial
        ) {
            self.name = name
            self.parameters = parameters
            subject = .peer(name: peer, run)
        }

        package init(
            name: String, parameters: [(name: String, value: Int)], alone: String,
            run: @escaping @Sendable (Workbench) throws(BenchError) -> Trial
        ) {
            self.name = name
            self.parameters = parameters
            subject = .alone(name: alone, run)
        }

        /// The measured server's name in the report.
        var server: String {
            switch subject {
            case .gateway(let settings, _): (["gapless"] + settings).joined(separator: " ")
            case .alone(let name, _), .peer(let name, _): name
            }
        }
    }
}
