import Chat
import Engine
import Ports
import Wire

/// The answers of a cache of another origin, computed by looking at every row.
extension CachedLogs {
    package func answer(_ query: Query) -> Result<Answer, RequestError> {
        do throws(RequestError) {
            return .success(try read(query))
        } catch {
            return .failure(error)
        }
    }

    private func read(_ query: Query) throws(RequestError) -> Answer {
        switch query {
        case .load(let id):
            let entry = try entry(id)
            return .loaded(
                Loaded(
                    record: entry.record, head: entry.head, lastMessage: entry.newestUndeleted,
                    cached: entry.cached))
        case .page(let id, let request):
            return .page(try entry(id).page(request))
        case .catchUp(let id, let have, let limit, let bytes):
            return .catchUp(try entry(id).catchUp(have, limit: limit, bytes: bytes))
        case .ids(let id, let places):
            return .ids(try entry(id).ids(places))
        case .place(let id, let message):
            return .place(try entry(id).rows.values.first { $0.message.id == message }?.message.seq)
        case .confirm(let id, let head):
            return .confirmation(try entry(id).confirmation(of: head))
        case .view, .conversations, .conversationsSince, .participants, .listed:
            preconditionFailure("a question that only a log is asked")
        }
    }

    private func entry(_ id: String) throws(RequestError) -> Entry {
        guard let entry = entries[id] else { throw .noConversation }
        return entry
    }
}

extension CachedLogs.Entry {
    fileprivate func ids(_ places: [Int]) -> [Int: String] {
        var ids: [Int: String] = [:]
        for place in places { ids[place] = rows[place]?.message.id }
        return ids
    }

    fileprivate func confirmation(of head: Head) -> Bool? {
        guard head.epoch == self.head.epoch else { return false }
        if head.rev == self.head.rev { return head.mark == self.head.mark }
        if head.rev <= 0 { return head.rev == 0 && head.mark.isEmpty }
        let marked = rows.values.first { $0.message.rev == head.rev && $0.mark != nil }
        if let mark = marked?.mark { return head.mark == mark }
        if head.rev == record.rev, let recordMark { return head.mark == recordMark }
        return nil
    }

    /// Rows between two seqs, both exclusive, highest first.
    private func rows(below upper: Int, above lower: Int) -> [EncodedMessage] {
        rows.values.map(\.message).filter { lower < $0.seq && $0.seq < upper }
            .sorted { $0.seq > $1.seq }
    }

    /// The messages that fit, but at least one.
    private func fitting(_ messages: [EncodedMessage], _ limit: Int, _ bytes: Int)
        -> [EncodedMessage]
    {
        var taken = 0
        var fitting: [EncodedMessage] = []
        for message in messages.prefix(limit) {
            taken += message.json.count
            if taken > bytes, !fitting.isEmpty { break }
            fitting.append(message)
        }
        return fitting
    }

    fileprivate func catchUp(_ have: Have, limit: Int, bytes: Int) -> CatchUp {
        let standing = cached.standing
        // Messages above a hole would hide it.
        let hole = standing.run(at: highest).map { $0.low - 1 } ?? highest
        guard confirmation(of: have.head) ?? true, have.asOf <= have.head.rev else {
            let tail = fitting(rows(below: highest + 1, above: hole), limit, bytes)
            return CatchUp(isConfirmed: false, tail: tail, head: head)
        }
        let runs = have.runs.clipped(1, highest)
        let known = have.asOf >= changesFrom ? runs : runs.intersection(standing)
        let changed = rows.values.map(\.message)
            .filter { $0.rev > have.asOf && known.contains($0.seq) }
            .sorted { $0.rev > $1.rev }
        var read = CatchUp(isConfirmed: true, head: head)
        read.changed = fitting(changed, limit, bytes)
        read.outdated = Coverage(places: changed.dropFirst(read.changed.count).map(\.seq))
            .union(runs.subtracting(known))
        let left = bytes - read.changed.reduce(0) { $0 + $1.json.count }
        if read.changed.count < limit, left >= 0 {
            read.tail = fitting(
                rows(below: highest + 1, above: max(hole, runs.last ?? 0)),
                limit - read.changed.count, left)
        }
        read.identify(ids(read.placesToIdentify(have, bytes: bytes)))
        return read
    }

    // MARK: - Pages

    /// Messages before a place have a seq below `upper`, those after it above `lower`.
    private func place(_ anchor: Anchor?) throws(RequestError) -> (lower: Int, upper: Int)? {
        switch anchor {
        case nil: return nil
        case .seq(let seq): return (seq, seq)
        case .id(let id):
            let seq = rows.values.first { $0.message.id == id }?.message.seq
            guard let seq else { throw .noMessage }
            return (seq, seq)
        case .time(let moment):
            let first = rows.values.map(\.message).filter { $0.createdAt >= moment }.map(\.seq)
                .min()
            let place = first ?? max(highest, rows.keys.max() ?? 0) + 1
            return (place - 1, place)
        }
    }

    fileprivate func page(_ request: PageRequest) throws(RequestError) -> Page {
        let before = try place(request.before)
        let after = try place(request.after)
        var found: [EncodedMessage]
        if let around = try place(request.around) {
            let anchor =
                around.lower == around.upper ? rows[around.lower].map { [$0.message] } ?? [] : []
            let newer = Array(rows(below: .max, above: around.lower).suffix(request.limit))
            let older = Array(rows(below: around.upper, above: 0).prefix(request.limit))
            found = newer + anchor + older
        } else {
            found = rows(below: before?.upper ?? .max, above: after?.lower ?? 0)
            let isFromBelow = after != nil && (before == nil || request.order == .asc)
            found = Array(
                isFromBelow ? found.suffix(request.limit) : found.prefix(request.limit))
        }
        return Page(
            messages: request.order == .desc ? found : found.reversed(),
            hasMoreBefore: rows.keys.contains { $0 < found.last?.seq ?? 0 },
            hasMoreAfter: rows.keys.contains { $0 > found.first?.seq ?? .max }, head: head)
    }
}
