import Foundation
import TestSupport
import Testing

/// Real gateways on real origins, and everything that can happen between them. The suites run one
/// after the other, since each of them takes what two cores give.
///
/// `TEST_SCALE` makes a run longer: at 20, as `make faults` has it, each outage comes 20 times, a
/// gateway is killed 100 times and an embedded origin 200 times, each disk fails in 10 runs, and
/// the storms have the clients that the issue names. `TEST_SEED` begins the random choices
/// elsewhere; processes and sockets are not repeated by it. `TEST_OUTAGE` names the one kind of
/// outage or failover to look at.
@Suite(.serialized) enum Faults {
    static let scale = max(1, number("TEST_SCALE") ?? 1)
    static var isLong: Bool { scale > 1 }

    static func seed(_ own: UInt64) -> UInt64 {
        own &+ UInt64(truncatingIfNeeded: number("TEST_SEED") ?? 0)
    }

    /// The outages of this run.
    static var outages: [Outage] { named(Outage.allCases) }

    /// What is below TLS does not change with it: a short run looks at one of them.
    static var outagesOverTLS: [OutageOverTLS] {
        named(Outage.allCases.map(OutageOverTLS.init)).filter {
            isLong || isNamed || $0.outage == .killed
        }
    }

    static var postgresOutages: [PostgresOutage] { named(PostgresOutage.allCases) }

    /// The failovers of this run.
    static var failovers: [Failover] { named(Failover.allCases) }

    /// The origins of this run whose lists lose their end.
    static var listOrigins: [ListOrigin.Kind] { named(ListOrigin.Kind.allCases) }

    private static var isNamed: Bool {
        ProcessInfo.processInfo.environment["TEST_OUTAGE"] != nil
    }

    private static func named<Kind>(_ all: [Kind]) -> [Kind] {
        let name = ProcessInfo.processInfo.environment["TEST_OUTAGE"]
        // Copying a server can take a minute: those come in the long run, or by their names.
        let copying = [
            "killedOverTLS", "promoted", "primaryKilled", "primaryGoesOn", "backupRestored",
            "copyTaken", "backup",
        ]
        return all.filter {
            name == nil ? isLong || !copying.contains("\($0)") : "\($0)" == name
        }
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// The deadline of the link: within this a gateway notices that the feed is dead.
    static let deadline = Duration.seconds(2)

    /// What is allowed on top of it: two debug builds, a Redis and twenty clients share two cores,
    /// perhaps with others.
    static let margin = Duration.seconds(1)

    /// A line of what the run came to; `make faults` gathers these.
    static func report(_ line: String) { print("faults: \(line)") }

    /// What a gateway of these tests is set to: it is asked often, and waits little between two
    /// tries to connect, so that a run takes seconds.
    static let settings = [
        "log.level": "info", "sync.backoff_max": "400ms", "limits.requests_per_second": "0",
        "limits.connections_per_user": "0", "limits.bytes_per_second": "0B",
        "page.enabled": "false", "upstream.kind": "redis",
        // Who copies or promotes a server meanwhile answers no ping.
        "limits.pong_timeout": "10m",
    ]
}

extension Duration {
    /// In seconds, with two digits.
    var text: String {
        let (seconds, attoseconds) = components
        let hundredths = seconds * 100 + attoseconds / 10_000_000_000_000_000
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
