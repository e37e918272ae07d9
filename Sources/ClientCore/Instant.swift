import Chat

/// The present. The runner of a session reads it from the system and passes it in: the core has no
/// clock of its own.
public struct Instant: Sendable, Hashable {
    /// Milliseconds on a clock that never goes back.
    public var monotonic: Int64
    /// The time of day, which may be wrong.
    public var clock: Timestamp

    /// A moment.
    public init(monotonic: Int64, clock: Timestamp) {
        self.monotonic = monotonic
        self.clock = clock
    }
}
