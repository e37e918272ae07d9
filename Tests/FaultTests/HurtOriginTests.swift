import TestSupport
import Testing

extension Faults {
    /// An embedded origin whose disk is full or fails: what it can't write it refuses, and says
    /// that it may be asked again; readiness is off; those who read and those who are connected go
    /// on; and it recovers by itself. Whatever it acknowledged is there, before a `kill -9` and
    /// after one.
    @Suite struct HurtOrigins {
        static let runs = Faults.isLong ? Faults.scale / 2 : 1
        static let writerCount = 4

        @Test(arguments: DiskFault.allCases)
        func whatIsAcknowledgedStaysAndTheRestIsRefused(_ fault: DiskFault) throws {
            var figures = Figures()
            for run in 0..<Self.runs {
                let seed = Faults.seed(UInt64(800 + run))
                let origin = try Origin(fault, seed)
                try origin.pass(times: Faults.isLong ? 3 : 1)
                try origin.killAndJudge()
                figures.add(origin)
            }
            Faults.report(
                "embedded origin, \(fault.rawValue) | runs \(Self.runs)"
                    + " | calls acknowledged \(figures.acknowledged), refused \(figures.refused)"
                    + " | recovered \(figures.recovery.text) s")
        }

        private struct Figures {
            var acknowledged = 0
            var refused = 0
            var recovery = Duration.zero

            mutating func add(_ origin: Origin) {
                acknowledged += origin.writers.reduce(0) { $0 + $1.counts.acknowledged }
                refused += origin.writers.reduce(0) { $0 + $1.counts.refused }
                recovery = max(recovery, origin.recovery)
            }
        }
    }
}

/// One gateway on a disk that can be hurt, its writers, and one who watches all along.
private final class Origin {
    private let disk: HurtDisk
    private let gateway: GatewayProcess
    private let api: ServerAPI
    private let watcher: Watcher
    private let typist: ChatTestClient
    private(set) var writers: [RememberingWriter]
    private(set) var recovery = Duration.zero
    private var running: [Background<RememberingWriter>] = []
    private var random: SplitMix64
    private let place: Comment

    init(_ fault: DiskFault, _ seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        place = "\(fault.rawValue), seed \(seed)"
        disk = try HurtDisk(fault)
        gateway = try GatewayProcess(
            settings: disk.settings.merging([
                "page.enabled": "false", "limits.requests_per_second": "0",
            ]) { $1 }, launcher: disk.launcher)
        api = gateway.api()
        let names = (0..<Faults.HurtOrigins.writerCount).map { "writer-\($0)" }
        let people = ["alice", "bob"] + names
        try api.put("ops", ["participants": .array(people.map(JSONValue.string))])
        watcher = try Watcher(gateway, "alice", ["ops"])
        try watcher.subscribe()
        typist = try gateway.client("bob")
        writers = names.enumerated().map { index, name in
            RememberingWriter(
                name, in: "ops", by: index % 2 == 0 ? .webSocket : .serverAPI, pause: 4000)
        }
    }

    deinit { for writer in running { writer.end() } }

    private func start() {
        running = writers.map { $0.start(port: gateway.port, seed: random.next()) }
    }

    private func stop() throws {
        for writer in running { writer.end() }
        writers = try running.map { try $0.join() }
    }

    /// Lets everybody live until something holds.
    private func live(until condition: () throws -> Bool) throws -> Bool {
        try Deadline.standard.poll {
            try watcher.client.pump()
            return try condition()
        }
    }

    /// Until each writer got so many more answers of a kind.
    private func each(_ count: Int, _ answers: (RememberingWriter.Counts) -> Int) throws -> Bool {
        let before = writers.map { answers($0.counts) }
        return try live {
            zip(writers, before).allSatisfy { answers($0.counts) >= $1 + count }
        }
    }

    /// The disk is hurt and healed so often, under writers.
    func pass(times: Int) throws {
        let process = gateway.processID
        start()
        #expect(try each(10) { $0.acknowledged }, "\(place)")
        for _ in 0..<times {
            try disk.hurt(gateway)
            #expect(try each(2) { $0.refused }, "\(place): nothing is refused")
            if disk.fault.isLasting { try expectRefusals() }
            try expectReading()
            // Who is not ready gets no traffic: nobody's write is to find out.
            try stop()
            try disk.heal(gateway)
            let healed = ContinuousClock.now
            #expect(try live { gateway.isReady }, "\(place): not ready again")
            recovery = max(recovery, ContinuousClock.now - healed)
            start()
            #expect(try each(10) { $0.acknowledged }, "\(place): writes go on")
        }
        try stop()
        #expect(gateway.isRunning && gateway.processID == process, "\(place)")
        #expect(writers.compactMap(\.lostGateway) == [], "\(place)")
        try judge()
        try judgeWatcher()
    }

    /// Everybody who writes is told that it may be asked again later, and the load balancer that
    /// this one can't serve.
    private func expectRefusals() throws {
        #expect(try live { try gateway.health("/health/ready").status == 503 }, "\(place)")
        let reasons = try gateway.health("/health/ready").json["reasons"]
        #expect(reasons.array?.count == 1, "\(place): \(reasons)")
        let reason = reasons.array?.first?.string ?? ""
        #expect(
            reason.hasPrefix("the cache can't be written: ") && reason.contains("SQLITE_"),
            "\(place): \(reason)")
        #expect(try gateway.health().json["cache"]["writable"] == false, "\(place)")
        #expect(try gateway.health("/health/live").status == 200, "\(place)")
        #expect(gateway.logs("event=cache_"), "\(place)")
        let refusal = try refusal()
        #expect(refusal?.status == 503 && refusal?.code == "origin_unavailable", "\(place)")
        #expect(refusal?.retry == "later", "\(place)")
        #expect(refusal?.message == "the origin can't write its log", "\(place)")
    }

    /// On a disk without room a small message finds some now and then: where the write-ahead log
    /// was brought over it begins again at its start.
    private func refusal() throws -> ServerAPI.Refused? {
        for _ in 0..<1000 {
            do {
                try api.post(["author": "bob", "body": "hello"], to: "ops")
            } catch let refused as ServerAPI.Refused {
                return refused
            }
        }
        return nil
    }

    /// Who reads is answered, who comes is let in, and those who are there hear of each other.
    private func expectReading() throws {
        let page = try api.page("ops", "limit=100")["messages"].array ?? []
        #expect(page.count >= 40, "\(place)")
        let oldest = try typist.request(
            "fetchMessages", ["conversation": "ops", "after": 0, "limit": 10])
        #expect(oldest["messages"].array?.count == 10, "\(place)")
        let newcomer = try gateway.client("alice")
        try newcomer.subscribe("ops", limit: 1000)
        try newcomer.heal("ops")
        #expect(newcomer.holder("ops").messages.count >= page.count, "\(place)")
        try typist.request("typing", ["conversation": "ops", "state": "begin"])
        _ = try watcher.client.nextEvent("typing") { $0["user"] == "bob" }
    }

    private func log() throws -> [JSONValue] {
        try gateway.client("alice").walkBack("ops") { 1000 }
    }

    private func judge() throws {
        let messages = try log()
        #expect(writers.flatMap { $0.faults(in: messages) } == [], "\(place)")
    }

    /// Who was connected all the time was told each change once, and nothing that is not in the
    /// log.
    private func judgeWatcher() throws {
        var truth = try api.learnChanges(of: "ops")
        for value in writers.flatMap(\.values) {
            try truth.learn(message: value, epoch: truth.epoch ?? "")
        }
        #expect(truth.log?.unknownChanges == [], "\(place)")
        let head = truth.log?.headRev ?? 0
        #expect(try live { watcher.isWhole(["ops": head]) }, "\(place)")
        #expect(watcher.judge(["ops": truth]) == [], "\(place)")
        #expect(try gateway.metrics()["gapless_accounting_error"] == 0, "\(place)")
    }

    /// Killed while it is hurt, and started where nothing hurts.
    func killAndJudge() throws {
        start()
        #expect(try each(5) { $0.acknowledged }, "\(place)")
        try disk.hurt(gateway)
        #expect(try each(2) { $0.refused }, "\(place)")
        gateway.kill()
        writers = try running.map { try $0.join() }
        if disk.fault == .full { try startWithoutRoom() }
        try disk.heal(gateway)
        let rows = try CacheFile(at: disk.file(of: gateway)).rows("PRAGMA integrity_check")
        #expect(rows.map { $0.text(0) } == ["ok"], "\(place)")
        gateway.launcher = disk.soundLauncher
        try gateway.start()
        try judge()
        start()
        #expect(try each(5) { $0.acknowledged }, "\(place)")
        try stop()
        try judge()
    }

    /// On a disk that is still full it serves those who read, and is killed again.
    private func startWithoutRoom() throws {
        try gateway.start(waits: false)
        #expect(
            Deadline.standard.poll { (try? gateway.health("/health/live").status) == 200 },
            "\(place)")
        try judge()
        gateway.kill()
    }
}
