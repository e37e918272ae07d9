import Chat

/// The newest change of a log that is known: `protocol.md` 1.
package struct Head: Sendable, Hashable {
    /// Changes when the log was recreated, restored or rewound.
    package var epoch: String
    /// The highest `seq` given, 0 in an empty conversation.
    package var seq: Int
    /// The number of the newest change.
    package var rev: Int
    /// What this log alone has at `rev`.
    package var mark: String
    /// The oldest `seq` that the origin still has, 1 if nothing was trimmed.
    package var floor: Int

    package init(epoch: String, seq: Int, rev: Int, mark: String, floor: Int = 1) {
        self.epoch = epoch
        self.seq = seq
        self.rev = rev
        self.mark = mark
        self.floor = floor
    }
}

/// What a holder of a conversation says that it holds: for every slot in `runs`, and slot 0, each
/// change up to number `asOf` of the log that `head` names.
package struct Have: Sendable, Hashable {
    package var head: Head
    package var asOf: Int
    package var runs: Coverage

    package init(head: Head, asOf: Int, runs: Coverage) {
        self.head = head
        self.asOf = asOf
        self.runs = runs
    }
}

/// Why an interval is not held, and thereby who heals it.
package enum GapCause: String, Sendable, Hashable, CaseIterable {
    case upstream, cache, slow, limit, cold, trimmed
}

/// An interval that is not held; `after` and `before` are exclusive.
package struct Gap: Sendable, Hashable {
    package var after: Int
    package var before: Int
    /// The number of places in it, or nil where numbering is not dense.
    package var missing: Int?
    package var cause: GapCause
    package var since: Timestamp

    package init(after: Int, before: Int, missing: Int?, cause: GapCause, since: Timestamp) {
        self.after = after
        self.before = before
        self.missing = missing
        self.cause = cause
        self.since = since
    }
}
