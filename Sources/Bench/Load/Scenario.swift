/// One subcommand: what it measures, its options, and the cases that they come to.
struct Scenario: Sendable {
    let name: String
    let summary: String
    let options: [Options.Option]
    /// - Throws: `BenchError.usage`
    let cases: @Sendable (Options) throws(BenchError) -> [Case]

    /// One point of a scenario.
    struct Case: Sendable {
        /// What a trial is made with.
        enum Subject: Sendable {
            /// A gateway of its own, with these settings beside those of the command line.
            case gateway(
                settings: [String], @Sendable (GatewayProcess) throws(BenchError) -> Trial)
            /// A server that runs already.
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

        /// Who is measured, as the report names it.
        var server: String {
            switch subject {
            case .gateway(let settings, _): (["gapless"] + settings).joined(separator: " ")
            case .peer(let name, _): name
            }
        }
    }

    static let all: [Scenario] = [fanout, idle, pages, resume]
}
