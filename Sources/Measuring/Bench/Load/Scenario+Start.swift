/// `start`: how long the gateway takes from `exec` until it is ready, alternating between an empty
/// file and one with many messages.
extension Scenario {
    package static let start = Scenario(
        name: "start", summary: "from exec to ready, with an empty and with a long file",
        options: [
            .init(name: "messages", value: "N", help: "in the long file (1000000)"),
            .init(name: "conversations", value: "N", help: "that hold them (1000)"),
            .init(name: "rounds", value: "N", help: "how often each is started (20)"),
            .init(name: "body", value: "BYTES", help: "length of a message's text (40)"),
        ]
    ) { options throws(BenchError) in
        let messages = try options.int("messages", default: 1_000_000, in: 1...100_000_000)
        let conversations = try options.int("conversations", default: 1000, in: 1...100_000)
        let rounds = try options.int("rounds", default: 20, in: 1...10_000)
        let body = try options.int("body", default: 40, in: 1...16_384)
        guard conversations <= messages else {
            throw .usage("--conversations: \(conversations) are more than --messages: \(messages)")
        }
        let parameters = [
            ("messages", messages), ("conversations", conversations), ("rounds", rounds),
            ("bodyBytes", body),
        ]
        return [
            Case(name: "M=\(messages)", parameters: parameters, alone: "gapless") {
                bench throws(BenchError) in
                let empty = try bench.scratch()
                let long = try bench.scratch()
                try bench.gateway(in: empty).stop()
                let gateway = try bench.gateway(in: long)
                try fill(gateway, messages, conversations, String(repeating: "x", count: body))
                try gateway.stop()
                return try trial(empty, long, rounds: rounds, bench)
            }
        ]
    }

    private static func fill(
        _ gateway: GatewayProcess, _ messages: Int, _ conversations: Int, _ body: String
    ) throws(BenchError) {
        let api = try gateway.api()
        for number in 0..<conversations {
            let count = messages * (number + 1) / conversations - messages * number / conversations
            try api.create("bench-\(number)", participants: ["user-\(number)", "reader"])
            try api.post(count, to: "bench-\(number)", body: body)
        }
    }

    private static func trial(
        _ empty: ScratchDirectory, _ long: ScratchDirectory, rounds: Int, _ bench: Workbench
    ) throws(BenchError) -> Trial {
        var spans: [[Double]] = [[], []]
        var trial = Trial()
        for _ in 0..<rounds {
            for (place, directory) in [empty, long].enumerated() {
                let gateway = try bench.gateway(in: directory)
                spans[place].append(Double(gateway.startSpan) / 1e6)
                trial.faults += try gateway.faults()
                try gateway.stop()
            }
        }
        for (name, values) in zip(["empty", "long"], spans) {
            trial.add("\(name)Start", values.median, "ms")
            trial.add("\(name)StartMax", values.max() ?? 0, "ms")
        }
        trial.add("startRatio", zip(spans[1], spans[0]).map { $0 / $1 }.median, "×")
        trial.add("longFile", Double(Files.size("\(long.path)/gapless.db")), "B")
        return trial
    }
}
