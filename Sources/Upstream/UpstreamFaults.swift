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
    package var trouble: String?

    /// How full the server's notification queue is, from 0 to 1; nil where there is none.
    package var notificationQueue: Double?

    package init() {}

    /// The trouble, and what to do about it.
    package var advice: (what: String, remedy: String)? {
        guard let trouble else { return nil }
        guard let mark = trouble.firstRange(of: Self.toDo) else {
            return (trouble, "Look at the origin and its log, and at the network on the way to it.")
        }
        let remedy = trouble[mark.upperBound...]
        return (
            String(trouble[..<mark.lowerBound]),
            remedy.prefix(1).uppercased() + remedy.dropFirst() + "."
        )
    }

    /// Stands between what a server said and what to do about it.
    static let toDo = " To do: "
}
