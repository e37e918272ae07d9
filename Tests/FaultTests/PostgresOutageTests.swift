import Foundation
import Glibc
import TestSupport
import Testing

/// The ways in which gateways and their Postgres can lose each other.
enum PostgresOutage: String, CaseIterable, Sendable, LosslessOutage {
    case killed = "Postgres killed"
    /// As an operator does it: a fast shutdown, and a start.
    case restarted = "Postgres restarted"
    case terminated = "pg_terminate_backend of all"
    case cut = "link to Postgres cut"
    case refused = "link to Postgres refused"
    case stalled = "link to Postgres stalled"
    case flapping = "link to Postgres flapping"
    case stopped = "Postgres stopped"
    /// The primary is killed while the standby lacks what it has not acknowledged yet.
    case promoted = "synchronous standby promoted"
    case held = "a transaction held open"
    case deadlocked = "deadlocks of an application"
    case conflicting = "serialisation conflicts of an application"

    var title: String { rawValue }

    var isMomentary: Bool { self == .terminated || self == .cut }

    /// An application is what is in the way, and only of who writes.
    var isOfApplications: Bool {
        self == .held || self == .deadlocked || self == .conflicting
    }

    var breaksFeeds: Bool { !isOfApplications }

    var isOfTheLink: Bool {
        switch self {
        case .cut, .refused, .stalled, .flapping: true
        case .killed, .restarted, .terminated, .stopped, .promoted, .held, .deadlocked,
            .conflicting:
            false
        }
    }

    var showsInReadiness: Bool { !isMomentary && self != .flapping }

    /// The feed and one connection are enough to be back; the others follow within their backoff
    /// of two seconds.
    var lastConnection: Duration { .seconds(10) }

    func origin() throws -> LinkedPostgres { try LinkedPostgres(hasStandby: self == .promoted) }

    func prepare(_ origin: LinkedPostgres) -> Duration {
        guard let pair = origin.pair else { return .zero }
        pair.way.set(.stalled)
        return .milliseconds(300)
    }

    func begin(_ origin: LinkedPostgres) throws {
        switch self {
        case .killed, .promoted: origin.server.kill()
        case .restarted: origin.server.stop()
        case .terminated:
            try origin.server.query(
                """
                select count(pg_terminate_backend(pid)) from pg_stat_activity
                where application_name = 'gapless'
                """)
        case .cut: origin.proxy.cut()
        case .refused: origin.proxy.set(.refusing)
        case .stalled: origin.proxy.set(.stalled)
        case .flapping: origin.proxy.set(.flapping)
        case .stopped: origin.server.sendToAll(SIGSTOP)
        case .held:
            try origin.runApplications([ApplicationScript.holding(seconds: Faults.isLong ? 60 : 3)])
        case .deadlocked:
            try origin.runApplications([
                ApplicationScript.writing(to: "c0", "c1"),
                ApplicationScript.writing(to: "c1", "c0"),
            ])
        case .conflicting:
            try origin.runApplications([
                ApplicationScript.reading("c0", "serializable"),
                ApplicationScript.reading("c0", "repeatable read"),
            ])
        }
    }

    func isOver(_ origin: LinkedPostgres) -> Bool { origin.areApplicationsDone }

    func end(_ origin: LinkedPostgres) throws {
        switch self {
        case .killed, .restarted: try origin.server.restart()
        case .refused, .stalled, .flapping: origin.proxy.set(.open)
        case .stopped: origin.server.sendToAll(SIGCONT)
        case .promoted: try origin.pair?.promote()
        case .deadlocked: try origin.expect("deadlock detected")
        case .conflicting: try origin.expect("could not serialize access")
        case .terminated, .cut, .held: break
        }
    }
}

/// Transactions of an application, as it would type them.
enum ApplicationScript {
    /// One that stays open with a conversation locked.
    static func holding(seconds: Int) -> String {
        "begin; \(post("c0")) select pg_sleep(\(seconds)); commit;"
    }

    /// Each writes to two conversations, in this order.
    static func writing(to first: String, _ second: String) -> String {
        "set deadlock_timeout = '20ms';"
            + times("begin; \(post(first)) select pg_sleep(0.05); \(post(second)) commit;")
    }

    /// Each reads what others write to meanwhile, and then writes there too.
    static func reading(_ conversation: String, _ level: String) -> String {
        times(
            "begin isolation level \(level);"
                + " select count(*) from gapless.messages('\(conversation)', '{}');"
                + " select pg_sleep(0.1); \(post(conversation)) commit;")
    }

    private static func post(_ conversation: String) -> String {
        "select gapless.post_message('\(conversation)', 'shop', '{\"body\": \"order\"}');"
    }

    private static func times(_ text: String) -> String {
        Array(repeating: text, count: 20).joined(separator: "\n")
    }
}

/// One Postgres, with a synchronous standby or without, and the way to it of one gateway that can
/// fail.
final class LinkedPostgres: OutageOrigin {
    let server: PostgresProcess
    let proxy: TCPProxy
    let pair: PostgresPair?
    private let url: String
    private var applications: [ChildProcess] = []

    init(hasStandby: Bool) throws {
        pair = hasStandby ? try PostgresPair(isSynchronous: true) : nil
        server = try pair?.primary ?? PostgresProcess()
        url = try pair?.url ?? server.database()
        proxy = try TCPProxy(to: server.port)
    }

    deinit {
        for application in applications { application.kill() }
        server.sendToAll(SIGCONT)
        proxy.close()
    }

    var linkedSettings: [String: String] {
        settings(url.replacing(":\(server.port)/", with: ":\(proxy.port)/"))
    }

    var directSettings: [String: String] { settings(url) }

    /// Runs each beside the others.
    func runApplications(_ scripts: [String]) throws {
        for (place, script) in scripts.enumerated() {
            let file = "\(server.directory)/script-\(place)"
            try Data(script.utf8).write(to: URL(filePath: file + ".sql"))
            applications.append(
                try ChildProcess(
                    PostgresProcess.programs + "/psql",
                    ["--no-psqlrc", "--quiet", "--file", file + ".sql", url], log: file + ".log"))
        }
    }

    var areApplicationsDone: Bool { applications.allSatisfy { $0.exitStatus != nil } }

    /// What they have met; otherwise the run would show nothing.
    func expect(_ text: String) throws {
        let said = applications.indices.map { place in
            let file = "\(server.directory)/script-\(place).log"
            return (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        }
        guard said.contains(where: { $0.contains(text) }) else {
            throw TestFailure("no application met: \(text)")
        }
    }

    private func settings(_ url: String) -> [String: String] {
        ["upstream.kind": "postgres", "upstream.postgres.url": url]
    }
}

extension Faults {
    /// Each way in which the link to Postgres can die, and a standby that has all takes over.
    @Suite struct PostgresOutages {
        @Test(arguments: Faults.postgresOutages)
        func everybodyIsWholeOrToldThrough(_ outage: PostgresOutage) throws {
            try OutageRun.all(outage, seed: 700)
        }
    }
}
