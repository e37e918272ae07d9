import Chat
import Ports
import Wire

/// Which places a page spans, worked out from the request alone: in dense numbering every place
/// between floor and head has a message.
extension PageRequest {
    /// The first anchor whose place is not known yet, with the name of its field.
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

    /// The places of the page.
    /// - Parameter place: the last message before the moment of `around`, where that is a moment.
    func range(floor: Int, newest: Int, _ place: Int?) -> Coverage {
        var low = floor
        var high = newest
        if case .seq(let seq) = before { high = min(high, seq - 1) }
        if case .seq(let seq) = after { low = max(low, seq + 1) }
        switch around {
        case .seq(let seq):
            // Up to so many on each side, also of an anchor that lies beyond the log.
            low = max(low, min(seq, high + 1) - limit)
            high = min(high, max(seq, floor - 1) + limit)
        case .time:
            low = max(low, (place ?? 0) - limit + 1)
            high = min(high, (place ?? 0) + limit)
        case .id, nil:
            // From which end the page is filled.
            if after == nil || before != nil && order == .desc {
                low = max(low, high - limit + 1)
            } else {
                high = min(high, low + limit - 1)
            }
        }
        return Coverage.closed(low, high)
    }

    /// Whether the page would begin below the floor, were there still something. The latest page
    /// asks for no place.
    func reaches(below floor: Int, newest: Int, _ place: Int?) -> Bool {
        guard before != nil || after != nil || around != nil else { return false }
        return range(floor: 1, newest: newest, place).first.map { $0 < floor } ?? false
    }
}

extension Page {
    /// The page with what dense numbering says of its surroundings; the rows of a cache say nothing
    /// of what is not in it.
    func settled(floor: Int, newest: Int, _ request: PageRequest, _ place: Int?) -> Page {
        var page = self
        let covers = covers
        let isAny = floor <= newest
        if let low = covers.first, let high = covers.last {
            page.hasMoreBefore = floor < low
            page.hasMoreAfter = high < newest
            return page
        }
        // An empty page is looked at from its anchors.
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
    /// How many messages or conversations are asked for.
    var limit: Int { row.limit }

    /// The conversation whose messages or record a write changes.
    var written: String? { row.kind == .write ? row.conversation : nil }
}
