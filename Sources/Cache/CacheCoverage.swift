import Chat
import Ports
import SQLite
import Wire

/// How far the cache of another origin may be believed. The log itself may be believed entirely.
struct CacheCoverage {
    let rows: Rows
    /// Whether the file is the log itself, which is always complete.
    let isOrigin: Bool

    /// What the file claims to hold of a log; nil if the file is the log.
    func cached(_ log: LogRow) throws(CacheError) -> Cached? {
        guard !isOrigin else { return nil }
        let row = try rows.replica.row(log.cid)
        let seen = row.seen.map { seen in
            Head(
                epoch: log.head.epoch, seq: seen.seq, rev: seen.rev, mark: seen.mark,
                floor: log.head.floor)
        }
        return Cached(
            runs: try rows.coverage.runs(log.cid), changesFrom: row.changesFrom, seen: seen)
    }

    /// Whether the log has this mark at this rev; nil if unknown here. A cache knows the mark of
    /// its head, and those of the slots that it holds.
    func confirmation(_ log: LogRow, of head: Head) throws(CacheError) -> Bool? {
        guard head.epoch == log.head.epoch else { return false }
        guard !isOrigin else {
            return try rows.conversations.confirms(
                log.cid, rev: head.rev, mark: head.mark, newest: log.head.rev)
        }
        if head.rev == log.head.rev { return head.mark == log.head.mark }
        // At rev 0 every log is empty, and so is the mark.
        if head.rev <= 0 { return head.rev == 0 && head.mark.isEmpty }
        if let mark = try rows.replica.mark(log.cid, at: head.rev) { return head.mark == mark }
        if head.rev == log.recordRev, let mark = try rows.replica.row(log.cid).recordMark {
            return head.mark == mark
        }
        return nil
    }

    /// The places held as of the head; the rev above which the value of every changed slot is held,
    /// wherever the slot is; and the highest place that the log is known to have.
    func standing(
        _ log: LogRow
    ) throws(CacheError) -> (places: Coverage, changesFrom: Int, highest: Int) {
        guard let cached = try cached(log) else {
            var all = Coverage()
            all.insert(1, log.head.seq)
            return (all, 0, log.head.seq)
        }
        let highest = max(log.head.seq, cached.seen?.seq ?? 0)
        return (cached.standing, cached.changesFrom, highest)
    }
}
