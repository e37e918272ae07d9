import Chat
import JSON
import Wire

/// Pages of what is held, for somebody who can't ask the gateway.
extension Holder {
    /// The page that the gateway would have answered with, as far as it is held: the part of one
    /// run that touches what was asked for. For display only, since nobody knows what came since.
    /// - Returns: The result as the gateway writes it; nil if nothing of the page is held, or if
    ///   that can't be told from what is held (a moment as an anchor).
    package func page(_ request: PageRequest) -> JSONObject? {
        guard let head, let part = part(request) else { return nil }
        let order = part.seqs.sorted { request.order == .asc ? $0 < $1 : $0 > $1 }
        let messages = order.compactMap { held[$0] }
        guard let newest = part.seqs.max(), let oldest = part.seqs.min() else { return nil }
        var json = JSONWriter()
        json.beginObject()
        json.key("messages")
        json.beginArray()
        for message in messages { json.raw(message.json) }
        json.endArray()
        json.key("hasMore")
        json.beginObject()
        json.member("before", bool: part.run.low > head.floor)
        json.member("after", bool: part.run.high < head.seq)
        json.endObject()
        json.member("covers", coverage: Coverage([part.run]))
        json.key("gaps")
        json.beginArray()
        json.endArray()
        json.member("asOf", int: asOf)
        json.member("head", head: head)
        json.key("boundaries")
        json.beginArray()
        json.beginObject()
        for (name, seq) in [("newest", newest), ("oldest", oldest)] {
            json.key(name)
            json.beginObject()
            json.member("id", string: held[seq]?.id)
            json.member("seq", int: seq)
            json.endObject()
        }
        json.endObject()
        json.endArray()
        json.endObject()
        return try? JSONObject(json.bytes)
    }

    /// What is held of a page: its places with a value, and the interval that they prove.
    private func part(_ request: PageRequest) -> (seqs: [Int], run: Coverage.Run)? {
        if let around = request.around {
            guard let place = place(around), let run = run(at: place) else { return nil }
            let older = newest(request.limit, in: run.low..<place)
            let newer = oldest(request.limit, in: place + 1..<run.high + 1)
            let own = held[place] == nil ? [] : [place]
            return (older.seqs + own + newer.seqs, Coverage.Run(older.low, newer.high))
        }
        let after = request.after.map { place($0) }
        let before = request.before.map { place($0) }
        // An anchor that is not known could be anywhere.
        if after == .some(nil) || before == .some(nil) { return nil }
        let low = after.flatMap(\.self)
        let top = before.flatMap(\.self)
        if let low, top == nil || request.order == .asc {
            guard let run = run(at: low + 1) else { return nil }
            let end = min(run.high + 1, top ?? .max)
            let newer = oldest(request.limit, in: low + 1..<max(low + 1, end))
            return newer.seqs.isEmpty ? nil : (newer.seqs, Coverage.Run(low + 1, newer.high))
        }
        guard let top = top ?? runs.last.map({ $0 + 1 }), let run = run(at: top - 1) else {
            return nil
        }
        let older = newest(request.limit, in: min(top, max(run.low, (low ?? 0) + 1))..<top)
        return older.seqs.isEmpty ? nil : (older.seqs, Coverage.Run(older.low, top - 1))
    }

    private func run(at seq: Int) -> Coverage.Run? {
        runs.runs.first { $0.low <= seq && seq <= $0.high }
    }

    /// The newest values of an interval, oldest first, and how far down they prove it.
    private func newest(_ limit: Int, in places: Range<Int>) -> (seqs: [Int], low: Int) {
        let seqs = held.keys.filter { places.contains($0) }.sorted().suffix(limit)
        let isFull = seqs.count == limit
        return (Array(seqs), isFull ? seqs.first ?? places.lowerBound : places.lowerBound)
    }

    /// The oldest values of an interval, oldest first, and how far up they prove it.
    private func oldest(_ limit: Int, in places: Range<Int>) -> (seqs: [Int], high: Int) {
        let seqs = held.keys.filter { places.contains($0) }.sorted().prefix(limit)
        let isFull = seqs.count == limit
        return (Array(seqs), isFull ? seqs.last ?? places.upperBound : places.upperBound - 1)
    }

    private func place(_ anchor: Anchor) -> Int? {
        switch anchor {
        case .seq(let seq): seq
        case .id(let id): held.first { $0.value.id.isSameID(id) }?.key
        case .time: nil
        }
    }
}
