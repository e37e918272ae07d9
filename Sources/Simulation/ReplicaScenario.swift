import Engine

/// What kind of world with an origin elsewhere it is. Drawn from the seed before the first turn,
/// every time in the same way, so that a fault can be left out and the rest stays as it is.
struct ReplicaScenario {
    var faults: Set<Fault>
    var limits = Limits()
    var sync = SyncOptions()
    var users: [String]
    var conversations: [String]
    var clients: Int
    var gateways: Int
    /// How many outputs of the feed get through in a turn, at most.
    var feed: Int
    /// How much later a late answer comes, in turns.
    var delay: Int
    /// In how many turns of a hundred a client asks for something, the backend writes something.
    var requests: Int
    var writes: Int
    /// Something goes wrong in so many of a hundred chances.
    var rate: Int
    /// What a page of the origin holds at most.
    var clamp: Int
    /// How many messages of a conversation the origin and the cache keep.
    var kept: Int
    /// Events of records name nobody, as of conversations with many.
    var hasMany = false
    /// How many messages the cache drops at once.
    var trimmed: Int
    /// What a kernel buffer takes, in bytes.
    var socket: Int
    /// The feeds only ring.
    var isRinging = false
    /// In how many turns of a hundred, while a link is down, much is said at once.
    var bursts = 5

    /// Without faults and deeds: for a script.
    init(_ users: [String], conversations: [String], gateways: Int, sync: SyncOptions) {
        faults = []
        self.users = users
        self.conversations = conversations
        self.gateways = gateways
        self.sync = sync
        clients = users.count
        (feed, delay, requests, writes, rate, clamp, kept) = (0, 0, 0, 0, 0, 0, 0)
        (socket, trimmed) = (1 << 30, 1_000)
    }

    /// Links are down often, and much is said meanwhile: ten pages, of two messages each.
    mutating func goFar() {
        (sync.page, sync.pages, bursts, writes) = (2, 10, 40, 100)
        faults.formUnion([.lapses, .gateways])
        (gateways, clients, requests) = (2, 4, 60)
    }

    init(_ random: inout SplitMix64, without left: Set<Fault>) {
        let share = random.pick([5, 15, 40]) ?? 0
        // Whether logs are damaged is drawn aside: a seed is to mean the world that it meant.
        let drawn = Fault.allCases.filter { $0 != .damages }
        faults = Set(drawn.filter { _ in random.chance(share) }).subtracting(left)
        var aside = random
        if aside.chance(25), !left.contains(.damages) { faults.insert(.damages) }
        if random.chance(60) { faults.insert(.lapses) }
        if random.chance(40) { faults.insert(.restarts) }
        faults.subtract(left)
        users = Array(["ann", "ben", "cat", "dan"].prefix(random.number(2...4)))
        conversations = Array(["c1", "c2", "c3"].prefix(random.number(1...3)))
        clients = random.number(1...4)
        gateways = 2
        feed = random.pick([1, 4, 50]) ?? 0
        delay = random.number(1...8)
        requests = random.number(10...60)
        writes = random.pick([20, 60, 100]) ?? 0
        rate = random.pick([3, 10, 30]) ?? 0
        clamp = random.number(1...5)
        kept = random.number(3...20)
        // By a draw that is made already, so that each seed stays the world that it was.
        hasMany = kept.isMultiple(of: 5)
        socket = random.pick([300, 2_000, 20_000]) ?? 0
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
            socket = 1 << 30
            limits.outboxSoft = 262_144
            limits.outboxHard = 4_194_304
        }
        if faults.contains(.trims) {
            sync.trimAfter = random.pick([1, 4, 20])
            // Who gets no answer in time, and asks again, finds what was brought meanwhile dropped.
            sync.wait = 2_000
        }
        trimmed = random.pick([1, 3, 1_000]) ?? 0
    }
}
