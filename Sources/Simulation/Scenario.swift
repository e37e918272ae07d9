import Engine

/// The parameters of a world: its size, its speed, and the gateway's limits. Drawn from the seed
/// before the first turn, so that one seed is one world.
package struct Scenario: Sendable {
    var limits = Limits()
    var users: [String]
    var conversations: [String]
    var clients: Int
    /// Size of a kernel buffer in bytes.
    var socket: Int
    /// Bytes in one write of a socket.
    var write: Int
    /// Percent of reads of the store answered in a later turn; below, how much later.
    var late: Int
    var delay: Int
    /// Percent of reads as of a moment before the one that the feed has reached.
    var behind: Int
    /// How many outputs of the feed are delivered in a turn at most.
    var feed: Int
    /// Percent of turns in which a client sends requests.
    var requests: Int
    /// Percent of turns in which a client's reader changes its pace.
    var stalls: Int
    /// Percent of turns in which a connection is lost.
    var losses: Int
    /// Records name no participants, as for large conversations.
    var hasMany: Bool

    init(_ random: inout SplitMix64) {
        users = Array(["ann", "ben", "cat", "dan"].prefix(random.number(2...4)))
        conversations = Array(["c1", "c2", "c3"].prefix(random.number(1...3)))
        clients = random.number(1...4)
        socket = random.pick([300, 2_000, 20_000]) ?? 0
        write = random.pick([1, 1_000, 65_536]) ?? 0
        late = random.pick([0, 0, 30, 80]) ?? 0
        delay = random.number(1...8)
        behind = random.pick([0, 0, 20]) ?? 0
        feed = random.pick([1, 4, 50]) ?? 0
        requests = random.number(10...60)
        stalls = random.pick([0, 5, 20]) ?? 0
        losses = random.pick([0, 1, 4]) ?? 0
        limits.outboxSoft = random.pick([300, 1_500, 6_000, 262_144]) ?? 0
        limits.outboxHard = random.pick([8_000, 40_000, 4_194_304, 4_194_304]) ?? 0
        limits.reply = random.pick([4_096, 20_000, 1_048_576]) ?? 0
        limits.requestsPerSecond = random.pick([0, 0, 0, 30]) ?? 0
        limits.idleStreams = random.pick([0, 1, 1_000]) ?? 0
        limits.subscriptions = random.pick([1, 2, 1_000]) ?? 0
        // Derived from an earlier draw, so that each seed still gives the same world.
        limits.recentBytes = clients == 1 ? 2_000 : 131_072
        hasMany = clients > 2
        // In part of the worlds readers take turns.
        if socket == 300 { limits.writeSlice = .tiny }
        limits.recentBytesInAll = clients == 2 ? 4_000 : 64 << 20
    }
}
