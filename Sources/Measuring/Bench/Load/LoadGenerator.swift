import Glibc

/// The command line of `gapless-bench`: finds the scenario, runs its cases in turn, and reports:
/// JSON on standard output, a table on standard error. Exits with 0; with 1 after a failure or a
/// bad trial, with 2 on wrong usage.
package enum LoadGenerator {
    private static let common: [Options.Option] = [
        .init(name: "gateway", value: "PROGRAM", help: "the program (the gapless beside this)"),
        .init(
            name: "set", value: "KEY=VALUE", help: "a configuration key of the gateway",
            repeats: true),
        .init(name: "cores", value: "A,B", help: "of gateway and generator, or none (0,1)"),
        .init(name: "directory", value: "PATH", help: "where the cache lies ($TMPDIR, or /tmp)"),
        .init(name: "plot", value: "FILE", help: "where to put a picture, as SVG (nowhere)"),
        .init(name: "repeat", value: "N", help: "trials of each case, interleaved (1)"),
    ]

    package static func main(_ arguments: [String], scenarios: [Scenario]) -> Int32 {
        let words = arguments.dropFirst()
        func scenario(_ name: String) -> Scenario? { scenarios.first { $0.name == name } }
        guard let name = words.first, name != "--help", !words.contains("--help") else {
            say(help(words.first.flatMap(scenario), scenarios))
            return words.isEmpty ? 2 : 0
        }
        do throws(BenchError) {
            guard let scenario = scenario(name) else { throw .usage("no scenario \(name)") }
            let options = try Options(words.dropFirst(), accepted: scenario.options + common)
            return try run(scenario, options)
        } catch {
            say("gapless-bench: \(error)\n")
            if error.kind == .usage { say("see gapless-bench --help\n") }
            return error.kind == .usage ? 2 : 1
        }
    }

    private static func run(
        _ scenario: Scenario, _ options: Options
    ) throws(BenchError) -> Int32 {
        let machine = try Machine(cores: options["cores"] ?? "0,1")
        let rounds = try options.int("repeat", default: 1, in: 1...1000)
        let settings = options.all("set")
        let cases = try scenario.cases(options)
        let programs = Workbench.ownPlace()
        let bench = Workbench(
            program: options["gateway"] ?? "\(programs)/gapless", settings: settings,
            programs: programs,
            directory: options["directory"] ?? environment("TMPDIR") ?? "/tmp", machine: machine)
        Interruption.prepare()
        Machine.raiseDescriptorLimit()

        var trials = [[Trial]](repeating: [], count: cases.count)
        for round in 1...rounds {
            for (index, one) in cases.enumerated() {
                say("\(scenario.name) \(one.name), \(one.server) (\(round) of \(rounds))\n")
                switch one.subject {
                case .gateway(let own, let run):
                    trials[index].append(try run(try bench.gateway(own)))
                case .alone(_, let run):
                    try machine.takeGeneratorCore()
                    trials[index].append(try run(bench))
                case .peer(_, let run):
                    try machine.takeGeneratorCore()
                    trials[index].append(try run())
                }
            }
        }
        let report = Report(scenario, cases, trials: trials, settings: settings, on: machine)
        say(report.text())
        write(report.json(), to: STDOUT_FILENO)
        if let path = options["plot"] { try Files.write(report.picture(), to: path) }
        return report.isGood ? 0 : 1
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func help(_ scenario: Scenario?, _ scenarios: [Scenario]) -> String {
        guard let scenario else {
            let rows = scenarios.map { ($0.name, $0.summary) }
            return "usage: gapless-bench SCENARIO [options]\n\nscenarios:\n" + table(rows)
                + "\ngapless-bench SCENARIO --help shows its options.\n"
        }
        let rows = (scenario.options + common).map { ("--\($0.name) \($0.value)", $0.help) }
        return "usage: gapless-bench \(scenario.name) [options]\n\n\(scenario.summary)\n\n"
            + "options:\n" + table(rows)
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, text in
            "  \(name)\(String(repeating: " ", count: width + 2 - name.count))\(text)\n"
        }.joined()
    }

    private static func say(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var left = bytes[...]
        while !left.isEmpty {
            let count = Glibc.write(descriptor, Array(left), left.count)
            guard count > 0 else { return }
            left = left.dropFirst(count)
        }
    }
}
