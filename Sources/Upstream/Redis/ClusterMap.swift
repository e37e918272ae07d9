/// Which master of a cluster owns which slot, as far as a majority of the masters agrees. A value;
/// made from the newest views by `ClusterTopology`.
package struct ClusterMap: Sendable, Hashable {
    package typealias Address = RedisOptions.Address

    /// The view of one master, and when it was asked.
    package struct Vote: Sendable {
        package var view: ClusterView
        package var askedAt: ContinuousClock.Instant

        package init(view: ClusterView, askedAt: ContinuousClock.Instant) {
            self.view = view
            self.askedAt = askedAt
        }
    }

    /// All masters, including those without slots.
    private(set) var masters: [Address] = []
    /// For each slot the index of its owner in `masters`; −1: no owner.
    private var owners = [Int16](repeating: -1, count: HashSlot.count)

    init() {}

    package func owner(of slot: Int) -> Address? {
        owners[slot] < 0 ? nil : masters[Int(owners[slot])]
    }

    /// Whether every slot has an owner.
    var isWhole: Bool { !owners.contains(-1) }

    /// The last slot that a master owns. Slots that move away are usually taken from the first on.
    func lastSlot(of address: Address) -> Int? {
        guard let place = masters.firstIndex(of: address) else { return nil }
        return owners.lastIndex(of: Int16(place))
    }

    /// Counts the votes. The view with the highest epoch says which masters vote; a slot has an
    /// owner, and a master counts, while more than half of the voters say so.
    /// - Returns: the map, and until when each master counts: votes are leases that begin when the
    ///   question was sent.
    package static func counted(
        _ votes: [Address: Vote], lease: Duration
    ) -> (map: ClusterMap, leases: [Address: ContinuousClock.Instant]) {
        var map = ClusterMap()
        let newest = votes.values.max { ($0.view.epoch, $0.askedAt) < ($1.view.epoch, $1.askedAt) }
        guard let members = newest?.view.masters.filter({ !$0.value.isEmpty }) else {
            return (map, [:])
        }
        let needed = members.count / 2 + 1
        let counting = votes.filter { members[$0.key] != nil }.map(\.value)
        guard counting.count >= needed else { return (map, [:]) }
        let named = counting.reduce(into: Set<Address>()) { $0.formUnion($1.view.masters.keys) }
        map.masters = named.sorted { ($0.host, $0.port) < ($1.host, $1.port) }
        let views = counting.map { map.owners(in: $0.view) }
        map.owners = agreed(views, needed)
        var leases: [Address: ContinuousClock.Instant] = [:]
        for (place, master) in map.masters.enumerated() {
            let moments = zip(counting, views)
                .filter { vote, view in
                    vote.view.masters[master] != nil
                        && map.isOwner(place, ofAllItsSlotsIn: view)
                }
                .map { vote, _ in vote.askedAt }
                .sorted(by: >)
            if moments.count >= needed { leases[master] = moments[needed - 1] + lease }
        }
        map.forgetMasters { leases[$0] == nil }
        return (map, leases)
    }

    private func owners(in view: ClusterView) -> [Int16] {
        var owners = [Int16](repeating: -1, count: HashSlot.count)
        for (place, master) in masters.enumerated() {
            for range in view.masters[master] ?? [] {
                for slot in range { owners[slot] = Int16(place) }
            }
        }
        return owners
    }

    private static func agreed(_ views: [[Int16]], _ needed: Int) -> [Int16] {
        // The usual case: all agree.
        if let first = views.first, views.allSatisfy({ $0 == first }) { return first }
        return (0..<HashSlot.count).map { slot in
            let said = views.map { $0[slot] }
            return said.first { owner in said.count { $0 == owner } >= needed } ?? -1
        }
    }

    private func isOwner(_ place: Int, ofAllItsSlotsIn view: [Int16]) -> Bool {
        owners == view || owners.indices.allSatisfy { owners[$0] != place || view[$0] == place }
    }

    /// Removes masters that don't count; their slots then have no owner.
    private mutating func forgetMasters(_ isForgotten: (Address) -> Bool) {
        guard masters.contains(where: isForgotten) else { return }
        let kept = masters.filter { !isForgotten($0) }
        let places = masters.map { Int16(kept.firstIndex(of: $0) ?? -1) }
        owners = owners.map { $0 < 0 ? -1 : places[Int($0)] }
        masters = kept
    }
}
