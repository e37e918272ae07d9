import Rules

/// What the engine allows, in bytes, milliseconds and numbers; the values come from `limits.*` of
/// the configuration.
package struct Limits: Sendable {
    package var subscriptions = 1000
    package var connectionsPerUser = 0
    /// From one address; 0 for any number.
    package var connectionsPerAddress = 0
    package var connections = 20_000
    /// What the values of a log may take.
    package var log = LogLimits()
    /// What clients may write at all.
    package var clients = ClientPolicy()
    /// A reply; longer ones hold fewer messages.
    package var reply = 1_048_576
    package var inboundFrame = 65_536
    package var outboxSoft = 262_144
    package var outboxHard = 4_194_304
    /// What a user's requests may cost in a second, twice as much at once; 0: no limit.
    package var requestsPerSecond = 200
    /// What all connections of a user may send in a second; 0: no limit.
    package var bytesPerSecond = 4 << 20
    package var connectTimeout: Int64 = 10_000
    package var pingInterval: Int64 = 25_000
    package var pongTimeout: Int64 = 30_000
    /// Of each conversation, what its latest changes may take in memory: some 200 messages.
    package var recentBytes = 131_072
    /// The same of all conversations together.
    package var recentBytesInAll = 64 << 20
    /// Idle conversations kept in memory, so that one that is looked at now and then is not read
    /// from the store each time. Above it the least recently used go.
    package var idleStreams = 1000

    /// After its events were written, which took d, a conversation rests this many times d; 0 for
    /// never.
    package var pacing = 0.0
    /// The longest rest: what somebody who reads along hardly notices.
    package var pacingCap = Duration.milliseconds(20)

    /// What the journal may take, in bytes, and how long it goes back, in milliseconds; without
    /// bytes there is none.
    package var journal = 0
    package var journalAge: Int64 = 0

    /// What `connect` tells of the limits: the name of each, and bytes, milliseconds or how many.
    package var shown: [(name: String, value: Int)] = []

    package init() {}

    /// What the messages of one reply may take; the rest is for what stands around them: 16 gaps,
    /// 1,000 runs with the ids at their ends, and the record.
    package var replyBytes: Int { max(reply - 131_072, reply / 2) }
}

/// What the gateway says of itself in the answer to `connect`.
package struct ServerIdentity: Sendable {
    package var name: String
    package var version: String

    package init(name: String, version: String) {
        self.name = name
        self.version = version
    }
}
