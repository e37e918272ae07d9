import Chat
import Ports
import Wire

/// What the cache holds of a log that lives elsewhere, and what is still to be written to it. Part
/// of a stream's replica; it knows neither the stream nor the engine. `ReplicaWriter` gathers the
/// writes for the turn's transaction.
///
/// It has three states: *attached*: all of it is in the file or in this turn's transaction;
/// *trimming* (`trimmedAt`): the file was asked to trim and has not reported what is left;
/// *detached*: the file could not be written, and nothing in it counts.
struct ReplicaCopy {
    /// Slots that the cache holds as of the stream's position.
    private(set) var held = Coverage()
    /// The change above which the cache has the current value of every changed slot.
    private(set) var changesFrom = 0
    /// The newest change known when the cache was asked to trim, until it has reported what is
    /// left: trimmed rows may have changed as late as this.
    private(set) var trimmedAt: Int?
    /// The file could not be written: nothing in it counts until it can.
    private(set) var isDetached = false
    /// How often answers of the cache that were on their way became void: the copy began with
    /// nothing held, or the cache trimmed it by itself.
    private(set) var beginnings = 0
    /// A read with this question number or a lower one may lack later changes.
    private(set) var lastChange: UInt64 = 0
    /// Backfill of changes for a holder older than `changesFrom`: from which change, and up to
    /// which it was read.
    private(set) var backfill: Backfill?
    /// It changed, and this turn has not written that yet.
    private(set) var isUnsaved = false
    /// Slots of this turn that are not written to the cache yet.
    private var unsaved = Coverage()
    /// As of which change runs are written; every value from `changesFrom` on means the same.
    private var runsAsOf = 0
    /// Messages written since the last trim.
    private var written = 0
    /// Since when the file could not be written, over all retries; nil if it could.
    private var unstoredSince: Timestamp?

    // MARK: - Values

    /// Whether the cache takes a value that is the newest as of this change. Below `changesFrom` a
    /// newer value may exist that the cache does not have.
    func takes(valueAsOf rev: Int) -> Bool { !isDetached && rev >= changesFrom }

    /// A message was given to the cache after the question with this number.
    /// - Returns: whether this turn must now save it: true the first time.
    mutating func noteMessage(at seq: Int, after question: UInt64) -> Bool {
        lastChange = question
        written += 1
        return hold(Coverage(seq, seq))
    }

    /// The slots are held as of the stream's position.
    /// - Returns: as `move`.
    mutating func hold(_ places: Coverage) -> Bool {
        guard !isDetached, !places.isEmpty else { return false }
        held = held.union(places)
        unsaved = unsaved.union(places)
        return move()
    }

    /// The position or what is held has changed.
    /// - Returns: whether this turn must now save it: true the first time.
    mutating func move() -> Bool {
        guard !isDetached, !isUnsaved else { return false }
        isUnsaved = true
        return true
    }

    /// The log trimmed everything below.
    mutating func raiseFloor(to floor: Int) {
        held.remove(1, floor - 1)
        unsaved.remove(1, floor - 1)
    }

    // MARK: - Writes

    /// The contents for the turn's transaction; nil if nothing changed.
    mutating func takeUnsaved() -> (places: Coverage, asOf: Int)? {
        guard isUnsaved else { return nil }
        defer { forgetUnsaved() }
        return (unsaved, runsAsOf)
    }

    private mutating func forgetUnsaved() {
        isUnsaved = false
        unsaved = Coverage()
    }

    /// Nothing held counts; the file is told to drop it.
    mutating func drop() { forgetUnsaved() }

    /// Whether this many messages were written since the last trim.
    func hasWritten(_ count: Int) -> Bool { written >= count }

    /// The cache is asked to trim; the log is known up to this change.
    mutating func trim(at rev: Int?) {
        written = 0
        trimmedAt = rev
        backfill = nil
    }

    /// The cache reported what it holds.
    /// - Parameter isCurrent: as of the stream's position. Otherwise it was read before a change
    ///   that the stream has taken since: what it reports as gone is gone, and what came since is
    ///   held too.
    /// - Returns: whether that is final; if not, it is read once more.
    mutating func reload(_ cached: Cached, isCurrent: Bool) -> Bool {
        trimmedAt = nil
        backfill = nil
        guard isCurrent, !isUnsaved else {
            held = held.intersection(cached.standing.union(unsaved))
            changesFrom = max(changesFrom, cached.changesFrom)
            return false
        }
        adopt(cached)
        return true
    }

    /// The cache trimmed by itself. What it holds is read again, since an answer that was read
    /// before would bring back what is gone.
    mutating func shrink(to cached: Cached) {
        beginnings += 1
        _ = reload(cached, isCurrent: false)
    }

    /// Takes over what the cache claims.
    mutating func adopt(_ cached: Cached) {
        changesFrom = cached.changesFrom
        held = cached.standing
        runsAsOf = max(changesFrom, cached.runs.map(\.asOf).max() ?? 0)
    }

    /// Drops everything that is held; keeps changes above `rev` from now on.
    mutating func begin(asOf rev: Int) {
        beginnings += 1
        trimmedAt = nil
        held = Coverage()
        unsaved = Coverage()
        changesFrom = rev
        runsAsOf = rev
        backfill = nil
    }

    // MARK: - The file

    /// The file could not be written. What it holds no longer counts.
    /// - Parameter rev: the newest change known.
    /// - Returns: since when the file could not be written (retries don't make a new gap); nil if
    ///   it was detached already.
    mutating func detach(at rev: Int, at now: Timestamp) -> Timestamp? {
        guard !isDetached else { return nil }
        isDetached = true
        begin(asOf: rev)
        isUnsaved = false
        let since = unstoredSince ?? now
        unstoredSince = since
        return since
    }

    /// The file is tried again.
    mutating func attach() { isDetached = false }

    /// The file was written.
    mutating func noteStored() {
        if !isDetached { unstoredSince = nil }
    }

    // MARK: - Backfill

    /// A holder needs the changes above this one. One backfill serves every holder that it reaches
    /// back to.
    mutating func fillBack(from rev: Int) {
        if let backfill, rev >= backfill.from { return }
        backfill = Backfill(from: rev, upTo: rev)
    }

    /// The changes from the backfill's beginning up to this one were read.
    /// - Parameter head: the newest change that the log had then. It may have replaced a value
    ///   below that was not read, and that the cache lacks: the stream takes it first.
    mutating func filledBack(upTo rev: Int, more: Bool, head: Head) {
        backfill?.upTo = rev
        if !more || rev >= changesFrom { backfill?.until = head }
    }

    /// The stream has taken what the backfill waited for.
    /// - Returns: the change above which the cache lacks no more.
    mutating func settleBackfill() -> Int? {
        guard let from = backfill?.from else { return nil }
        changesFrom = from
        backfill = nil
        return from
    }

    /// The feed or the log may be another one: the backfill does not count.
    mutating func stopBackfill() { backfill = nil }

    /// Changes that are read for holders from long ago.
    struct Backfill {
        /// From which change they are needed, and up to which they were read.
        let from: Int
        var upTo: Int
        /// All were read, and it is over when the stream has taken this one; nil: some are not.
        var until: Head?
    }
}
