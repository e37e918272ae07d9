/// Three masters with a replica each, on the loopback, killed with the test.
package final class RedisClusterServers {
    package static let size = 3
    private static let slotCount = 16_384

    package let masters: [RedisProcess]
    package let replicas: [RedisProcess]
    private let ids: [String]
    /// Where the masters are reached: with TLS these are other ports than the plain ones, by which
    /// the test asks.
    package let masterPorts: [Int]

    /// - Parameter certificates: of their authority, where nodes and clients talk by TLS.
    /// - Throws: `TestFailure` where they don't find each other.
    package init(
        keeping: RedisProcess.Keeping = .nothing, tls certificates: Certificates? = nil
    ) throws {
        let pair = try certificates?.issue()
        var ports: [Int] = []
        let nodes = try (0..<2 * Self.size).map { _ in
            guard let certificates, let pair else {
                let node = try RedisProcess.node(keeping: keeping)
                ports.append(node.port)
                return node
            }
            ports.append(try Port.free())
            let words = certificates.arguments(port: ports[ports.count - 1], pair)
            return try RedisProcess.node(
                words + ["--tls-cluster", "yes", "--tls-replication", "yes"], keeping: keeping)
        }
        masterPorts = Array(ports.prefix(Self.size))
        masters = Array(nodes.prefix(Self.size))
        replicas = Array(nodes.dropFirst(Self.size))
        ids = try nodes.map { try $0.ask("CLUSTER", "MYID").string ?? "" }
        for (place, node) in nodes.enumerated() {
            try node.ask("CLUSTER", "SET-CONFIG-EPOCH", "\(place + 1)")
            guard place > 0 else { continue }
            let bus = "\(nodes[0].busPort)"
            try node.ask("CLUSTER", "MEET", "127.0.0.1", "\(ports[0])", bus)
        }
        for (place, master) in masters.enumerated() {
            let slots = Self.slots(place)
            try master.ask("CLUSTER", "ADDSLOTSRANGE", "\(slots.first)", "\(slots.last)")
        }
        try wait("the nodes to know each other") {
            try nodes.allSatisfy { try Self.lines($0).count == nodes.count }
        }
        for (replica, id) in zip(replicas, ids) { try replica.ask("CLUSTER", "REPLICATE", id) }
        // A failover is decided by masters that know the replica, which must be in step.
        try wait("the replicas to follow") {
            try nodes.allSatisfy { node in
                let lines = try Self.lines(node)
                let info = try node.ask("CLUSTER", "INFO").string ?? ""
                return info.contains("cluster_state:ok")
                    && lines.filter { $0.contains("slave") }.count == Self.size
            }
                && replicas.allSatisfy { replica in
                    try replica.info("replication")["master_link_status"] == "up"
                }
        }
    }

    /// The slots of each master: of the first the lowest.
    package static func slots(_ place: Int) -> (first: Int, last: Int) {
        let width = slotCount / size + 1
        return (place * width, min((place + 1) * width, slotCount) - 1)
    }

    private static func lines(_ node: RedisProcess) throws -> [Substring] {
        (try node.ask("CLUSTER", "NODES").string ?? "").split(whereSeparator: \.isNewline)
            .filter { !$0.contains("handshake") }
    }

    private func wait(_ what: String, _ condition: () throws -> Bool) throws {
        if try !Deadline.standard.poll(until: condition) {
            throw TestFailure("waited too long for \(what)")
        }
    }

    /// Names of conversations that lie at a master.
    ///
    /// - Throws: `TestFailure` where it does not answer.
    package func conversations(at place: Int, _ count: Int) throws -> [String] {
        let (first, last) = Self.slots(place)
        return try conversations(in: first...last, count)
    }

    /// Names of conversations that lie in some slots.
    ///
    /// - Throws: as above.
    package func conversations(in slots: ClosedRange<Int>, _ count: Int) throws -> [String] {
        var named: [String] = []
        var number = 0
        while named.count < count {
            number += 1
            let name = "c\(slots.lowerBound)-\(number)"
            let slot = try masters[0].ask("CLUSTER", "KEYSLOT", "{\(name)}").int ?? 0
            if slots.contains(slot) { named.append(name) }
        }
        return named
    }

    /// Waits until a replica has all that its master was told.
    ///
    /// - Throws: `TestFailure` where it does not come to that.
    package func waitForReplica(_ place: Int) throws {
        try wait("the replica") {
            let master = try masters[place].info("replication")
            let replica = try replicas[place].info("replication")
            return master["master_repl_offset"] == replica["slave_repl_offset"]
        }
    }

    // MARK: moving a slot

    /// From here on the slot is between two masters.
    ///
    /// - Throws: `TestFailure` where a master refuses it.
    package func beginMoving(_ slot: Int, from: Int, to: Int) throws {
        let slot = "\(slot)"
        try masters[to].ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from])
        try masters[from].ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
        while true {
            let keys = try masters[from].ask("CLUSTER", "GETKEYSINSLOT", slot, "10").elements
            if keys.isEmpty { return }
            let words = ["MIGRATE", "127.0.0.1", "\(masters[to].port)", "", "0", "5000", "KEYS"]
            try masters[from].ask(words + keys.compactMap(\.string))
        }
    }

    /// Moves the lowest slots of a master to another one, as an operator of a cluster does.
    ///
    /// - Throws: `TestFailure` where they don't arrive.
    package func reshard(_ count: Int, from: Int, to: Int) throws {
        let arguments = [
            "--cluster", "reshard", "127.0.0.1:\(masters[0].port)", "--cluster-from", ids[from],
            "--cluster-to", ids[to], "--cluster-slots", "\(count)", "--cluster-yes",
        ]
        let process = try ChildProcess(
            "/usr/bin/redis-cli", arguments, log: masters[0].directory + "/reshard")
        try wait("the slots to move") { process.exitStatus != nil }
        if process.exitStatus != 0 { throw TestFailure("redis-cli: \(process.exitStatus ?? -1)") }
    }

    /// The slot has arrived.
    ///
    /// - Throws: `TestFailure` where a master refuses it.
    package func endMoving(_ slot: Int, from: Int, to: Int) throws {
        for place in [to, from] {
            try masters[place].ask("CLUSTER", "SETSLOT", "\(slot)", "NODE", ids[to])
        }
    }
}
