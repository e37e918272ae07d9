import Rules

/// The engine's limits, in bytes, milliseconds and counts: `limits.*` of the configuration, with
/// their defaults.
package struct Limits: Sendable, Equatable {
    package var subscriptions = 1000
    /// Connections of one user; 0: no limit.
    package var connectionsPerUser = 100
    /// Connections from one address; 0: no limit.
    package var connectionsPerAddress = 0
    package var connections = 20_000
    /// Limits on the values of a log.
    package var log = LogLimits()
    /// The kinds of writes that clients may make.
    package var clients = ClientPolicy()
    /// Users whom one connection watches.
    package var presentUsers = 1000
    /// Whether users are there: nil where nobody asks, and the origin keeps nothing of it.
    package var presence: PresenceOptions?
    /// Size of a reply; a longer one holds fewer messages.
    package var reply = 1_048_576
    package var inboundFrame = 65_536
    package var outboxSoft = 262_144
    package var outboxHard = 4_194_304
    /// Bytes that may wait for all readers together whose sockets take nothing.
    package var outboxTotal = 256 << 20
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

    /// None, unless there is to be one.
    package var journal = JournalSize(bytes: 0, age: 0)

    /// The limits that `connect` reports.
    package var shown: [ShownLimit] = []

    package init() {}

    /// Bytes that the messages of one reply may take. The rest is reserved for what surrounds them:
    /// 16 gaps, 1,000 runs with the ids at their ends, and the record.
    package var replyBytes: Int { max(reply - 131_072, reply / 2) }
}

/// How many bytes the journal takes, and how far it goes back in milliseconds; 0 bytes: no journal.
package struct JournalSize: Sendable, Equatable {
    package var bytes: Int
    package var age: Int64

    package init(bytes: Int, age: Int64) {
        self.bytes = bytes
        self.age = age
    }
}

/// A limit as `connect` reports it: bytes, milliseconds or a count.
package struct ShownLimit: Sendable, Equatable {
    package var name: String
    package var value: Int

    package init(name: String, value: Int) {
        self.name = name
        self.value = value
    }
}

/// The gateway's name, version and commit in the answer to `connect`.
package struct ServerIdentity: Sendable {
    package var name: String
    package var version: String
    package var commit: String

    package init(name: String, version: String, commit: String) {
        self.name = name
        self.version = version
        self.commit = commit
    }
}
