import Rules

/// Whether users are there: `presence.*` of the configuration, in milliseconds, with their
/// defaults.
package struct PresenceOptions: Sendable, Equatable {
    /// A connection is told of those whom it watches once in so long, at most.
    package var interval: Int64 = 1000
    /// How long a user without a connection stays as they were.
    package var linger: Int64 = 10_000
    /// For how long a renewal of the gateway's lease holds.
    package var lease: Int64 = 15_000
    /// For how long users of a gateway whose lease lapsed are unknown.
    package var grace: Int64 = 60_000
    /// How long the origin keeps since when a user is absent.
    package var retain: Int64 = 30 * 24 * 3_600_000

    package init() {}

    package var rule: PresenceRule { PresenceRule(lease: lease, grace: grace) }
}
