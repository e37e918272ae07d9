import Rules

/// The engine's limits, in bytes, milliseconds and counts: `limits.*` of the configuration.
package struct Limits: Sendable {
    package var subscriptions = 1000
    package var connectionsPerUser = 0
    /// Connections from one address; 0: no limit.
    package var connectionsPerAddress = 0
    package var connections = 20_000
    /// Limits on the values of a log.
    package var log = LogLimits()
    /// The kinds of writes that clients may make.
    package var clients = ClientPolicy()
    /// Size of a reply; a longer one holds fewer messages.
    package var reply = 1_048_576
    package var inboundFrame = 65_536
    package var outboxSoft = 262_144
    package var outboxHard = 4_194_304
    /// How much of what waits for sockets one turn writes.
    package var writeSlice = WriteSlice()
    /// The cost of a user's requests per second; the burst is twice that. 0: no limit.
    package var requestsPerSecond = 200
    /// Bytes that all connections of a user may send per second; 0: no limit.
    package var bytesPerSecond = 4 << 20
    package var connectTimeout: Int64 = 10_000
    package var pingInterval: Int64 = 25_000
    package var pongTimeout: Int64 = 30_000
    /// Bytes of recent changes kept in memory per conversation: some 200 messages.
    package var recentBytes = 131_072
    /// The same for all conversations together.
    package var recentBytesInAll = 64 << 20
    /// Idle conversations kept in memory, so that one with occasional requests is not read from the
    /// store each time. Beyond that the least recently used are evicted.
    package var idleStreams = 1000

    /// Pacing: after writing its events took d, a conversation rests this many times d; 0: never.
    package var pacing = 0.0
    /// The longest rest, hardly noticed by a person reading along.
    package var pacingCap = Duration.milliseconds(20)

    /// Size of the journal in bytes, and how far it goes back in milliseconds; 0 bytes: no journal.
    package var journal: (bytes: Int, age: Int64) = (0, 0)

    /// The limits that `connect` reports: name, and bytes, milliseconds or count.
    package var shown: [(name: String, value: Int)] = []

    package init() {}

    /// Bytes that the messages of one reply may take. The rest is reserved for what surrounds them:
    /// 16 gaps, 1,000 runs with the ids at their ends, and the record.
    package var replyBytes: Int { max(reply - 131_072, reply / 2) }
}

/// The gateway's name and version in the answer to `connect`.
package struct ServerIdentity: Sendable {
    package var name: String
    package var version: String

    package init(name: String, version: String) {
        self.name = name
        self.version = version
    }
}
