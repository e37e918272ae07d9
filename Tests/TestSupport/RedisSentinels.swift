/// A master with replicas, and three sentinels that decide which of them it is; killed with the
/// test.
package final class RedisSentinels {
    package let master: RedisProcess
    package let replicas: [RedisProcess]
    package let sentinels: [RedisProcess]
    /// Where sentinels and replicas are reached: with TLS these are other ports than the plain
    /// ones, by which the test asks.
    package let sentinelPorts: [Int]
    private let replicaPorts: [Int]

    /// - Parameters:
    ///   - arguments: of the master and of the replicas.
    ///   - patience: milliseconds of silence after which a sentinel takes a master for dead.
    ///   - certificates: of their authority, where they are reached by TLS, and by no other way.
    ///   - way: the port by which sentinels and replicas reach the master, and so everybody.
    /// - Throws: `TestFailure` where they don't find each other.
    package init(
        _ arguments: [String] = [], replicas count: Int = 1,
        keeping: RedisProcess.Keeping = .nothing, patience: Int = 1000,
        tls certificates: Certificates? = nil, by way: (RedisProcess) throws -> Int = \.port
    ) throws {
        let pair = try certificates?.issue()
        var ports: [Int] = []
        func words() throws -> [String] {
            guard let certificates, let pair else { return [] }
            ports.append(try Port.free())
            return certificates.arguments(port: ports[ports.count - 1], pair)
                + ["--tls-replication", "yes"]
        }
        let master = try RedisProcess(arguments + words(), keeping: keeping)
        self.master = master
        let port = try ports.first ?? way(master)
        let replicas = try (0..<count).map { _ in
            let own = try words()
            return try RedisProcess(
                arguments + own + ["--replicaof", "127.0.0.1 \(port)"], keeping: keeping)
        }
        let sentinels = try (0..<3).map { _ in
            let own = try words()
            let lines = stride(from: 0, to: own.count, by: 2)
                .map { "\(own[$0].dropFirst(2)) \(own[$0 + 1])" }
            return try RedisProcess(watching: port, quorum: 2, patience: patience, lines: lines)
        }
        self.replicas = replicas
        self.sentinels = sentinels
        replicaPorts =
            ports.isEmpty ? replicas.map(\.port) : Array(ports.dropFirst().prefix(count))
        sentinelPorts = ports.isEmpty ? sentinels.map(\.port) : Array(ports.suffix(3))
        // A failover needs sentinels that know each other and the replicas.
        let isKnown = Deadline.standard.poll {
            sentinels.allSatisfy { sentinel in
                let reply = try? sentinel.ask("SENTINEL", "MASTER", "mymaster")
                let parts = (reply?.elements ?? []).map(\.string)
                guard let others = parts.firstIndex(of: "num-other-sentinels"),
                    let slaves = parts.firstIndex(of: "num-slaves")
                else { return false }
                return parts[others + 1] == "2" && parts[slaves + 1] == "\(count)"
            }
        }
        if !isKnown { throw TestFailure("the sentinels don't know each other") }
    }

    /// Whom the sentinels name now, one of the replicas or nil where it is none of them.
    ///
    /// - Throws: `TestFailure` where a sentinel does not answer.
    package func promoted() throws -> RedisProcess? {
        let reply = try sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
        return zip(replicas, replicaPorts).first { $1 == reply.elements.last?.int }?.0
    }
}
