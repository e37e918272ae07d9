import Bench
import Cache
import Chat
import Ports
import SQLite
import Wire

/// `apply`: the cost of writing the cache of another origin, in the engine's turns, beside plain C
/// that runs the same statements with the same values on its own file.
extension Scenario {
    package static let apply = Scenario(
        name: "apply", summary: "writing the cache, beside plain C with the same statements",
        options: [
            .init(name: "batch", value: "N,…", help: "messages of a transaction (1,16,128)"),
            .init(name: "messages", value: "N", help: "of a round (20000)"),
            .init(name: "conversations", value: "N", help: "that take turns (10)"),
            .init(name: "body", value: "BYTES", help: "length of a message's text (40)"),
        ],
        plots: [
            ("a message by the gateway's own code", "ownPerMessage"),
            ("a message by plain C with the same statements", "plainPerMessage"),
        ]
    ) { options throws(BenchError) in
        let sizes = try options.ints("batch", default: [1, 16, 128], in: 1...10_000)
        let messages = try options.int("messages", default: 20_000, in: 100...1_000_000)
        let conversations = try options.int("conversations", default: 10, in: 1...1000)
        let body = try options.int("body", default: 40, in: 1...16_384)
        return sizes.map { size in
            let parameters = [
                ("batch", size), ("messages", messages), ("conversations", conversations),
                ("bodyBytes", body),
            ]
            return Case(
                name: "batch \(size)", parameters: parameters, alone: "cache, synchronous=NORMAL"
            ) { bench throws(BenchError) in
                let logs = (0..<conversations).map {
                    SampleLog(id: "bench-\($0)", body: String(repeating: "x", count: body))
                }
                let turns = ApplyTurns(logs, messages: messages, size: size)
                return try turns.trial(bench)
            }
        }
    }
}

/// The turns of one case, with their writes.
private struct ApplyTurns {
    let logs: [SampleLog]
    let turns: [[StoreWrite]]
    let messages: Int

    /// A turn of up to ten messages is of one conversation; a larger one is of several.
    init(_ logs: [SampleLog], messages: Int, size: Int) {
        self.logs = logs
        var heads = [Int](repeating: 0, count: logs.count)
        var turns: [[StoreWrite]] = []
        var next = 0
        for _ in 0..<max(1, messages / size) {
            var turn: [StoreWrite] = []
            var left = size
            while left > 0 {
                let count = min(left, Self.together)
                turn += logs[next].writes(heads[next] + 1...heads[next] + count)
                heads[next] += count
                next = (next + 1) % logs.count
                left -= count
            }
            turns.append(turn)
        }
        self.turns = turns
        self.messages = heads.reduce(0, +)
    }

    /// How many messages of one conversation are together in a turn.
    private static let together = 10

    func trial(_ bench: Workbench) throws(BenchError) -> Trial {
        let scratch = try bench.scratch()
        let own = "\(scratch.path)/own.db"
        let other = "\(scratch.path)/plain.db"
        let plain = try Plain(in: scratch) { () throws(BenchError) in
            _ = try apply(to: "\(scratch.path)/recorded.db")
        }
        var rounds = Rounds()
        // The order is random: the second finds the machine's caches as the first has left them.
        if Bool.random() {
            let spans = try apply(to: own)
            rounds.add(own: spans, plain: try replay(plain, on: other, bench), by: .mean)
        } else {
            let spans = try replay(plain, on: other, bench)
            rounds.add(own: try apply(to: own), plain: spans, by: .mean)
        }
        var trial = Trial()
        let perMessage = Double(turns.count) / Double(messages)
        trial.add("ownPerBatch", rounds.own.median, "µs")
        trial.add("plainPerBatch", rounds.plain.median, "µs")
        trial.add("ownPerMessage", rounds.own.median * perMessage, "µs")
        trial.add("plainPerMessage", rounds.plain.median * perMessage, "µs")
        trial.add("ratio", rounds.ratios.median, "×")
        if try contents(of: own) != contents(of: other) {
            trial.faults.append("the two files do not hold the same")
        }
        return trial
    }

    private func replay(
        _ plain: Plain, on file: String, _ bench: Workbench
    ) throws(BenchError) -> [Nanoseconds] {
        let spans = try plain.replay(
            on: file, checkpointsEvery: Plain.checkpointInterval, bench)
        guard spans.count == turns.count else {
            throw .failure("plain C: \(spans.count) turns of \(turns.count)")
        }
        return spans
    }

    /// - Returns: the duration of each turn.
    private func apply(to file: String) throws(BenchError) -> [Nanoseconds] {
        let store = try SampleCache.store(file)
        let replica = try SampleCache.replica(store, of: logs)
        var spans: [Nanoseconds] = []
        spans.reserveCapacity(turns.count)
        for turn in turns {
            let start = Clock.now()
            try Plain.span { () throws(BenchError) in
                try SampleCache.cache { () throws(CacheError) in
                    try replica.perform(turn, at: SampleLog.moment)
                }
            }
            spans.append(Clock.now() - start)
        }
        // So that none of its work overlaps with the next measurement.
        replica.stop()
        return spans
    }

    /// Checksums that differ if rows do.
    private func contents(of file: String) throws(BenchError) -> [Int?] {
        try SampleCache.cache { () throws(CacheError) in
            let connection = try Connection(path: file, access: .readOnly)
            var sums: [Int?] = []
            for sum in [
                "SELECT sum(cid * 31 + seq * 7 + rev * 3 + length(json)) FROM message",
                "SELECT sum(cid * 31 + low * 7 + high * 3 + as_of) FROM coverage",
                "SELECT sum(cid * 31 + seq * 7 + rev * 3 + held) FROM conversation",
                "SELECT messages FROM state",
            ] {
                sums.append(try connection.integer(sum))
            }
            return sums
        }
    }
}
