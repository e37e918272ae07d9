import Engine

/// The parameters of a world with an origin elsewhere. Always drawn from the seed in the same way
/// before the first turn, so that a fault can be left out while the rest stays as it is.
struct ReplicaScenario {
    /// Who acts, and how often.
    struct Load {
        var clients = 0
        /// Percent of turns with requests of a client; below, with a write of the backend.
        var requests = 0
        var writes = 0
        /// Percent of turns with a burst of writes while a link is down.
        var bursts = 5
    }

    /// How much there is of what is limited.
    struct Sizes {
        /// How many outputs of the feed are delivered in a turn at most.
        var feed = 0
        /// How late an answer may be, in turns.
        var delay = 0
        /// The most messages or changes in an answer of the origin.
        var clamp = 0
        /// How many messages of a conversation origin and cache keep.
        var kept = 0
        /// How many messages a trim drops at once.
        var trimmed = 1_000
        /// Size of a kernel buffer in bytes.
        var socket = 1 << 30
    }

    var faults: Set<Fault>
    /// Percent of opportunities at which a fault strikes.
    var rate = 0
    var limits = Limits()
    var sync = SyncOptions()
    var users: [String]
    var conversations: [String]
    var gateways: Int
    var load = Load()
    var sizes = Sizes()
    /// Records in events name no participants, as for large conversations.
    var hasMany = false
    /// The feeds only notify.
    var isRinging = false

    /// Without faults and random actions: for a script.
    init(_ users: [String], conversations: [String], gateways: Int, sync: SyncOptions) {
        faults = []
        self.users = users
        self.conversations = conversations
        self.gateways = gateways
        self.sync = sync
        load.clients = users.count
    }

    /// Links are often down while much is written: ten pages of two messages each.
    mutating func goFar() {
        (sync.page, sync.pages) = (2, 10)
        faults.formUnion([.lapses, .gateways])
        gateways = 2
        load = Load(clients: 4, requests: 60, writes: 100, bursts: 40)
    }

    init(_ random: inout SplitMix64, without left: Set<Fault>) {
        let share = random.pick([5, 15, 40]) ?? 0
        // Damage and forks have random draws of their own: a seed must still give the same world.
        let drawn = Fault.allCases.filter { $0 != .damages && $0 != .forks }
        faults = Set(drawn.filter { _ in random.chance(share) }).subtracting(left)
        var aside = random
        for fault in [Fault.damages, .forks] where aside.chance(25) { faults.insert(fault) }
        // Of two answers that overtake each other, nobody knows whether one log gave both. Redis
        // answers in order, and where Postgres is put back its connections end.
        if faults.contains(.forks) { faults.remove(.late) }
        if random.chance(60) { faults.insert(.lapses) }
        if random.chance(40) { faults.insert(.restarts) }
        faults.subtract(left)
        users = Array(["ann", "ben", "cat", "dan"].prefix(random.number(2...4)))
        conversations = Array(["c1", "c2", "c3"].prefix(random.number(1...3)))
        load.clients = random.number(1...4)
        gateways = 2
        sizes.feed = random.pick([1, 4, 50]) ?? 0
        sizes.delay = random.number(1...8)
        load.requests = random.number(10...60)
        load.writes = random.pick([20, 60, 100]) ?? 0
        rate = random.pick([3, 10, 30]) ?? 0
        sizes.clamp = random.number(1...5)
        sizes.kept = random.number(3...20)
        // Derived from an earlier draw, so that each seed still gives the same world.
        hasMany = sizes.kept.isMultiple(of: 5)
        sizes.socket = random.pick([300, 2_000, 20_000]) ?? 0
        sync.page = random.pick([2, 5, 20, 100]) ?? 0
        sync.pages = random.pick([1, 2, 10]) ?? 0
        sync.concurrency = random.pick([1, 2, 16]) ?? 0
        sync.backoffMax = 2_000
        sync.gapGrace = random.pick([50, 250, 1_000]) ?? 0
        sync.linger = random.pick([500, 5_000, 30_000]) ?? 0
        sync.wait = random.pick([100, 2_000, 2_000]) ?? 0
        sync.verifyInterval = random.pick([500, 2_000, 8_000]) ?? 0
        limits.outboxSoft = random.pick([300, 1_500, 6_000, 262_144]) ?? 0
        limits.outboxHard = random.pick([8_000, 40_000, 4_194_304, 4_194_304]) ?? 0
        limits.reply = random.pick([20_000, 1_048_576]) ?? 0
        limits.requestsPerSecond = 0
        limits.subscriptions = random.pick([1, 2, 1_000]) ?? 0
        if !faults.contains(.gateways) { gateways = 1 }
        if !faults.contains(.readers) {
            sizes.socket = 1 << 30
            limits.outboxSoft = 262_144
            limits.outboxHard = 4_194_304
        }
        if faults.contains(.trims) {
            sync.trimAfter = random.pick([1, 4, 20])
            // A client that asks again after a timeout would find that its fetched messages were
            // trimmed.
            sync.wait = 2_000
        }
        sizes.trimmed = random.pick([1, 3, 1_000]) ?? 0
        // In part of the worlds readers take turns.
        if gateways == 1 { limits.writeSlice = .tiny }
    }
}
