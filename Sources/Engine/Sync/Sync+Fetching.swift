import Chat
import Ports
import Wire

/// What is asked of an origin that lives elsewhere, again after a while if there is no answer; and
/// where each answer goes. `FetchQueue` keeps the order. The backfill of what subscribers are owed
/// goes this way, the newest places first.
extension Sync {
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
        guard let options, let replica = stream.replica, replica.inFlight.places.isEmpty else {
            return
        }
        let owed = stream.subscribers.reduce(into: Coverage()) { owed, subscriber in
            if !subscriber.session.lane.isBlocked { owed = owed.union(subscriber.owed) }
        }
        guard let run = owed.runs.last else { return }
        fetch(Coverage.closed(max(run.low, run.high - options.page + 1), run.high), of: stream)
    }

    private func ask(for step: Replica.Step, _ stream: Stream, _ generation: Int) {
        guard let options else { return }
        let subject = FetchQueue.Subject(stream)
        switch (step, stream.state) {
        case (.compareHead, _?):
            return fetches.compareHeads(of: [stream])
        case (.conversation, _):
            ask(.step(step, subject), .conversation(stream.id), rank(of: stream))
        case (.latest, _?):
            ask(
                .step(step, subject),
                .page(conversation: stream.id, PageRequest(limit: options.page)), rank(of: stream))
        case (.catchUp, let state?):
            let from = stream.replica?.readTo ?? state.position
            ask(
                .step(step, subject),
                .changes(
                    conversation: stream.id, since: from.rev,
                    mark: from.rev > 0 && from.mark.isEmpty ? nil : from.mark, limit: options.page,
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
                    conversation: stream.id, since: upTo, mark: nil, limit: options.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.forkEpoch, let state?):
            questions.act(
                .disown(
                    token: questions.number(for: .fetch(.step(step, subject))), state.head,
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
                let low = max(run.low, high - Self.rangeLimit + 1)
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
    /// - Parameter isHere: whether whoever made the call is still connected.
    func sendFetches(isHere: (Call) -> Bool) {
        guard let options else { return }
        fetches.askForHeads { rank(of: $0) }
        while let entry = fetches.next(
            within: options.concurrency, where: { $0.call.map(isHere) ?? true })
        {
            tally.noteFetch(entry.query.kind)
            questions.act(
                .fetch(token: questions.number(for: .fetch(entry.question)), entry.query))
        }
    }

    /// A question to the origin has an answer, or has failed.
    /// - Returns: the result, or the failure that an answer to another question is.
    func checked(
        _ question: FetchQueue.Question, _ result: Result<HistoryAnswer, RequestError>
    ) -> Result<HistoryAnswer, RequestError> {
        if case .step(.forkEpoch, _) = question {} else { fetches.finished() }
        return question.checked(result)
    }

    /// The origin has answered about streams; what calls and lists asked is theirs.
    func fetched(
        _ question: FetchQueue.Question, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
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
        case .message, .moment, .call, .list, .reader:
            break
        }
    }

    /// Takes an answer about a stream, if it is of the feed that the stream is in. What was asked
    /// before is asked again, and nobody is to blame for it.
    private func conclude(
        _ step: Replica.Step?, _ subject: FetchQueue.Subject, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>, _ take: (HistoryAnswer) -> Void
    ) {
        let stream = subject.stream
        guard subject.isCurrent, streams.has(stream), let replica = stream.replica
        else { return }
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
        guard streams.has(stream) else { return }
        drive(stream)
        emit(.wake(stream))
    }

    /// The origin did not answer: it is left in peace for a while, and whoever waits is told.
    func fallBack(_ stream: Stream) {
        guard let options, let replica = stream.replica else { return }
        let pause = fetches.pause(after: replica.backoff.failures, options)
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

extension FetchQueue.Question {
    /// The call that waits for the answer, if it is one's alone.
    fileprivate var call: Call? {
        switch self {
        case .message(let call, _), .moment(let call, _), .call(let call): call
        case .heads, .step, .range, .proof, .last, .list, .reader: nil
        }
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
