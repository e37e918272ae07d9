import TestSupport
import Testing

extension Faults {
    /// The cache of a gateway on Redis, whose disk is full or fails: live delivery goes on and
    /// nobody is told anything false, readiness is off, and once the disk takes writes again the
    /// cache is whole without a restart. What its file claims it holds, also after a `kill -9`.
    @Suite struct HurtCaches {
        static let runs = Faults.isLong ? Faults.scale / 2 : 1
        static let conversations = ["c0", "c1"]
        static let watcherCount = 6

        @Test(arguments: DiskFault.allCases)
        func liveDeliveryGoesOnAndTheCacheComesBack(_ fault: DiskFault) throws {
            var recovery = Duration.zero
            var changes = 0
            for run in 0..<Self.runs {
                let cache = try Cache(fault, Faults.seed(UInt64(900 + run)))
                do {
                    recovery = max(recovery, try cache.pass())
                    changes += try cache.killAndJudge()
                } catch {
                    Issue.record("\(fault.rawValue): \(error); \(cache.log)")
                }
            }
            Faults.report(
                "cache of Redis, \(fault.rawValue) | runs \(Self.runs) | changes \(changes)"
                    + " | recovered \(recovery.text) s")
        }
    }
}

/// Two gateways on one Redis, of which the near one's disk can be hurt.
private final class Cache {
    private let disk: HurtDisk
    private let redis: RedisProcess
    private let near: GatewayProcess
    private let far: GatewayProcess
    private let api: ServerAPI
    private let swarm = ClientSwarm()
    private let ledger = Ledger()
    private var watchers: [Watcher] = []
    private var writers: [Background<[String: Truth]>] = []
    private var told: [[String: Truth]] = []
    private var random: SplitMix64
    private let place: Comment
    private let ids = Faults.HurtCaches.conversations

    init(_ fault: DiskFault, _ seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        place = "\(fault.rawValue), seed \(seed)"
        disk = try HurtDisk(fault)
        redis = try RedisProcess()
        let settings = Faults.settings.merging(["upstream.redis.url": redis.url]) { $1 }
        near = try GatewayProcess(
            settings: settings.merging(disk.settings) { $1 }, launcher: disk.launcher)
        far = try GatewayProcess(settings: settings)
        api = far.api()
        let users = (0..<Faults.HurtCaches.watcherCount).map { "watcher-\($0)" }
        for id in ids { try api.put(id, ["participants": .array(users.map(JSONValue.string))]) }
        for user in users { try admit(user, [:]) }
    }

    deinit { for writer in writers { writer.end() } }

    private func admit(_ user: String, _ held: [String: Holder]) throws {
        let watcher = try Watcher(near, user, ids, before: held)
        swarm.add(watcher.client)
        watchers.append(watcher)
        try watcher.subscribe()
    }

    /// The last that the gateway whose disk is hurt had to say.
    var log: Substring { near.log.suffix(2000) }

    /// One who writes by way of the gateway whose disk is hurt, and one by way of the other.
    private func startWriters(_ name: String) throws {
        let lines = try ChatLog.days()[0].lines.filter { !$0.text.isEmpty }
        writers = [near, far].enumerated().map { index, gateway in
            var habit = LineWriter.Habit()
            habit.admits = index == 0
            return LineWriter.start(
                "\(name)-\(index)", port: gateway.port, lines: lines, conversations: ids,
                ledger: ledger, seed: random.next(), habit: habit)
        }
    }

    private func stopWriters() throws {
        for writer in writers { writer.end() }
        let deadline = Deadline.standard
        while !writers.allSatisfy(\.isDone), !deadline.isOver { try swarm.turn(milliseconds: 20) }
        told += try writers.map { try $0.join() }
        writers = []
    }

    /// Lets everybody live until something holds; nobody may take a hole for silence meanwhile.
    private func live(until condition: () throws -> Bool) throws -> Bool {
        try swarm.live(Deadline.standard, watchers, ledger, until: condition)
    }

    /// Until so much more was said, and everybody has been told of it.
    private func hearMore(_ count: Int) throws -> Bool {
        let before = ids.map { ledger.newest($0) }
        let isSaid = try live {
            zip(ids, before).allSatisfy { ledger.newest($0) >= $1 + count }
        }
        let heads = Dictionary(uniqueKeysWithValues: ids.map { ($0, ledger.newest($0)) })
        return try isSaid && live { watchers.allSatisfy { $0.isWhole(heads) } }
    }

    private func isWhole() throws -> Bool {
        try near.isReady && near.api().call("GET", "/v1/gaps")["gaps"].array?.isEmpty == true
    }

    /// - Returns: How long it took to be ready and to lack nothing.
    func pass() throws -> Duration {
        let process = near.processID
        try startWriters("writer")
        #expect(try hearMore(10), "\(place)")
        try disk.hurt(near)
        if disk.fault.isLasting {
            // A cache is synced only when the log of its writes is brought over, every so often.
            #expect(try live { !near.isReady }, "\(place): still ready")
            #expect(try near.health().json["cache"]["writable"] == false, "\(place)")
            // What is committed and can't be synced is not missing.
            if disk.fault != .syncErrors { try expectGapsToAge() }
        }
        #expect(try hearMore(20), "\(place): live delivery")
        #expect(far.isReady, "\(place)")
        if disk.fault.isLasting {
            // Nor does it seem to be over meanwhile.
            #expect(!near.log.contains("event=cache_writable"), "\(place)")
        }
        try disk.heal(near)
        let healed = ContinuousClock.now
        #expect(try live(until: isWhole), "\(place): not back")
        let recovery = ContinuousClock.now - healed
        #expect(try hearMore(10), "\(place)")
        #expect(near.isRunning && near.processID == process, "\(place)")
        try stopWriters()
        #expect(try hearMore(0), "\(place)")
        // What the near one answers from its cache is what the log has.
        for id in ids {
            let answered = try near.client("watcher-0").walkBack(id) { 100 }
            let isSame = try answered == far.client("watcher-0").walkBack(id) { 1000 }
            #expect(isSame, "\(place): pages of \(id)")
        }
        return recovery
    }

    /// What the cache lacks is as old as its lack, however often it is tried to be stored.
    private func expectGapsToAge() throws {
        func since() throws -> String? {
            try near.api().call("GET", "/v1/gaps")["gaps"].array?.first?["since"].string
        }
        #expect(try live { try since() != nil }, "\(place): no gap is told of")
        let first = try since()
        let failures = try near.metrics()["gapless_failed_commits_total"] ?? 0
        let isTried = try live {
            try near.metrics()["gapless_failed_commits_total"] ?? 0 >= failures + 3
        }
        #expect(
            try isTried && live { try since() == first },
            "\(place): the gap is told of as a new one")
    }

    /// Killed while it is hurt, and started where nothing hurts.
    /// - Returns: How many changes there were.
    func killAndJudge() throws -> Int {
        try startWriters("later")
        #expect(try hearMore(10), "\(place)")
        try disk.hurt(near)
        #expect(try hearMore(10), "\(place)")
        near.kill()
        try disk.heal(near)
        let file = try CacheFile(at: disk.file(of: near))
        near.launcher = disk.soundLauncher
        try near.start()
        // Who was in the middle of a call makes it again, to the one that is there now.
        try stopWriters()
        let truths = try Dictionary(
            uniqueKeysWithValues: ids.map { id in
                (id, try api.truth(of: id, toldTo: told))
            })
        let findings = try file.check(truths)
        #expect(findings.faults.prefix(5) == [], "\(place)")
        let before = watchers
        for watcher in before {
            #expect(watcher.judgeOnTheWay(truths) == [], "\(place)")
            watcher.client.disconnect()
        }
        watchers = []
        for old in before {
            let held = ids.map { ($0, old.client.holder($0)) }
            try admit(old.client.user, Dictionary(uniqueKeysWithValues: held))
        }
        let heads = truths.mapValues { $0.log?.headRev ?? 0 }
        #expect(try live { watchers.allSatisfy { $0.isWhole(heads) } }, "\(place)")
        for watcher in watchers {
            for id in ids { try watcher.client.heal(id) }
            #expect(watcher.judge(truths) == [], "\(place)")
        }
        #expect(try near.health().json["status"] == "ok", "\(place)")
        return heads.values.reduce(0, +)
    }
}
