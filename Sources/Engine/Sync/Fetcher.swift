import Chat
import Ports
import Wire

/// Asks the origins of logs that live elsewhere: what a stream needs next, what its subscribers are
/// owed (the backfill, newest places first), and what calls ask; again after a while if there is no
/// answer. `FetchQueue` keeps the order. What answers mean is for `Sync`.
final class Fetcher {
    /// What the origin is asked.
    private var fetches: FetchQueue
    private let applier: ReplicaApplier
    private let shared: Sync.Shared

    /// - Parameter instance: some letters and digits that no other process uses.
    init(_ shared: Sync.Shared, _ applier: ReplicaApplier, instance: String) {
        self.shared = shared
        self.applier = applier
        fetches = FetchQueue(instance: instance)
    }

    private var now: Timestamp { shared.clock.now }

    /// Questions that wait, and those on their way.
    var queued: Int { fetches.queued }
    var inFlight: Int { fetches.inFlight }

    // MARK: - What streams need

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
        guard let options = shared.options, let replica = stream.replica,
            replica.inFlight.places.isEmpty
        else {
            return
        }
        let owed = stream.subscribers.reduce(into: Coverage()) { owed, subscriber in
            if !subscriber.session.lane.isBlocked { owed = owed.union(subscriber.owed) }
        }
        guard let run = owed.runs.last else { return }
        fetch(Coverage.closed(max(run.low, run.high - options.page + 1), run.high), of: stream)
    }

    private func ask(for step: Replica.Step, _ stream: Stream, _ generation: Int) {
        guard let options = shared.options else { return }
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
            shared.questions.act(
                .forkEpoch(
                    token: shared.questions.number(for: .fetch(.step(step, subject))), state.head,
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
        shared.steps.watch(stream)
    }

    /// The most messages that an origin is asked for at once: `protocol.md` 3.
    private static let rangeLimit = 1000

    /// Has the heads of these logs compared.
    func compareHeads(of streams: [Stream]) { fetches.compareHeads(of: streams) }

    /// Asks which message is the last that is not deleted.
    func askLast(_ stream: Stream) {
        stream.entry.isAskingLast = true
        ask(.last(FetchQueue.Subject(stream)), .conversation(stream.id), rank(of: stream))
    }

    // MARK: - In which order

    /// Lower is earlier.
    func rank(of stream: Stream) -> Int {
        stream.waits.calls.isEmpty ? 1_000_000 - min(stream.subscribers.count, 999_999) : 0
    }

    func ask(_ question: FetchQueue.Question, _ query: HistoryQuery, _ rank: Int) {
        fetches.add(FetchQueue.Entry(question: question, query: query, rank: rank))
    }

    /// Hands out what may be asked now; called at the end of the turn.
    /// - Parameter isHere: whether whoever made the call is still connected.
    func send(isHere: (Call) -> Bool) {
        guard let options = shared.options else { return }
        fetches.askForHeads { rank(of: $0) }
        while let entry = fetches.next(
            within: options.concurrency, where: { $0.call.map(isHere) ?? true })
        {
            shared.tally.noteFetch(entry.query.kind)
            shared.questions.act(
                .fetch(token: shared.questions.number(for: .fetch(entry.question)), entry.query))
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

    // MARK: - No answer

    /// The origin did not answer: it is left in peace for a while, and whoever waits is told.
    func fallBack(_ stream: Stream) {
        guard let options = shared.options, let replica = stream.replica else { return }
        let pause = fetches.pause(after: replica.backoff.failures, options)
        stream.replica?.backoff.fail(until: now.adding(pause))
        shared.steps.watch(stream)
        // Whoever watches is told by name that this one is open, and the rest need not wait for it.
        if !replica.isLive, applier.status.isBehind(stream.id.id) {
            applier.tellOpen(stream)
            applier.status.settled(stream.id.id)
        }
    }

    /// Whether asking the origin is of no use right now.
    func isUnavailable(_ stream: Stream) -> Bool {
        guard applier.status.isLinked else { return applier.status.hasGivenTime(at: now) }
        return stream.replica?.backoff.isUnavailable ?? false
    }

    /// Why the origin does not answer about a conversation.
    func unavailable(_ stream: Stream) -> RequestError {
        stream.replica?.backoff.damagedPart.map { .damaged($0) } ?? .originUnavailable
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
