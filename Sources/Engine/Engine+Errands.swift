import Chat
import Ports
import Wire

/// What is asked of an origin that lives elsewhere: in order, a few at a time, again after a while
/// if there is no answer; and where each answer goes. The backfill of what subscribers are owed
/// goes this way, the newest places first.
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

    /// Sends places to those subscribers who were told that they would be, to each what it is owed.
    func payOwed(_ places: Coverage, _ messages: [EncodedMessage], _ stream: Stream) {
        guard stream.mirror?.isOwed == true else { return }
        // The same may have come by another way in this turn.
        flush(stream)
        guard let state = stream.state else { return }
        for (owed, sessions) in stream.owing(places) {
            let deltas = messages.filter { owed.contains($0.seq) }
                .map { EncodedDelta(.inserted, .fill, $0) }
            let payload = ServerFrame.messages(
                conversation: stream.id, deltas: deltas, covers: owed, prev: stream.told,
                asOf: stream.told, head: state.head, open: stream.isOpen)
            let event = Broadcast(
                payload,
                .stream(
                    prev: stream.told, asOf: stream.told, touched: owed, deltas: deltas.count,
                    record: nil, head: state.head, isOpen: stream.isOpen), of: stream)
            for session in sessions { push(session, event) }
            if stream.isOpen { stream.hasSaidOpen = true }
        }
        stream.paid(places)
    }

    private func run(_ errand: Mirror.Errand, _ stream: Stream, _ generation: Int) {
        guard let sync else { return }
        let subject = Errands.Subject(stream)
        switch (errand, stream.state) {
        case (.probe, _?):
            return probe([stream])
        case (.conversation, _):
            ask(.errand(errand, subject), .conversation(stream.id), rank(of: stream))
        case (.latest, _?):
            ask(
                .errand(errand, subject),
                .page(conversation: stream.id, PageRequest(limit: sync.page)), rank(of: stream))
        case (.chain, let state?):
            let from = stream.mirror?.readTo ?? state.position
            ask(
                .errand(errand, subject),
                .changes(
                    conversation: stream.id, since: from.rev,
                    mark: from.rev > 0 && from.mark.isEmpty ? nil : from.mark, limit: sync.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.vouching, let state?):
            ask(
                .errand(errand, subject),
                .changes(
                    conversation: stream.id, since: state.head.rev, mark: state.head.mark,
                    limit: 1),
                rank(of: stream))
        case (.deepening(let upTo), let state?):
            ask(
                .errand(errand, subject),
                .changes(
                    conversation: stream.id, since: upTo, mark: nil, limit: sync.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.disowning, let state?):
            act(
                .disown(
                    token: token(for: .errand(.errand(errand, subject))), state.head,
                    conversation: stream.id))
        case (_, nil):
            return
        }
        stream.mirror?.underWay.insert(errand)
    }

    /// Reads on for a holder whose `asOf` is older than what the cache knows.
    func deepen(_ stream: Stream) {
        guard let mirror = stream.mirror, let generation = mirror.feed.generation,
            mirror.retryAt == nil, mirror.isConfirmed, mirror.trimmedAt == nil,
            let deepening = mirror.deepening,
            !mirror.underWay.contains(.deepening(since: deepening.upTo))
        else { return }
        run(.deepening(since: deepening.upTo), stream, generation)
    }

    /// Asks for the heads of many logs in a few questions, at the end of the turn.
    func probe(_ streams: [Stream]) {
        for stream in streams where stream.mirror?.underWay.contains(.probe) == false {
            stream.mirror?.underWay.insert(.probe)
            guard stream.mirror?.isToBeProbed == false else { continue }
            stream.mirror?.isToBeProbed = true
            toProbe.append(stream)
        }
        if streams.count > 1 {
            toProbe.sort { ($0.mirror?.feed.generation ?? 0) < ($1.mirror?.feed.generation ?? 0) }
        }
    }

    /// Asks for places, but for those that are on their way.
    func fetch(_ places: Coverage, of stream: Stream) {
        guard let mirror = stream.mirror, mirror.isConfirmed else { return }
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
                    .range(Errands.Subject(stream), Coverage.Run(low, high)),
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
        while let first = toProbe.first {
            // An answer about logs of several feeds is an answer of none of them.
            let generation = first.mirror?.feed.generation
            var streams = Array(
                toProbe.prefix { $0.mirror?.feed.generation == generation }
                    .prefix(Engine.headsLimit))
            toProbe.removeFirst(streams.count)
            for stream in streams { stream.mirror?.isToBeProbed = false }
            // A feed may have ended meanwhile.
            streams.removeAll { $0.mirror?.underWay.contains(.probe) != true }
            guard !streams.isEmpty else { continue }
            let rank = streams.map { self.rank(of: $0) }.min() ?? 0
            ask(.heads(streams.map { Errands.Subject($0) }), .heads(streams.map(\.id)), rank)
        }
        while let entry = errands.next(within: sync.concurrency) {
            counters.fetches[entry.query.kind, default: 0] += 1
            act(.fetch(token: token(for: .errand(entry.ask)), entry.query))
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
        guard case .errand(let ask) = pending.removeValue(forKey: token) else { return }
        if case .errand(.disowning, _) = ask {} else { errands.finished() }
        switch ask {
        case .heads(let subjects):
            for subject in subjects {
                conclude(.probe, subject, generation, result) {
                    guard case .heads(let heads) = $0 else { return }
                    let id = subject.stream.id
                    probed(subject.stream, heads.first { $0.key.isSameID(id) }?.value)
                }
            }
        case .errand(let errand, let subject):
            conclude(errand, subject, generation, result) {
                concluded(errand, subject.stream, $0)
            }
        case .range(let subject, let run):
            if subject.isCurrent { subject.stream.mirror?.coming.remove(run.low, run.high) }
            conclude(nil, subject, generation, result) {
                guard case .page(let page) = $0 else { return }
                took(page, for: run, subject.stream)
            }
        case .claim(let subject, let claim):
            judged(claim, subject, generation, result)
        case .last(let subject):
            subject.stream.isAskingLast = false
            conclude(nil, subject, generation, result) {
                guard case .conversation(let view) = $0 else { return }
                took(last: view, subject.stream)
            }
        case .message(let call, let id):
            located(call, id: id, result)
        case .moment(let call, let moment):
            located(call, moment, result)
        case .call(let call):
            answer(call, result)
        case .list(let user, let reading):
            listed(user, reading, result)
        }
    }

    /// Takes an answer about a stream, if it is of the feed that the stream is in. What was asked
    /// before is asked again, and nobody is to blame for it.
    private func conclude(
        _ errand: Mirror.Errand?, _ subject: Errands.Subject, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>, _ take: (HistoryAnswer) -> Void
    ) {
        let stream = subject.stream
        guard subject.isCurrent, streams[stream.id.id] === stream, let mirror = stream.mirror else {
            return
        }
        if let errand { stream.mirror?.underWay.remove(errand) }
        switch result {
        case _ where generation != mirror.feed.generation:
            // Of another node than the feed comes from.
            fallBack(stream)
        case .success(let answer):
            stream.mirror?.failures = 0
            stream.mirror?.retryAt = nil
            take(answer)
        case .failure(let error) where error.code == .notFound:
            if stream.state == nil || errand != nil { vanished(stream) } else { doubt(stream) }
        case .failure(let error) where error.code == .conflict && errand == .vouching:
            stream.mirror?.next = .disowning
        case .failure(let error) where error.code == .conflict && errand == .chain:
            // The part that was read last may be lost, or all that is known.
            stream.mirror?.next = mirror.readTo == nil ? .disowning : .probe
            stream.mirror?.readTo = nil
        case .failure:
            fallBack(stream)
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
        guard let mirror = stream.mirror else { return false }
        return mirror.retryAt != nil && mirror.failures >= Engine.failuresToGiveUpOn
    }

    /// One question that failed may be an accident, and whoever waits has time for another.
    private static let failuresToGiveUpOn = 3
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
