import Chat
import Ports
import SQLite
import Wire

/// What a holder is missing: by runs for a client that resumes, by rev for another cache that
/// follows.
extension Reader {
    /// How many changes are searched for those inside a holder's runs. Each costs some 100 ns; a
    /// holder that is further behind gets all that it holds reported as outdated.
    static let changesLimit = 10_000

    /// What a holder is missing of this log, restricted to what the file can prove: the cache of
    /// another origin returns no change that may be outdated, and no message above a hole; the
    /// parts of the holder's runs that it can't judge are outdated.
    ///
    /// A cache also treats as confirmed what it can't judge. Its caller has had the holder's head
    /// confirmed before (`Query.confirm`), by the origin if need be.
    func catchUp(
        _ notes: CatchUpMemo.Notes, _ have: Have, limit: Int, bytes: Int
    ) throws(CacheError) -> CatchUp {
        let log = notes.log
        let head = log.head
        let standing = notes.standing
        // Messages above a hole would hide it.
        let hole = standing.places.run(at: standing.highest).map { $0.low - 1 } ?? standing.highest
        let isKnown = try memo.confirmation(notes, of: have.head) ?? true
        guard isKnown, have.asOf <= have.head.rev else {
            let tail = try memo.tail(notes, .init(above: hole, limit: limit, bytes: bytes))
            return CatchUp(isConfirmed: false, tail: tail, head: head)
        }
        let runs = have.runs.clipped(1, standing.highest)
        let isComplete = have.asOf >= standing.changesFrom
        let known = isComplete ? runs : runs.intersection(standing.places)
        var read = CatchUp(isConfirmed: true, head: head)
        // A catch-up stores values above the position before the stream delivers them. A holder
        // that resumes in between, even with the stream's own `asOf`, would get them from nobody.
        if !known.isEmpty, !coverage.isOrigin || have.asOf < head.rev {
            try readChanges(
                notes, inside: known, since: have.asOf, atMost: (limit, bytes), into: &read)
        }
        read.outdated = read.outdated.union(runs.subtracting(known))
        let left = bytes - read.changed.reduce(0) { $0 + $1.json.count }
        if read.changed.count < limit, left >= 0 {
            read.tail = try memo.tail(
                notes,
                .init(
                    above: max(hole, runs.last ?? 0), limit: limit - read.changed.count,
                    bytes: left))
        }
        read.identify(
            try memo.ids(notes, at: read.placesToIdentify(have, bytes: bytes)))
        return read
    }

    private func readChanges(
        _ notes: CatchUpMemo.Notes, inside runs: Coverage, since rev: Int,
        atMost: (messages: Int, bytes: Int), into read: inout CatchUp
    ) throws(CacheError) {
        let places = try memo.changes(notes, since: rev, limit: Self.changesLimit + 1)
        var taken = 0
        var outdated: [Int] = []
        for place in places.prefix(Self.changesLimit) where runs.contains(place) {
            if read.changed.count < atMost.messages, taken <= atMost.bytes,
                let message = try memo.message(notes, at: place)
            {
                taken += message.json.count
                read.changed.append(message)
            } else {
                outdated.append(place)
            }
        }
        read.outdated =
            places.count <= Self.changesLimit
            ? Coverage(places: outdated)
            : runs.subtracting(Coverage(places: read.changed.map(\.seq)))
    }

    /// At most `limit` slots that changed after `since`, in the order of the log.
    /// - Throws: `RequestError.conflict`, if this log has no such change.
    func changes(
        _ log: LogRow, since: Int, mark: String?, limit: Int, recordAbove: Int? = nil
    ) throws -> Changes {
        let head = log.head
        let isKnown =
            if let mark {
                try rows.conversations.confirms(log.cid, rev: since, mark: mark, newest: head.rev)
            } else {
                since <= head.rev
            }
        guard isKnown else {
            throw RequestError(.changeUnknown, "since: this log has no such change")
        }
        var messages = try rows.messages.changes(log.cid, since: since, limit: limit, bytes: bytes)
        var more =
            if let last = messages.last {
                try rows.messages.isAny(log.cid, changedAfter: last.rev)
            } else {
                false
            }
        var upTo = more ? messages.last?.rev ?? since : head.rev
        var hasRecord = since < log.recordRev && log.recordRev <= upTo
        if hasRecord, messages.count == limit, let last = messages.last {
            // One slot too many: the one with the highest rev is left for the next call.
            more = true
            if log.recordRev > last.rev { hasRecord = false } else { messages.removeLast() }
            upTo = max(messages.last?.rev ?? since, hasRecord ? log.recordRev : since)
        }
        hasRecord = hasRecord || recordAbove.map { log.recordRev > $0 } ?? false
        return Changes(
            messages: messages, record: hasRecord ? try rows.record(log) : nil, head: head,
            upTo: upTo, more: more)
    }
}
