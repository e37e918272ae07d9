import Chat
import Ports
import SQLite
import Wire

/// Reads pages: from an anchor, in one direction, with `hasMore`.
extension Reader {
    /// The place of an anchor. For a message both bounds are its seq; for a moment they are the
    /// seqs on either side of the place between two messages.
    private struct Place {
        /// Messages after the place lie above this seq.
        var lower: Int
        /// Messages before the place lie below this seq.
        var upper: Int
    }

    /// The messages of a page, newest first, and the ends of the page if it is empty.
    private struct Span {
        var messages: [EncodedMessage]
        /// The older end, if there is no message.
        var older: Place
        /// The newer end, if there is no message.
        var newer: Place
    }

    /// - Throws: `RequestError`, if an anchor does not exist.
    func page(_ log: LogRow, _ request: PageRequest) throws -> Page {
        let span = try span(log, request)
        let older = span.messages.last?.seq ?? span.older.upper
        let newer = span.messages.first?.seq ?? span.newer.lower
        return Page(
            messages: request.order == .desc ? span.messages : span.messages.reversed(),
            hasMoreBefore: try rows.messages.isAny(log.cid, below: older),
            hasMoreAfter: try rows.messages.isAny(log.cid, above: newer),
            head: log.head)
    }

    private func span(_ log: LogRow, _ request: PageRequest) throws -> Span {
        let messages = rows.messages
        let limit = request.limit
        let before = try request.before.map { try place(log, $0, "before") }
        let after = try request.after.map { try place(log, $0, "after") }
        if let around = request.around {
            guard before == nil, after == nil else {
                throw RequestError(
                    .fieldsExclusive, "around: not accepted together with before or after")
            }
            return try span(log, around: try place(log, around, "around"), limit)
        }
        switch (before, after) {
        case (let before?, let after?):
            let found =
                switch request.order {
                case .desc:
                    try messages.below(
                        log.cid, before.upper, above: after.lower, limit: limit, bytes: bytes)
                case .asc:
                    try messages.above(
                        log.cid, after.lower, below: before.upper, limit: limit, bytes: bytes
                    ).reversed() as [EncodedMessage]
                }
            return Span(messages: found, older: after, newer: before)
        case (let before?, nil):
            let found = try messages.below(log.cid, before.upper, limit: limit, bytes: bytes)
            return Span(messages: found, older: before, newer: before)
        case (nil, let after?):
            let found = try messages.above(log.cid, after.lower, limit: limit, bytes: bytes)
            return Span(messages: found.reversed(), older: after, newer: after)
        case (nil, nil):
            let found = try messages.below(log.cid, .max, limit: limit, bytes: bytes)
            let end = Place(lower: .max, upper: 0)
            return Span(messages: found, older: end, newer: end)
        }
    }

    private func span(_ log: LogRow, around place: Place, _ limit: Int) throws(CacheError) -> Span {
        let messages = rows.messages
        // A moment lies between two messages and is not one itself.
        let anchor =
            place.lower == place.upper ? try messages.message(log.cid, at: place.lower) : nil
        // The newer side may take half of the bytes, the older side all that is left.
        let room = bytes - (anchor?.json.count ?? 0)
        let newer = try messages.above(log.cid, place.lower, limit: limit, bytes: room / 2)
        let taken = newer.reduce(0) { $0 + $1.json.count }
        let older = try messages.below(log.cid, place.upper, limit: limit, bytes: room - taken)
        return Span(
            messages: newer.reversed() + (anchor.map { [$0] } ?? []) + older, older: place,
            newer: place)
    }

    private func place(_ log: LogRow, _ anchor: Anchor, _ field: String) throws -> Place {
        switch anchor {
        case .seq(let seq):
            return Place(lower: seq, upper: seq)
        case .id(let id):
            guard let seq = try rows.messages.place(log.cid, id: id) else {
                throw RequestError(
                    .messageNotFound, "\(field): no such message in this conversation")
            }
            return Place(lower: seq, upper: seq)
        case .time(let moment):
            // After all messages, if all of them are older.
            let first = try rows.messages.place(log.cid, notBefore: moment)
            let place = try first ?? max(log.head.seq, rows.messages.newest(log.cid)) + 1
            return Place(lower: place - 1, upper: place)
        }
    }
}
