/// One subcommand: what it measures, its options, and the cases that they come to.
struct Scenario: Sendable {
    let name: String
    let summary: String
    let options: [Options.Option]
    /// - Throws: `BenchError.usage`
    let cases: @Sendable (Options) throws(BenchError) -> [Case]

    /// One point of a scenario. Each trial has a gateway of its own.
    struct Case: Sendable {
        let name: String
        let parameters: [(name: String, value: Int)]
        /// - Throws: `BenchError.failure`
        let run: @Sendable (GatewayProcess) throws(BenchError) -> Trial
    }

    static let all: [Scenario] = [fanout, idle, pages, resume]
}
