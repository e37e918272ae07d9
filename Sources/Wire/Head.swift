import Chat

/// The newest known change of a log: `protocol.md` 1.
public struct Head: Sendable, Hashable {
    /// Changes when the log was recreated, restored or rewound.
    public var epoch: String
    /// The highest `seq` given, 0 in an empty conversation.
    public var seq: Int
    /// The number of the newest change.
    public var rev: Int
    /// An opaque mark that this log alone has at `rev`.
    public var mark: String
    /// The oldest `seq` that the origin still has, 1 if nothing was trimmed.
    public var floor: Int

    /// A head.
    public init(epoch: String, seq: Int, rev: Int, mark: String, floor: Int = 1) {
        self.epoch = epoch
        self.seq = seq
        self.rev = rev
        self.mark = mark
        self.floor = floor
    }
}

/// What a holder of a conversation holds, by its own claim: for every slot in `runs`, and slot 0,
/// each change up to number `asOf` of the log that `head` names.
public struct Have: Sendable, Hashable {
    /// The newest head seen.
    public var head: Head
    /// The number of the change up to which every slot in `runs` is known.
    public var asOf: Int
    /// The places held.
    public var runs: Coverage

    /// A holder's claim.
    public init(head: Head, asOf: Int, runs: Coverage) {
        self.head = head
        self.asOf = asOf
        self.runs = runs
    }
}

/// Why an interval is not held; the cause decides who heals it.
public enum GapCause: String, Sendable, Hashable, CaseIterable {
    case upstream, cache, slow, limit, cold, trimmed
}

/// An interval that is not held; `after` and `before` are exclusive.
public struct Gap: Sendable, Hashable {
    /// The place below the gap; 0 where it reaches down to the first.
    public var after: Int
    /// The place above the gap.
    public var before: Int
    /// The number of places in it, or nil where numbering is not dense.
    public var missing: Int?
    /// Why it is not held.
    public var cause: GapCause
    /// Since when.
    public var since: Timestamp

    /// An interval that is not held.
    public init(after: Int, before: Int, missing: Int?, cause: GapCause, since: Timestamp) {
        self.after = after
        self.before = before
        self.missing = missing
        self.cause = cause
        self.since = since
    }
}
