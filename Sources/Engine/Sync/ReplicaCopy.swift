import Chat
import Ports
import Wire

/// What the cache holds of a log that lives elsewhere, and what it is yet to be told. Part of a
/// stream's replica; it knows neither the stream nor the engine. `ReplicaWriter` gathers what it
/// says for the turn's transaction.
///
/// It is in one of three states: *attached*, when what it says stands in the file or goes there in
/// this turn; *trimming* (`trimmedAt`), when the file was told to drop what it need not keep and
/// has not said what is left; *detached*, when the file could not take it, and nothing counts.
struct ReplicaCopy {
    /// Places that the cache holds as of the stream's position.
    private(set) var held = Coverage()
    /// The change above which every slot that changed is in the cache with that value.
    private(set) var changesFrom = 0
    /// The newest change known when the cache was asked to drop what it need not keep, as long as
    /// it has not said what is left: what it dropped may have changed as late as this.
    private(set) var trimmedAt: Int?
    /// The file could not take what was written: nothing in it counts until it can.
    private(set) var isDetached = false
    /// How often the cache began with nothing held.
    private(set) var beginnings = 0
    /// What is read of the cache by a question up to this one may lack what came since.
    private(set) var lastChange: UInt64 = 0
    /// Reading backwards (the backfill of changes) for a holder that is older than `changesFrom`:
    /// from which change, and up to which it is read.
    private(set) var backfill: (from: Int, upTo: Int)?
    /// It has moved, and the cache is yet to be told so in this turn.
    private(set) var isUnsaved = false
    /// Places of this turn that the cache is yet to be told of.
    private var unsaved = Coverage()
    /// As of which change runs are written; any from `changesFrom` on means the same.
    private var runsAsOf = 0
    /// Messages written since the cache was last trimmed.
    private var written = 0
    /// Since when the file has not taken it, however often that was tried; nil if it has.
    private var unstoredSince: Timestamp?

    // MARK: - Values come

    /// Whether the cache takes a value that is the newest up to this change. What the cache leaves
    /// out may be newer than a value of before that.
    func takes(valueAsOf rev: Int) -> Bool { !isDetached && rev >= changesFrom }

    /// A message was given to the cache, after the question with this number.
    /// - Returns: whether the turn is to save it, unless that is known.
    mutating func noteMessage(at seq: Int, after question: UInt64) -> Bool {
        lastChange = question
        written += 1
        return hold(Coverage(seq, seq))
    }

    /// The places are held as of the stream's position.
    /// - Returns: as `move`.
    mutating func hold(_ places: Coverage) -> Bool {
        guard !isDetached, !places.isEmpty else { return false }
        held = held.union(places)
        unsaved = unsaved.union(places)
        return move()
    }

    /// The position or what is held has changed.
    /// - Returns: whether the turn is to save it, and did not know that.
    mutating func move() -> Bool {
        guard !isDetached, !isUnsaved else { return false }
        isUnsaved = true
        return true
    }

    /// The log has thrown away what lies below.
    mutating func raiseFloor(to floor: Int) {
        held.remove(1, floor - 1)
        unsaved.remove(1, floor - 1)
    }

    // MARK: - Values are written

    /// What goes into the turn's transaction; nil if there is nothing to say.
    mutating func takeUnsaved() -> (places: Coverage, asOf: Int)? {
        guard isUnsaved else { return nil }
        defer { forgetUnsaved() }
        return (unsaved, runsAsOf)
    }

    private mutating func forgetUnsaved() {
        isUnsaved = false
        unsaved = Coverage()
    }

    /// Nothing that is held counts; the file is told to forget it.
    mutating func drop() { forgetUnsaved() }

    /// Whether the file has taken so many messages since the last trim.
    func hasWritten(_ count: Int) -> Bool { written >= count }

    /// The cache is asked to drop what it need not keep; the log is known up to this change.
    mutating func trim(at rev: Int?) {
        written = 0
        trimmedAt = rev
        backfill = nil
    }

    /// The cache has said what it holds.
    /// - Parameter isCurrent: it stands where the stream does. Otherwise it was read before a
    ///   change that the stream has taken since: what it says is gone is gone, and what came since
    ///   is held too.
    /// - Returns: whether that is all; if not, it is asked once more.
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

    /// Takes over what the cache claims.
    mutating func adopt(_ cached: Cached) {
        changesFrom = cached.changesFrom
        held = cached.standing
        runsAsOf = max(changesFrom, cached.runs.map(\.asOf).max() ?? 0)
    }

    /// Nothing is held any more; what changes above `rev` is kept from now on.
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

    /// The file could not take what it was told. What it holds no longer counts.
    /// - Parameter rev: the newest change known.
    /// - Returns: since when the file has not taken it: what can't be stored is not a new gap each
    ///   time that it is tried again. Nil if it was detached already.
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

    /// The file has taken what it was told.
    mutating func noteStored() {
        if !isDetached { unstoredSince = nil }
    }

    // MARK: - Backfill

    /// Somebody holds values as of this change, and is to be told what changed above it. One
    /// reading backwards serves all that it reaches back to.
    mutating func fillBack(from rev: Int) {
        if let backfill, rev >= backfill.from { return }
        backfill = (rev, rev)
    }

    /// The changes from `from` up to this one were read.
    /// - Returns: whether those are all that the cache lacked.
    mutating func filledBack(from: Int, upTo rev: Int, more: Bool) -> Bool {
        if more, rev < changesFrom {
            backfill?.upTo = rev
            return false
        }
        changesFrom = from
        backfill = nil
        return true
    }

    /// The feed or the log may be another: what is read backwards does not count.
    mutating func stopBackfill() { backfill = nil }
}
