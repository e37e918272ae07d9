import Glibc
import JSON

/// `client`: judges a third-party client by what it echoes, while the link between it and the
/// gateway is cut, stalled and refused.
extension Drill {
    static let client = Drill(
        name: "client", summary: "a client that somebody else wrote, judged by what it shows",
        scale: [
            Scale(name: "rounds", value: 20, range: 1...10_000, help: "faults, one by one"),
            Scale(name: "held", value: 300, range: 1...100_000, help: "messages from the start"),
            Scale(name: "missed", value: 400, range: 1...1000, help: "changes of a round, at most"),
            Scale(name: "patience", value: 60, range: 1...3600, help: "to be whole again, in s"),
            Scale(name: "seed", value: 1, range: 0...Int(Int32.max), help: "decides the rest"),
        ],
        judges: true
    ) { site, plan, report throws(BenchError) in
        let trial = try ClientTrial(site, plan)
        try trial.run()
        trial.report(&report)
        try trial.leave()
    }
}

/// One client under test, and what was done to it.
private final class ClientTrial {
    private let site: Site
    private let plan: Drill.Plan
    private let proxy: FaultProxy
    private let client: Examinee
    private let conversation = "client-\(UInt32.random(in: 0...UInt32.max))"
    private var ledger = EchoLedger()
    private var random: UInt64
    private var written = 0
    private var ids: [Int: String] = [:]
    private var sent: [String] = []
    private var log: [(seq: Int, body: String?)] = []
    private var outcome = Outcome()

    private struct Outcome {
        /// The round that it is in.
        var rounds = 0
        /// The last round after which it showed the log.
        var whole = 0
        /// How long it took at most to show the log.
        var slowest: Nanoseconds = 0
        /// Why it did not go on.
        var end: String?
    }

    init(_ site: Site, _ plan: Drill.Plan) throws(BenchError) {
        self.site = site
        self.plan = plan
        random = UInt64(plan["seed"]) &* 0x9E37_79B9_7F4A_7C15 &+ 1
        proxy = try FaultProxy(site.endpoint)
        client = try Examinee(site.client, log: site.log)
    }

    /// A random number from 0 up to, not including, `bound`.
    private func draw(_ bound: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % bound
    }

    // MARK: What happens

    func run() throws(BenchError) {
        try site.api().create(conversation, participants: ["reader", "judge"])
        try write(plan["held"])
        let (url, name) = ("ws://127.0.0.1:\(proxy.port)/v1/ws", conversation)
        try client.tell { json in
            json.key("open")
            json.beginObject()
            json.member("url", string: url)
            json.member("user", string: "reader")
            json.member("conversation", string: name)
            json.endObject()
        }
        do throws(BenchError) {
            guard try becomesWhole() else { return }
            plan.say("the client shows all \(plan["held"]) messages")
            for round in 1...plan["rounds"] {
                outcome.rounds = round
                let fault = try trouble()
                guard try becomesWhole() else { return }
                outcome.whole = round
                plan.say("round \(round), \(fault): whole with \(log.count) messages")
            }
        } catch {
            // A client that ends or sends invalid output fails the drill; that is not an error of
            // the drill.
            guard let fault = client.fault else { throw error }
            outcome.end = fault
        }
    }

    /// One fault, with changes before, during and after it.
    private func trouble() throws(BenchError) -> String {
        try change(draw(20))
        let fault = draw(5)
        let name = ["cut", "cut in a frame", "silence", "no way in", "nothing"][fault]
        switch fault {
        case 0: proxy.cut()
        case 1: proxy.weather = .cutting(1 + draw(4000))
        case 2: proxy.weather = .stalled
        case 3:
            proxy.weather = .refusing
            proxy.cut()
        default: break
        }
        try change(1 + draw(draw(3) == 0 ? plan["missed"] : 30))
        for _ in 0..<draw(3) {
            sent.append("sent \(sent.count + 1) of \(conversation)")
            let text = sent[sent.count - 1]
            ledger.willSend(text)
            try client.tell { $0.member("send", string: text) }
        }
        try pass(for: (50 + draw(1000)) * Clock.millisecond)
        if proxy.weather != .clear { proxy.cut() }
        proxy.weather = .clear
        try client.tell { $0.member("online", bool: true) }
        return name
    }

    private func change(_ count: Int) throws(BenchError) {
        var left = count
        while left > 0 {
            let kind = draw(10)
            if kind < 6 || ids.isEmpty {
                let batch = min(left, 1 + draw(100))
                try write(batch)
                left -= batch
            } else {
                try rewrite(deletes: kind == 9)
                left -= 1
            }
            try pass(for: 0)
        }
    }

    private func write(_ count: Int) throws(BenchError) {
        var left = count
        while left > 0 {
            let batch = min(left, 500)
            var json = JSONWriter(capacity: batch * 64)
            json.beginArray()
            for _ in 0..<batch {
                written += 1
                json.beginObject()
                json.member("author", string: "judge")
                json.member("body", string: "message \(written)")
                json.endObject()
            }
            json.endArray()
            let path = "/v1/conversations/\(conversation)/messages"
            let answer = try? JSONObject(try site.api().call("POST", path, json.bytes))
            for message in answer?["messages"]?.array ?? [] { note(message) }
            left -= batch
        }
    }

    private func rewrite(deletes: Bool) throws(BenchError) {
        let places = ids.keys.sorted()
        let seq = places[places.count - 1 - draw(min(places.count, 400))]
        let path = "/v1/conversations/\(conversation)/messages/\(ids[seq] ?? "")"
        if deletes {
            ids[seq] = nil
            try site.api().call("DELETE", path)
            return ledger.said(nil, at: seq)
        }
        written += 1
        let body = "edit \(written)"
        try site.api().call("PATCH", path, Array("{\"body\":\"\(body)\"}".utf8))
        ledger.said(body, at: seq)
    }

    private func note(_ message: RawJSON) {
        guard let fields = message.object, let seq = fields["seq"]?.int else { return }
        ids[seq] = fields["id"]?.string
        ledger.said(fields["body"]?.string, at: seq)
    }

    // MARK: What is seen

    /// Forwards bytes and reads echoes for a span of time, at least once.
    private func pass(for span: Nanoseconds) throws(BenchError) {
        let end = Clock.now() + span
        repeat {
            try Interruption.check()
            var all = proxy.interests + [client.interest]
            poll(&all, nfds_t(all.count), span == 0 ? 0 : 10)
            proxy.serve()
            for rows in try client.echoes() { ledger.take(rows) }
        } while Clock.now() < end
    }

    /// Waits until it shows the log, including everything that it was asked to send.
    private func becomesWhole() throws(BenchError) -> Bool {
        let start = Clock.now()
        let end = start + plan["patience"] * Clock.second
        var isWhole = false
        while !isWhole, Clock.now() < end {
            try pass(for: 50 * Clock.millisecond)
            guard ledger.rows.count >= log.count else { continue }
            try readLog()
            isWhole = hasSent && ledger.rows == log.map { .message(seq: $0.seq, body: $0.body) }
        }
        outcome.slowest = max(outcome.slowest, Clock.now() - start)
        return isWhole
    }

    private var hasSent: Bool { Set(sent).isSubset(of: log.compactMap(\.body)) }

    private func readLog() throws(BenchError) {
        var all: [(seq: Int, body: String?)] = []
        var isMore = true
        while isMore {
            let path = "/v1/conversations/\(conversation)/messages?limit=1000&order=asc&after="
            let answer = try? JSONObject(
                try site.api().call("GET", path + String(all.last?.seq ?? 0)))
            for message in answer?["messages"]?.array ?? [] {
                guard let seq = message.object?["seq"]?.int else { continue }
                all.append((seq, message.object?["body"]?.string))
            }
            isMore = answer?["hasMore"]?.object?["after"]?.bool == true
        }
        log = all
    }

    // MARK: The verdict

    func report(_ report: inout DrillReport) {
        report.add("echoes", ledger.echoes)
        report.add("changes", written)
        report.add("sent", sent.count)
        report.add("cuts", proxy.cuts)
        report.add("slowestToBeWhole", Clock.seconds(outcome.slowest), "s")
        for promise in EchoLedger.Promise.allCases {
            let count = ledger.faults[promise] ?? 0
            let place = ledger.first[promise].map { ", first in \($0)" } ?? ""
            report.require(promise.rawValue, count == 0, seen: "\(count)\(place)", bar: "0")
        }
        let bodies = log.compactMap(\.body).filter(Set(sent).contains)
        report.require(
            "what it sent is in the log once, in its order", bodies == sent,
            seen: "\(bodies.count)", bar: "\(sent.count)")
        report.require(
            "rounds after which it shows the log", outcome.whole == plan["rounds"],
            seen: outcome.rounds == 0 ? "it never did" : "\(outcome.whole)",
            bar: "\(plan["rounds"])")
        let end = outcome.end
        report.require("it goes on", end == nil, seen: end ?? "yes", bar: "yes")
    }

    func leave() throws(BenchError) { try site.api().delete(conversation) }
}
