import Glibc
import Synchronization
import TestSupport

/// What a load balancer sees: asks readiness every few milliseconds on a thread of its own, and
/// now and then the summary.
struct Prober: Sendable {
    /// What it saw, and from when on.
    struct Log: Sendable {
        var ready: [(status: Int, at: ContinuousClock.Instant)] = []
        /// Times that the books did not balance.
        var unbalanced = 0
    }

    private let port: Int
    private let seen = Shared()

    private final class Shared: Sendable {
        let log = Mutex(Log())
    }

    private let work: Background<Void>

    init(_ gateway: GatewayProcess) {
        port = gateway.internalPort
        work = Background { [port, seen] stop in
            let connection = HTTPConnection(port: port)
            var count = 0
            while !stop.isOver {
                let status = (try? connection.send("GET", "/health/ready").status) ?? 0
                seen.log.withLock { log in
                    if log.ready.last?.status != status { log.ready.append((status, .now)) }
                }
                count += 1
                if count % 10 == 0 {
                    let error = try? connection.send("GET", "/health").json["accounting"]["error"]
                    if let error, error != 0 { seen.log.withLock { $0.unbalanced += 1 } }
                }
                usleep(15_000)
            }
        }
    }

    func end() { work.end() }

    var unbalanced: Int { seen.log.withLock { $0.unbalanced } }

    var status: Int { seen.log.withLock { $0.ready.last?.status ?? 0 } }

    /// When readiness was first refused after `moment`.
    func refusal(after moment: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        seen.log.withLock { log in log.ready.first { $0.at >= moment && $0.status == 503 }?.at }
    }
}
