import Chat

/// The present, as whoever runs a session reads it from the system and passes it in: the core has
/// no clock of its own.
package struct Instant: Sendable, Hashable {
    /// Milliseconds on a clock that never goes back.
    package var monotonic: Int64
    /// The time of day, which may be wrong.
    package var clock: Timestamp

    package init(monotonic: Int64, clock: Timestamp) {
        self.monotonic = monotonic
        self.clock = clock
    }
}
