import Glibc
import TestSupport
import Testing

/// The ways in which gateways and their Postgres can lose each other.
enum PostgresOutage: String, CaseIterable, Sendable, LosslessOutage {
    case killed = "Postgres killed"
    case terminated = "pg_terminate_backend of all"
    case cut = "link to Postgres cut"
    case refused = "link to Postgres refused"
    case stalled = "link to Postgres stalled"
    case stopped = "Postgres stopped"
    /// The primary is killed while the standby lacks what it has not acknowledged yet.
    case promoted = "synchronous standby promoted"

    var title: String { rawValue }

    var isMomentary: Bool { self == .terminated || self == .cut }

    var isOfTheLink: Bool { self == .cut || self == .refused || self == .stalled }

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
        case .terminated:
            try origin.server.query(
                """
                select count(pg_terminate_backend(pid)) from pg_stat_activity
                where application_name = 'gapless'
                """)
        case .cut: origin.proxy.cut()
        case .refused: origin.proxy.set(.refusing)
        case .stalled: origin.proxy.set(.stalled)
        case .stopped: origin.server.sendToAll(SIGSTOP)
        }
    }

    func end(_ origin: LinkedPostgres) throws {
        switch self {
        case .killed: try origin.server.restart()
        case .refused, .stalled: origin.proxy.set(.open)
        case .stopped: origin.server.sendToAll(SIGCONT)
        case .promoted: try origin.pair?.promote()
        case .terminated, .cut: break
        }
    }
}

/// One Postgres, with a synchronous standby or without, and the way to it of one gateway that can
/// fail.
final class LinkedPostgres: OutageOrigin {
    let server: PostgresProcess
    let proxy: TCPProxy
    let pair: PostgresPair?
    private let url: String

    init(hasStandby: Bool) throws {
        pair = hasStandby ? try PostgresPair(isSynchronous: true) : nil
        server = try pair?.primary ?? PostgresProcess()
        url = try pair?.url ?? server.database()
        proxy = try TCPProxy(to: server.port)
    }

    deinit {
        server.sendToAll(SIGCONT)
        proxy.close()
    }

    var linkedSettings: [String: String] {
        settings(url.replacing(":\(server.port)/", with: ":\(proxy.port)/"))
    }

    var directSettings: [String: String] { settings(url) }

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
