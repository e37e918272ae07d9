import Chat
import Ports
import Wire

/// Which messages a page spans, computed from the request alone: in dense numbering each seq
/// between floor and head has a message.
extension PageRequest {
    /// The first anchor whose seq is unknown, with the name of its field.
    func unplaced(_ call: Call) -> (anchor: Anchor, field: String)? {
        for (anchor, field) in [(before, "before"), (after, "after"), (around, "around")] {
            switch anchor {
            case .id: return anchor.map { ($0, field) }
            case .time where call.place == nil || field != "around":
                return anchor.map { ($0, field) }
            case .seq, .time, nil: continue
            }
        }
        return nil
    }

    /// The seqs of the page.
    /// - Parameter place: if `around` is a time: the last message before it.
    func range(floor: Int, newest: Int, _ place: Int?) -> Coverage {
        var low = floor
        var high = newest
        if case .seq(let seq) = before { high = min(high, seq - 1) }
        if case .seq(let seq) = after { low = max(low, seq + 1) }
        switch around {
        case .seq(let seq):
            // Up to `limit` on each side, also if the anchor lies beyond the log.
            low = max(low, min(seq, high + 1) - limit)
            high = min(high, max(seq, floor - 1) + limit)
        case .time:
            low = max(low, (place ?? 0) - limit + 1)
            high = min(high, (place ?? 0) + limit)
        case .id, nil:
            // The end from which the page is filled.
            if after == nil || before != nil && order == .desc {
                low = max(low, high - limit + 1)
            } else {
                high = min(high, low + limit - 1)
            }
        }
        return Coverage.closed(low, high)
    }

    /// Whether the page would begin below the floor if messages were left there. The latest page
    /// has no anchor.
    func reaches(below floor: Int, newest: Int, _ place: Int?) -> Bool {
        guard before != nil || after != nil || around != nil else { return false }
        return range(floor: 1, newest: newest, place).first.map { $0 < floor } ?? false
    }
}

extension Page {
    /// The page with `hasMore` from dense numbering: a cache's rows don't show what the cache
    /// lacks.
    func settled(floor: Int, newest: Int, _ request: PageRequest, _ place: Int?) -> Page {
        var page = self
        let covers = covers
        let isAny = floor <= newest
        if let low = covers.first, let high = covers.last {
            page.hasMoreBefore = floor < low
            page.hasMoreAfter = high < newest
            return page
        }
        // An empty page is judged from its anchors.
        func seq(_ anchor: Anchor?) -> Int? {
            if case .seq(let seq) = anchor { seq } else { nil }
        }
        let older = seq(request.after) ?? seq(request.before) ?? seq(request.around)
        let newer = seq(request.before) ?? seq(request.after) ?? seq(request.around)
        let between = place.map { ($0 + 1, $0) }
        page.hasMoreBefore = isAny && floor < (older ?? between?.0 ?? 0)
        page.hasMoreAfter = isAny && newest > (newer ?? between?.1 ?? newest)
        return page
    }
}

extension Request {
    /// How many messages or conversations the request asks for.
    var limit: Int { row.limit }

    /// The conversation that a write changes.
    var written: String? { row.kind == .write ? row.conversation : nil }
}
