import Chat
import Engine
import Ports
import Wire

/// A store's answers about one log, as of one of its changes, computed by looking at everything.
extension ModelLog {
    package func load(asOf rev: Int) -> Loaded {
        Loaded(record: record(asOf: rev), head: head(asOf: rev), lastMessage: last(asOf: rev))
    }

    package func ids(_ places: [Int], asOf rev: Int) -> [Int: String] {
        var ids: [Int: String] = [:]
        for place in places where floor <= place && place <= highest(asOf: rev) {
            ids[place] = message(place).id
        }
        return ids
    }

    /// The changes and messages that a holder is missing.
    package func catchUp(_ have: Have, limit: Int, bytes: Int = 1 << 20, asOf: Int? = nil)
        -> CatchUp
    {
        let rev = asOf ?? self.rev
        let highest = highest(asOf: rev)
        let isConfirmed =
            has(have.head) && have.head.rev <= rev && have.asOf <= have.head.rev
        var read = CatchUp(isConfirmed: isConfirmed, head: head(asOf: rev))
        if isConfirmed {
            let runs = have.runs.clipped(1, highest)
            let changed = stride(from: 1, through: highest, by: 1)
                .filter { runs.contains($0) && self.rev(of: $0, asOf: rev) > have.asOf }
                .sorted { self.rev(of: $0, asOf: rev) > self.rev(of: $1, asOf: rev) }
            read.changed = changed.prefix(limit).map { message($0, asOf: rev) }
            read.outdated = Coverage(places: changed.dropFirst(limit))
            let left = max(0, limit - changed.count)
            read.tail = newest(left, above: runs.last ?? 0, asOf: rev)
        } else {
            read.tail = newest(limit, above: 0, asOf: rev)
        }
        read.identify(ids(read.placesToIdentify(have, bytes: bytes), asOf: rev))
        return read
    }

    /// At most `limit` messages above a seq, newest first.
    private func newest(_ limit: Int, above place: Int, asOf rev: Int) -> [EncodedMessage] {
        let high = highest(asOf: rev)
        let low = max(place + 1, high - limit + 1)
        return stride(from: high, through: low, by: -1).map { message($0, asOf: rev) }
    }

    /// Every slot that changed above `since`, ascending by rev.
    /// - Throws: `RequestError.conflict` if this log has no such change.
    package func changes(
        since: Int, mark: String?, limit: Int, recordAbove: Int? = nil
    ) throws(RequestError) -> Changes {
        guard since <= rev, mark.map({ confirms($0, at: since) }) ?? true else {
            throw RequestError(.changeUnknown, "since: this log has no such change")
        }
        let slots = ([0] + stride(from: floor, through: highest, by: 1))
            .filter { rev(of: $0) > since }
            .sorted { rev(of: $0) < rev(of: $1) }
        let taken = slots.prefix(limit)
        let more = taken.count < slots.count
        let upTo = more ? taken.last.map { rev(of: $0) } ?? since : rev
        let isAsked = recordAbove.map { rev(of: 0) > $0 } ?? false
        return Changes(
            messages: taken.filter { $0 > 0 }.map { message($0) },
            record: isAsked || taken.contains(0) ? record() : nil, head: head, upTo: upTo,
            more: more)
    }

    /// A mark that is no longer kept proves nothing.
    private func confirms(_ mark: String, at rev: Int) -> Bool {
        (rev == 0 || rev > base) && mark == self.mark(at: rev)
    }

    // MARK: - Pages

    /// The place of a page's anchor: messages before it have a seq below `upper`, those after it
    /// above `lower`. For a message both are its seq, for a time the seqs around it.
    private struct Place {
        var lower: Int
        var upper: Int
    }

    /// - Throws: `RequestError` if an anchor does not exist.
    package func page(_ request: PageRequest, asOf rev: Int) throws(RequestError) -> Page {
        let highest = highest(asOf: rev)
        let before = try place(request.before, highest)
        let after = try place(request.after, highest)
        let around = try place(request.around, highest)
        // With dense numbering a page is an interval.
        var low = max(floor, ((around ?? after)?.lower ?? 0) + 1)
        var high = min(highest, ((around ?? before)?.upper ?? highest + 1) - 1)
        if around != nil {
            (low, high) = (
                max(floor, high - request.limit + 1), min(highest, low + request.limit - 1)
            )
        } else if after != nil, before == nil || request.order == .asc {
            high = min(high, low + request.limit - 1)
        } else {
            low = max(low, high - request.limit + 1)
        }
        let ascending = stride(from: low, through: high, by: 1).map { message($0, asOf: rev) }
        let isEmpty = ascending.isEmpty
        let older = isEmpty ? (around ?? after ?? before)?.upper ?? 0 : low
        let newer = isEmpty ? (around ?? before ?? after)?.lower ?? highest : high
        return Page(
            messages: request.order == .asc ? ascending : ascending.reversed(),
            hasMoreBefore: min(highest, older - 1) >= floor,
            hasMoreAfter: max(newer + 1, floor) <= highest,
            head: head(asOf: rev))
    }

    private func place(_ anchor: Anchor?, _ highest: Int) throws(RequestError) -> Place? {
        switch anchor {
        case nil:
            return nil
        case .seq(let seq):
            return Place(lower: seq, upper: seq)
        case .id(let id):
            let seq = stride(from: floor, through: highest, by: 1).first { message($0).id == id }
            guard let seq else { throw .noMessage }
            return Place(lower: seq, upper: seq)
        case .time(let moment):
            let first = stride(from: floor, through: highest, by: 1)
                .first { message($0).createdAt >= moment }
            return Place(lower: (first ?? highest + 1) - 1, upper: first ?? highest + 1)
        }
    }
}
