/// A master with replicas, and three sentinels that decide which of them it is; killed with the
/// test.
package final class RedisSentinels {
    package let master: RedisProcess
    package let replicas: [RedisProcess]
    package let sentinels: [RedisProcess]

    /// - Parameters:
    ///   - arguments: of the master and of the replicas.
    ///   - patience: milliseconds of silence after which a sentinel takes a master for dead.
    ///   - way: the port by which sentinels and replicas reach the master, and so everybody.
    /// - Throws: `TestFailure` where they don't find each other.
    package init(
        _ arguments: [String] = [], replicas count: Int = 1,
        keeping: RedisProcess.Keeping = .nothing, patience: Int = 1000,
        by way: (RedisProcess) throws -> Int = \.port
    ) throws {
        let master = try RedisProcess(arguments, keeping: keeping)
        self.master = master
        let port = try way(master)
        replicas = try (0..<count).map { _ in
            try RedisProcess(arguments + ["--replicaof", "127.0.0.1 \(port)"], keeping: keeping)
        }
        let sentinels = try (0..<3).map { _ in
            try RedisProcess(watching: port, quorum: 2, patience: patience)
        }
        self.sentinels = sentinels
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
        return replicas.first { $0.port == reply.elements.last?.int }
    }
}
