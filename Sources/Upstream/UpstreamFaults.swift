/// Why a log was given a new epoch.
package enum NewEpochReason: String, Sendable, Hashable, CaseIterable {
    /// The log ends below changes that were read from it.
    case rewound
    /// The log has other changes in their place.
    case forked
}

/// Why a server refused a write, in the server's own word.
package enum RefusedWrite: String, Sendable, Hashable, CaseIterable {
    case oom, misconf, noreplicas, readonly, loading, busy, noperm, other
}

/// Faults of an upstream since the start, for health and metrics.
package struct UpstreamFaults: Sendable, Hashable {
    /// Logs to which this gateway gave a new epoch.
    package var newEpochs: [NewEpochReason: Int] = [:]

    /// Writes that the origin's server refused.
    package var refusedWrites: [RefusedWrite: Int] = [:]
    /// Why the upstream is offline or can't write; nil if it is well.
    package var trouble: UpstreamNotice?

    /// How full the server's notification queue is, from 0 to 1; nil where there is none.
    package var notificationQueue: Double?

    package init() {}
}
