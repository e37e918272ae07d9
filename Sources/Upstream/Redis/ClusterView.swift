/// One node's view of a cluster: the masters and their slots, read from `CLUSTER NODES`.
package struct ClusterView: Sendable, Hashable {
    /// The highest configuration epoch that the node knows: each failover and each slot that
    /// changes its owner makes a new one.
    var epoch = 0
    /// The masters, including those without slots.
    package var masters: [RedisOptions.Address: [ClosedRange<Int>]] = [:]

    /// - Parameter address: of the node that was asked; it may not know its own.
    package init?(_ text: String, from address: RedisOptions.Address) {
        for line in text.split(whereSeparator: \.isNewline) {
            // id host:port@bus,name flags master pinged ponged epoch link slot…
            let fields = line.split(separator: " ", omittingEmptySubsequences: false)
            guard fields.count >= 8, let epoch = Int(fields[6]) else { return nil }
            let flags = Set(fields[2].split(separator: ","))
            guard flags.contains("master"), !flags.contains("noaddr"),
                !flags.contains("handshake")
            else { continue }
            guard let place = Self.address(fields[1], isAsked: flags.contains("myself"), address)
            else { return nil }
            self.epoch = max(self.epoch, epoch)
            // Slots in brackets are migrating, and still belong to their old owner.
            let slots = fields.dropFirst(8).filter { $0.first != "[" }.compactMap(Self.range)
            // A failed master that was replaced is still listed; it is left out.
            if !(flags.contains("fail") && slots.isEmpty) { masters[place] = slots }
        }
    }

    private static func address(
        _ field: Substring, isAsked: Bool, _ asked: RedisOptions.Address
    ) -> RedisOptions.Address? {
        let name = field.prefix { $0 != "@" && $0 != "," }
        guard let colon = name.lastIndex(of: ":"), let port = Int(name[name.index(after: colon)...])
        else { return nil }
        let host = String(name[..<colon])
        return host.isEmpty && isAsked ? asked : .init(host: host, told: port)
    }

    private static func range(_ field: Substring) -> ClosedRange<Int>? {
        let ends = field.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, ends.count <= 2,
            first <= last, first >= 0, last < HashSlot.count
        else { return nil }
        return first...last
    }
}
