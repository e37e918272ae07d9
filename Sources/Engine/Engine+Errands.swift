import Chat
import Wire

/// What is asked of an origin that lives elsewhere: in order, a few at a time, again after a while
/// if there is no answer; and where each answer goes.
extension Engine {
    /// Asks for what the stream needs next, unless that is under way or has to wait.
    func drive(_ stream: Stream) {
        guard let mirror = stream.mirror, let generation = mirror.feed.generation,
            mirror.retryAt == nil
        else { return }
        if let next = mirror.next, !mirror.underWay.contains(next) {
            run(next, stream, generation)
        }
        if mirror.isOwed, stream.state != nil {
            pay(stream)
        }
    }

    /// Asks for the newest part of what subscribers are owed. One part at a time, and not for
    /// readers who still have to take the last: what is sent to them is not to fill their outboxes
    /// again.
    private func pay(_ stream: Stream) {
        guard let sync, let mirror = stream.mirror, mirror.coming.isEmpty else { return }
        let owed = stream.subscribers.reduce(into: Coverage()) { owed, subscriber in
            if !subscriber.session.isBlocked { owed = owed.union(subscriber.owed) }
        }
        guard let run = owed.runs.last else { return }
        fetch(Coverage.closed(max(run.low, run.high - sync.page + 1), run.high), of: stream)
    }

    private func run(_ errand: Mirror.Errand, _ stream: Stream, _ generation: Int) {
        guard let sync else { return }
        switch (errand, stream.state) {
        case (.probe, _?):
            return probe([stream])
        case (.conversation, _):
            ask(.errand(errand, stream), .conversation(stream.id), rank(of: stream))
        case (.latest, _?):
            ask(
                .errand(errand, stream),
                .page(conversation: stream.id, PageRequest(limit: sync.page)), rank(of: stream))
        case (.chain, let state?):
            ask(
                .errand(errand, stream),
                .changes(
                    conversation: stream.id, since: state.position.rev, mark: state.position.mark,
                    limit: sync.page), rank(of: stream))
        case (.deepening, _?):
            guard let upTo = stream.mirror?.deepening?.upTo else { return }
            ask(
                .errand(errand, stream),
                .changes(conversation: stream.id, since: upTo, mark: nil, limit: sync.page),
                rank(of: stream))
        case (.disowning, let state?):
            act(
                .disown(
                    token: token(for: .errand(.errand(errand, stream), lapses: lapses)),
                    state.position,
                    conversation: stream.id))
        case (_, nil):
            return
        }
        stream.mirror?.underWay.insert(errand)
    }

    /// Reads on for a holder whose `asOf` is older than what the cache knows.
    func deepen(_ stream: Stream) {
        guard let mirror = stream.mirror, let generation = mirror.feed.generation,
            mirror.retryAt == nil, !mirror.underWay.contains(.deepening)
        else { return }
        run(.deepening, stream, generation)
    }

    /// Asks for the heads of many logs in a few questions, at the end of the turn.
    func probe(_ streams: [Stream], isVerification: Bool = false) {
        for stream in streams where stream.mirror?.underWay.contains(.probe) == false {
            stream.mirror?.underWay.insert(.probe)
            toProbe.append(stream)
        }
    }

    /// Asks for places, but for those that are on their way.
    func fetch(_ places: Coverage, of stream: Stream) {
        guard let mirror = stream.mirror else { return }
        let missing = places.subtracting(mirror.coming)
        guard !missing.isEmpty else { return }
        stream.mirror?.coming = mirror.coming.union(missing)
        for run in missing.runs {
            var high = run.high
            while high >= run.low {
                let low = max(run.low, high - Engine.rangeLimit + 1)
                let request = PageRequest(
                    before: .seq(high + 1), after: .seq(low - 1), limit: high - low + 1)
                ask(
                    .range(stream, Coverage.Run(low, high)),
                    .page(conversation: stream.id, request), rank(of: stream))
                high = low - 1
            }
        }
        watch(stream)
    }

    /// The most messages that an origin is asked for at once: `protocol.md` 3.
    private static let rangeLimit = 1000

    /// Lower is earlier.
    func rank(of stream: Stream) -> Int {
        stream.waiting.isEmpty ? 1_000_000 - min(stream.subscribers.count, 999_999) : 0
    }

    func ask(_ ask: Errands.Ask, _ query: HistoryQuery, _ rank: Int) {
        errands.add(Errands.Entry(ask: ask, query: query, rank: rank))
    }

    /// Hands out what may be asked now; called at the end of the turn.
    func sendErrands() {
        guard let sync else { return }
        while !toProbe.isEmpty {
            let streams = Array(toProbe.prefix(Engine.headsLimit))
            toProbe.removeFirst(streams.count)
            let rank = streams.map { self.rank(of: $0) }.min() ?? 0
            ask(.heads(streams), .heads(streams.map(\.id)), rank)
        }
        while let entry = errands.next(within: sync.concurrency) {
            figures.fetches[entry.query.kind, default: 0] += 1
            act(.fetch(token: token(for: .errand(entry.ask, lapses: lapses)), entry.query))
        }
    }

    /// How many heads are asked for at once.
    private static let headsLimit = 100

    /// The origin has answered.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    package func fetched(
        _ token: UInt64, generation: Int, _ result: Result<HistoryAnswer, RequestError>,
        at now: Timestamp
    ) {
        self.now = now
        guard case .errand(let ask, let before) = pending.removeValue(forKey: token) else { return }
        // What was asked before the feed broke is asked again, and nobody is to blame for it.
        let isLate = before != lapses
        if case .errand(.disowning, _) = ask {} else { errands.finished() }
        switch ask {
        case .heads(let streams):
            for stream in streams {
                conclude(.probe, stream, generation, isLate, result) {
                    guard case .heads(let heads) = $0 else { return }
                    probed(stream, heads.first { $0.key.isSameID(stream.id) }?.value)
                }
            }
        case .errand(let errand, let stream):
            conclude(errand, stream, generation, isLate, result) { concluded(errand, stream, $0) }
        case .range(let stream, let run):
            stream.mirror?.coming.remove(run.low, run.high)
            conclude(nil, stream, generation, isLate, result) {
                guard case .page(let page) = $0 else { return }
                took(page, for: run, stream)
            }
        case .claim(let stream, let claim):
            judged(claim, stream, result)
        case .message(let call, let id):
            located(call, id: id, result)
        case .moment(let call, let moment):
            located(call, moment, result)
        case .call(let call):
            answer(call, result)
        case .list(let user):
            listed(user, result)
        }
    }

    /// Takes an answer about a stream, if it is of the feed that the stream is in.
    private func conclude(
        _ errand: Mirror.Errand?, _ stream: Stream, _ generation: Int, _ isLate: Bool,
        _ result: Result<HistoryAnswer, RequestError>, _ take: (HistoryAnswer) -> Void
    ) {
        if let errand { stream.mirror?.underWay.remove(errand) }
        guard streams[stream.id.id] === stream, let mirror = stream.mirror else { return }
        guard let current = mirror.feed.generation else { return wake(stream) }
        switch result {
        case .success(let answer) where generation == current:
            stream.mirror?.failures = 0
            stream.mirror?.retryAt = nil
            take(answer)
        case .failure(let error) where error.code == .notFound:
            if stream.state == nil || errand != nil { vanished(stream) } else { fallBack(stream) }
        case .failure(let error) where error.code == .conflict && errand == .chain:
            stream.mirror?.next = .disowning
        case .success, .failure:
            // Asked of another node than the feed comes from, or not answered.
            if !isLate { fallBack(stream) }
        }
        guard streams[stream.id.id] === stream else { return }
        drive(stream)
        wake(stream)
    }

    /// The origin did not answer: it is left in peace for a while, and whoever waits is told.
    func fallBack(_ stream: Stream) {
        guard let sync, let mirror = stream.mirror else { return }
        let exponent = min(mirror.failures, 20)
        let longest = min(sync.backoffMax, sync.backoffBase << Int64(exponent))
        stream.mirror?.failures += 1
        stream.mirror?.retryAt = now.adding(longest / 2 + jitter(longest / 2 + 1))
        watch(stream)
        // Whoever watches is told by name that this one is open, and the rest need not wait for it.
        if !mirror.feed.isLive, unsettled[stream.id.id] != nil {
            tellOpen(stream)
            settle(stream)
        }
    }

    /// Not a good source of randomness, but one that a simulation can repeat.
    private func jitter(_ limit: Int64) -> Int64 {
        noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(noise >> 33) % max(1, limit)
    }

    /// Whether asking the origin is of no use right now.
    func isUnavailable(_ stream: Stream) -> Bool {
        guard isLinked else { return hasGivenTime }
        return stream.mirror?.retryAt != nil
    }
}

extension HistoryQuery {
    /// How the question counts in the metrics.
    var kind: FetchKind {
        switch self {
        case .conversation, .conversations: .conversation
        case .message, .page: .range
        case .changes: .changes
        case .heads: .heads
        case .participants: .participants
        }
    }
}

/// What the origin is asked for: the label of `gapless_origin_fetches_total`.
package enum FetchKind: String, Sendable, Hashable, CaseIterable {
    case range, changes, heads, conversation, participants
}
