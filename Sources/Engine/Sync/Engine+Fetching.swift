import Chat
import Ports
import Wire

/// What is asked of an origin that lives elsewhere, again after a while if there is no answer; and
/// where each answer goes. `FetchQueue` keeps the order. The backfill of what subscribers are owed
/// goes this way, the newest places first.
extension Engine {
    /// Asks for what the stream needs next, unless that is under way or has to wait.
    func drive(_ stream: Stream) {
        guard let replica = stream.replica, let generation = replica.generation,
            !replica.backoff.isWaiting
        else { return }
        if let next = replica.next, !replica.inFlight.contains(next) {
            ask(for: next, stream, generation)
        }
        if replica.isOwed, stream.state != nil {
            pay(stream)
        }
    }

    /// Asks for the newest part of what subscribers are owed. One part at a time, and not for
    /// readers who still have to take the last: what is sent to them is not to fill their outboxes
    /// again.
    private func pay(_ stream: Stream) {
        guard let sync, let replica = stream.replica, replica.inFlight.places.isEmpty else {
            return
        }
        let owed = stream.subscribers.reduce(into: Coverage()) { owed, subscriber in
            if !subscriber.session.lane.isBlocked { owed = owed.union(subscriber.owed) }
        }
        guard let run = owed.runs.last else { return }
        fetch(Coverage.closed(max(run.low, run.high - sync.page + 1), run.high), of: stream)
    }

    /// Sends places to those subscribers who were told that they would be, to each what it is owed.
    func payOwed(_ places: Coverage, _ messages: [EncodedMessage], _ stream: Stream) {
        guard stream.replica?.isOwed == true else { return }
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
                    record: nil, head: state.head, isOpen: stream.isOpen), of: stream,
                at: journal?.paid(owed, sessions, stream, at: now))
            for session in sessions { push(session, event) }
            if stream.isOpen { stream.hasSaidOpen = true }
        }
        stream.paid(places)
    }

    private func ask(for step: Replica.Step, _ stream: Stream, _ generation: Int) {
        guard let sync else { return }
        let subject = FetchQueue.Subject(stream)
        switch (step, stream.state) {
        case (.compareHead, _?):
            return fetches.compareHeads(of: [stream])
        case (.conversation, _):
            ask(.step(step, subject), .conversation(stream.id), rank(of: stream))
        case (.latest, _?):
            ask(
                .step(step, subject),
                .page(conversation: stream.id, PageRequest(limit: sync.page)), rank(of: stream))
        case (.catchUp, let state?):
            let from = stream.replica?.readTo ?? state.position
            ask(
                .step(step, subject),
                .changes(
                    conversation: stream.id, since: from.rev,
                    mark: from.rev > 0 && from.mark.isEmpty ? nil : from.mark, limit: sync.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.verifyHead, let state?):
            ask(
                .step(step, subject),
                .changes(
                    conversation: stream.id, since: state.head.rev, mark: state.head.mark,
                    limit: 1),
                rank(of: stream))
        case (.backfill(let upTo), let state?):
            ask(
                .step(step, subject),
                .changes(
                    conversation: stream.id, since: upTo, mark: nil, limit: sync.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.forkEpoch, let state?):
            act(
                .disown(
                    token: token(for: .fetch(.step(step, subject))), state.head,
                    conversation: stream.id))
        case (_, nil):
            return
        }
        stream.replica?.inFlight.begin(step)
    }

    /// Reads on for a holder whose `asOf` is older than what the cache knows.
    func fillBack(_ stream: Stream) {
        guard let replica = stream.replica, let generation = replica.generation,
            !replica.backoff.isWaiting, replica.isConfirmed, replica.copy.trimmedAt == nil,
            let backfill = replica.copy.backfill,
            !replica.inFlight.contains(.backfill(since: backfill.upTo))
        else { return }
        ask(for: .backfill(since: backfill.upTo), stream, generation)
    }

    /// Asks for places, but for those that are on their way.
    func fetch(_ places: Coverage, of stream: Stream) {
        guard stream.replica?.isConfirmed == true,
            let missing = stream.replica?.inFlight.request(places), !missing.isEmpty
        else { return }
        for run in missing.runs {
            var high = run.high
            while high >= run.low {
                let low = max(run.low, high - Engine.rangeLimit + 1)
                let request = PageRequest(
                    before: .seq(high + 1), after: .seq(low - 1), limit: high - low + 1)
                ask(
                    .range(FetchQueue.Subject(stream), Coverage.Run(low, high)),
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

    func ask(_ question: FetchQueue.Question, _ query: HistoryQuery, _ rank: Int) {
        fetches.add(FetchQueue.Entry(question: question, query: query, rank: rank))
    }

    /// Hands out what may be asked now; called at the end of the turn.
    func sendFetches() {
        guard let sync else { return }
        fetches.askForHeads { rank(of: $0) }
        while let entry = fetches.next(within: sync.concurrency, where: isWaitedFor) {
            counters.fetches[entry.query.kind, default: 0] += 1
            act(.fetch(token: token(for: .fetch(entry.question)), entry.query))
        }
    }

    /// Whether whoever asked is still there.
    private func isWaitedFor(_ question: FetchQueue.Question) -> Bool {
        switch question {
        case .message(let call, _), .moment(let call, _), .call(let call):
            sessions[call.session] != nil
        case .heads, .step, .range, .proof, .last, .list: true
        }
    }

    /// The origin has answered.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    package func fetched(
        _ token: UInt64, generation: Int, _ result: Result<HistoryAnswer, RequestError>,
        at now: Timestamp
    ) {
        self.now = now
        guard case .fetch(let question) = pending.removeValue(forKey: token) else { return }
        if case .step(.forkEpoch, _) = question {} else { fetches.finished() }
        let result = question.checked(result)
        switch question {
        case .heads(let subjects):
            for subject in subjects {
                conclude(.compareHead, subject, generation, result.about(subject.stream.id)) {
                    concluded(.compareHead, subject.stream, $0)
                }
            }
        case .step(let step, let subject):
            conclude(step, subject, generation, result) {
                concluded(step, subject.stream, $0)
            }
        case .range(let subject, let run):
            if subject.isCurrent { subject.stream.replica?.inFlight.end(run) }
            conclude(nil, subject, generation, result) {
                guard case .page(let page) = $0 else { return }
                took(page, for: run, subject.stream)
            }
        case .proof(let subject, let proof):
            judged(proof, subject, generation, result)
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
            answer(call, generation, result)
        case .list(let user, let reading):
            listed(user, reading, result)
        }
    }

    /// Takes an answer about a stream, if it is of the feed that the stream is in. What was asked
    /// before is asked again, and nobody is to blame for it.
    private func conclude(
        _ step: Replica.Step?, _ subject: FetchQueue.Subject, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>, _ take: (HistoryAnswer) -> Void
    ) {
        let stream = subject.stream
        guard subject.isCurrent, streams[stream.id.id] === stream, let replica = stream.replica
        else {
            return
        }
        if let step { stream.replica?.inFlight.end(step) }
        switch result {
        case _ where generation != replica.generation:
            // Of another node than the feed comes from.
            fallBack(stream)
        case .success(let answer):
            stream.replica?.backoff.succeed()
            take(answer)
        case .failure(let error) where error.code == .notFound:
            if stream.state == nil || step != nil { vanished(stream) } else { doubt(stream) }
        case .failure(let error):
            let isAnswer = error.code == .conflict && stream.replica?.conflicted(step) == true
            if let part = error.damagedPart, part != replica.backoff.damagedPart {
                damaged(stream, part)
            } else if !isAnswer {
                fallBack(stream)
            }
        }
        guard streams[stream.id.id] === stream else { return }
        drive(stream)
        wake(stream)
    }

    /// The origin did not answer: it is left in peace for a while, and whoever waits is told.
    func fallBack(_ stream: Stream) {
        guard let sync, let replica = stream.replica else { return }
        let pause = fetches.pause(after: replica.backoff.failures, sync)
        stream.replica?.backoff.fail(until: now.adding(pause))
        watch(stream)
        // Whoever watches is told by name that this one is open, and the rest need not wait for it.
        if !replica.isLive, status.isBehind(stream.id.id) {
            tellOpen(stream)
            status.settled(stream.id.id)
        }
    }

    /// Whether asking the origin is of no use right now.
    func isUnavailable(_ stream: Stream) -> Bool {
        guard isLinked else { return hasGivenTime }
        return stream.replica?.backoff.isUnavailable ?? false
    }
}

extension Result<HistoryAnswer, RequestError> {
    /// What an answer about several logs says of one of them.
    fileprivate func about(_ conversation: String) -> Self {
        guard case .success(.heads(_, let damaged)) = self,
            let part = damaged.first(where: { $0.key.isSameID(conversation) })?.value
        else { return self }
        return .failure(.damaged(part))
    }
}

extension HistoryQuery {
    /// How the question counts in the metrics.
    var kind: FetchKind {
        switch self {
        case .conversation, .conversations, .conversationsSince, .listed: .conversation
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
