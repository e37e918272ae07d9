import Glibc
import TestSupport
import Testing

/// The ways in which gateways and their Postgres can lose each other.
enum PostgresOutage: String, CaseIterable, Sendable {
    case killed = "Postgres killed"
    case terminated = "pg_terminate_backend of all"
    case cut = "link to Postgres cut"
    case refused = "link to Postgres refused"
    case stalled = "link to Postgres stalled"
    case stopped = "Postgres stopped"

    var isMomentary: Bool { self == .terminated || self == .cut }

    /// It is the way of one gateway that fails, not the server of both.
    var isOfTheLink: Bool { self == .cut || self == .refused || self == .stalled }

    func begin(_ server: PostgresProcess, _ proxy: TCPProxy) throws {
        switch self {
        case .killed: server.sendToAll(SIGKILL)
        case .terminated:
            try server.query(
                """
                select count(pg_terminate_backend(pid)) from pg_stat_activity
                where application_name = 'gapless'
                """)
        case .cut: proxy.cut()
        case .refused: proxy.set(.refusing)
        case .stalled: proxy.set(.stalled)
        case .stopped: server.sendToAll(SIGSTOP)
        }
    }

    func end(_ server: PostgresProcess, _ proxy: TCPProxy) throws {
        switch self {
        case .killed: try server.restart()
        case .refused, .stalled: proxy.set(.open)
        case .stopped: server.sendToAll(SIGCONT)
        case .terminated, .cut: break
        }
    }
}

extension Faults {
    /// Two gateways on one Postgres under a stream of lines, edits and deletes: everybody is whole
    /// or told at every moment, and nothing comes twice.
    @Suite struct PostgresOutages {
        @Test(arguments: PostgresOutage.allCases)
        func everybodyIsWholeOrToldThrough(_ outage: PostgresOutage) throws {
            var row = Figures()
            for run in 0..<Faults.scale {
                try pass(outage, seed: Faults.seed(UInt64(700 + run)), &row)
            }
            row.report(outage.rawValue)
        }

        private func pass(_ outage: PostgresOutage, seed: UInt64, _ row: inout Figures) throws {
            let server = try PostgresProcess()
            let proxy = try TCPProxy(to: server.port)
            defer {
                server.sendToAll(SIGCONT)
                proxy.close()
            }
            let url = try server.database()
            let linked = url.replacing(":\(server.port)/", with: ":\(proxy.port)/")
            func settings(_ url: String) -> [String: String] {
                ["upstream.kind": "postgres", "upstream.postgres.url": url]
            }
            let world = try World(
                World.Plan(near: settings(linked), far: settings(url)), seed: seed)
            let place: Comment = "\(outage.rawValue), seed \(seed)"
            _ = try world.live(.milliseconds(800)) { false }
            let isBegun = try world.live(.seconds(20), until: world.present())
            #expect(isBegun, "\(place): not whole before it began")
            try world.whisper()
            let before = try world.gateways.map { try $0.fetches() }

            let began = ContinuousClock.now
            try outage.begin(server, proxy)
            if outage.isOfTheLink { try world.whisper() }
            let hit = outage.isOfTheLink ? [world.near] : world.gateways
            let ports = hit.map(\.port)
            let watchers = world.watchers.filter { ports.contains($0.client.port) }
            let limit = Faults.deadline + Faults.margin
            let isNoticed = try world.live(limit) {
                watchers.allSatisfy { $0.alarm(after: began) != nil }
            }
            #expect(isNoticed, "\(place): not noticed in \(limit.text) s")
            let noticed = watchers.compactMap { $0.alarm(after: began) }.max() ?? .now
            row.detection = max(row.detection, noticed - began)
            if !outage.isMomentary {
                try world.moveSome()
                _ = try world.live(world.pause())
            }
            try outage.end(server, proxy)
            let ended = ContinuousClock.now
            if outage.isMomentary { try world.moveSome() }
            let isBack = try world.live(.seconds(30), until: world.present())
            #expect(isBack, "\(place): not back")
            row.recovery = max(row.recovery, ContinuousClock.now - ended)
            for (gateway, earlier) in zip(world.gateways, before) {
                try row.noteFetches(gateway, since: earlier)
            }
            // The feed and one connection are enough to be back; the others follow within their
            // backoff of two seconds, and health names them until then.
            let isWell = try world.live(.seconds(10)) {
                try world.gateways.allSatisfy { try $0.health().json["status"] == "ok" }
            }
            #expect(isWell, "\(place): a connection is not back")
            try judge(world, place, &row)
        }

        private func judge(_ world: World, _ place: Comment, _ row: inout Figures) throws {
            let truths = try world.settle()
            for (id, truth) in truths {
                #expect(truth.log?.unknownChanges == [], "\(place): \(id)")
            }
            var faults = world.watchers.flatMap { $0.judge(truths) }
            faults += world.retired.flatMap { $0.judgeOnTheWay(truths) }
            faults += try world.judgeLists() + world.judgeGateways()
            #expect(faults.isEmpty, "\(place): \(faults.prefix(10).joined(separator: "\n"))")
            try row.noteEnd(world, truths, faults)
        }
    }
}
