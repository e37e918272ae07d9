import Bench
import Configuration

/// `bench`: drills at a running gateway, each with a verdict of its own.
extension Command {
    static let bench = Command(
        name: "bench", summary: "hold a drill at a running gateway, and judge it",
        operands: "SCENARIO",
        details: benchDetails,
        options: [
            Option(name: "url", value: "URL", help: "the gateway (http://127.0.0.1:8000)"),
            Option(name: "internal", value: "URL", help: "its health (http://127.0.0.1:9000)"),
            Option(name: "api-key-file", value: "FILE", help: "holds a key of the server API"),
            Option(name: "gateway", value: "COMMAND", help: "start it so, for the drill"),
            Option(
                name: "client", value: "COMMAND", help: "who is judged by the scenario client"),
            Option(
                name: "gateway-log", value: "FILE", help: "what it then says (gapless-bench.log)"),
            Option(name: "json", value: nil, help: "JSON, the table on standard error"),
        ] + scaleNames.map { Option(name: $0, value: "N", help: "") }
    ) { arguments, console throws(CommandError) in
        guard arguments.operands.count == 1, let name = arguments.operands.first else {
            let names = Drills.all.map(\.name).joined(separator: ", ")
            throw .usage("bench takes one scenario: \(names)")
        }
        guard let drill = Drills.all.first(where: { $0.name == name }) else {
            let hint = ClosestMatch.hint(for: name, in: Drills.all.map(\.name))
            throw .usage("no scenario \(quoted(name))\(hint)")
        }
        var values: [String: Int] = [:]
        for name in scaleNames where arguments[name] != nil {
            values[name] = try arguments.value(
                name, default: 0, accepted: "a whole number", read: { Int($0) })
        }
        let site = try site(arguments)
        do throws(BenchError) {
            let report = try drill.hold(at: site, values) { console.complain($0 + "\n") }
            if arguments["json"] == nil {
                console.write(report.text())
            } else {
                console.complain(report.text())
                console.write(String(decoding: report.json(), as: UTF8.self))
            }
            return report.isGood ? 0 : 1
        } catch {
            throw error.kind == .usage
                ? .usage(error.description) : .failure(error.description)
        }
    }

    private static let benchDetails: String = {
        let scenarios = table(Drills.all.map { ($0.name, $0.summary) })
        let scales = Drills.all.map { "\n\($0.name):\n" + table($0.scale.map(row)) }.joined()
        return """
            Clients of its own check every frame against what was sent; the exit code is the
            verdict: 0 if all criteria hold, 1 if one does not. The gateway must be in open mode.
            What the drill writes is in conversations of its own, which it deletes.

            The command of --gateway is split at white space. It must start a gateway that listens
            where --url and --internal say and takes the key; the drill ends it.

            The command of --client starts a client that somebody else wrote. It reads lines of
            JSON: {"open": {"url", "user", "conversation"}} first, then {"send": TEXT}, and
            {"online": true} where a device would say that the network is back. After each change
            it writes {"rows": […]}, all that it shows, oldest first: {"seq", "body"} for a
            message (body null: deleted), {"gap": [after, before]} for places that it lacks; what
            is not sent yet is left out. By itself it loads what is missing. Between it and the
            gateway the drill cuts, stalls and refuses.

            scenarios:
            \(scenarios)\(scales)
            """
    }()

    /// The names in the scales of all scenarios, without duplicates.
    private static let scaleNames: [String] = {
        var names: [String] = []
        for name in Drills.all.flatMap({ $0.scale.map(\.name) }) where !names.contains(name) {
            names.append(name)
        }
        return names
    }()

    private static func row(_ scale: Drill.Scale) -> (String, String) {
        ("--\(scale.name) N", "\(scale.help) (\(scale.value))")
    }

    private static func site(_ arguments: Arguments) throws(CommandError) -> Site {
        let words = { (name: String) in
            (arguments[name] ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
        }
        do {
            return Site(
                try endpoint(arguments, "url", "http://127.0.0.1:8000"),
                internal: try endpoint(arguments, "internal", "http://127.0.0.1:9000"),
                key: try apiKey(arguments), command: words("gateway"), client: words("client"),
                log: arguments["gateway-log"] ?? "gapless-bench.log")
        } catch let error as CommandError {
            throw error
        } catch let error as FileError {
            throw .failure(error.description)
        } catch {
            throw .failure("\(error)")
        }
    }

    private static func endpoint(
        _ arguments: Arguments, _ name: String, _ missing: String
    ) throws(CommandError) -> Endpoint {
        let text = arguments[name] ?? missing
        guard let endpoint = Endpoint(url: text) else {
            let accepted = "http://ADDRESS:PORT with an IPv4 address or localhost"
            throw .usage("--\(name): \(quoted(text)) is not accepted (\(accepted))")
        }
        return endpoint
    }
}
