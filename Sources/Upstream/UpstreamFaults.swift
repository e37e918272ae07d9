/// Why a log was given a new epoch.
package enum NewEpochReason: String, Sendable, Hashable, CaseIterable {
    /// It ends below changes that somebody took from it.
    case rewound
    /// It has other changes in their place.
    case forked
}

/// Why a server did not take a write, by its own word for it.
package enum RefusedWrite: String, Sendable, Hashable, CaseIterable {
    case oom, misconf, noreplicas, readonly, loading, busy, noperm, other
}

/// What went wrong at an upstream since the start, for health and metrics.
package struct UpstreamFaults: Sendable, Hashable {
    /// Logs that got a new epoch from this gateway.
    package var newEpochs: [NewEpochReason: Int] = [:]

    /// Writes that the origin's server refused.
    package var refusedWrites: [RefusedWrite: Int] = [:]
    /// What keeps it from being online, or from writing; nil if nothing does.
    package var trouble: String?

    /// How full the server's notification queue is, from 0 to 1; nil where there is none.
    package var notificationQueue: Double?

    package init() {}
}
