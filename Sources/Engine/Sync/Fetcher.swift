import Chat
import Ports
import Wire

/// Asks the origins of logs that live elsewhere: the next step of each stream, what its subscribers
/// are owed (the backfill, newest first), and the questions of calls; with backoff and retry.
/// `FetchQueue` keeps the order; `Sync` takes the answers.
final class Fetcher {
    /// Questions to the origin.
    private var fetches: FetchQueue
    private let applier: ReplicaApplier
    private let shared: Sync.Shared

    /// - Parameter instance: letters and digits that no other process uses.
    init(_ shared: Sync.Shared, _ applier: ReplicaApplier, instance: String) {
        self.shared = shared
        self.applier = applier
        fetches = FetchQueue(instance: instance)
    }

    private var now: Timestamp { shared.clock.now }

    /// Questions that wait; below, those in flight.
    var queued: Int { fetches.queued }
    var inFlight: Int { fetches.inFlight }

    // MARK: - Questions of streams

    /// Asks for the stream's next step, unless it is under way or in backoff.
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

    /// Backpressure on the backfill: asks for the newest part that subscribers are owed, one at a
    /// time, and none for readers that are still blocked, whose outboxes it would fill again.
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
                .page(conversation: stream.id, PageRequest(limit: options.page)),
                rank(of: stream))
        case (.catchUp, let state?):
            let since = stream.replica?.readTo ?? state.position.rev
            ask(
                .step(step, subject),
                .changes(
                    conversation: stream.id, since: since, mark: nil, limit: options.page,
                    recordAbove: state.record.rev),
                rank(of: stream))
        case (.backfill(let upTo), _?):
            ask(
                .step(step, subject),
                .changes(conversation: stream.id, since: upTo, mark: nil, limit: options.page),
                rank(of: stream))
        case (.forkEpoch, let state?):
            shared.questions.act(
                .forkEpoch(
                    state.head, conversation: stream.id,
                    token: shared.questions.number(for: .fetch(.step(step, subject)))))
        case (_, nil):
            return
        }
        if step == .catchUp { stream.replica?.asksForChanges() }
        stream.replica?.inFlight.begin(step)
    }

    /// Reads changes for a holder whose `asOf` is below what the cache knows.
    func fillBack(_ stream: Stream) {
        guard let replica = stream.replica, let generation = replica.generation,
            !replica.backoff.isWaiting, replica.isConfirmed, replica.copy.trimmedAt == nil,
            let backfill = replica.copy.backfill, backfill.until == nil,
            !replica.inFlight.contains(.backfill(since: backfill.upTo))
        else { return }
        ask(for: .backfill(since: backfill.upTo), stream, generation)
    }

    /// Fetches slots, except those in flight.
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

    /// The most messages in one question: `protocol.md` 3.
    private static let rangeLimit = 1000

    /// Queues a comparison of the heads of these logs.
    func compareHeads(of streams: [Stream]) { fetches.compareHeads(of: streams) }

    /// Asks which message is the last that is not deleted.
    func askLast(_ stream: Stream) {
        stream.entry.isAskingLast = true
        ask(
            .last(FetchQueue.Subject(stream)), .conversation(stream.id), rank(of: stream))
    }

    // MARK: - Order

    /// Lower is asked earlier.
    func rank(of stream: Stream) -> Int {
        stream.waits.calls.isEmpty ? 1_000_000 - min(stream.subscribers.count, 999_999) : 0
    }

    func ask(_ question: FetchQueue.Question, _ query: HistoryQuery, _ rank: Int) {
        fetches.add(FetchQueue.Entry(question: question, query: query, rank: rank))
    }

    /// Sends the questions that may be in flight; called at the end of the turn.
    /// - Parameter isHere: whether the call's session is still connected.
    func send(isHere: (Call) -> Bool) {
        guard let options = shared.options else { return }
        fetches.askForHeads { rank(of: $0) }
        while let entry = fetches.next(
            within: options.concurrency, where: { $0.call.map(isHere) ?? true })
        {
            for stream in entry.question.brought { stream.waits.events = [] }
            shared.tally.noteFetch(entry.query.kind)
            shared.questions.act(
                .ask(entry.query, token: shared.questions.number(for: .fetch(entry.question))))
        }
    }

    /// A question to the origin was answered or failed.
    /// - Returns: the result; a failure if the answer is of another kind.
    func checked(
        _ question: FetchQueue.Question, _ result: Result<HistoryAnswer, RequestError>
    ) -> Result<HistoryAnswer, RequestError> {
        if case .step(.forkEpoch, _) = question {} else { fetches.finished() }
        return question.checked(result)
    }

    // MARK: - Backoff

    /// The origin did not answer: begins the backoff, and notifies waiting calls and subscribers.
    func fallBack(_ stream: Stream) {
        guard let options = shared.options, let replica = stream.replica else { return }
        let pause = fetches.pause(after: replica.backoff.failures, options)
        stream.replica?.backoff.fail(until: now.adding(pause))
        shared.steps.watch(stream)
        // Its subscribers are sent `open` for this conversation, so the upstream's state need not
        // wait.
        if !replica.isLive, applier.status.isBehind(stream.id.id) {
            applier.tellOpen(stream)
            applier.status.settled(stream.id.id)
        }
    }

    /// Whether asking the origin is useless right now.
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
    /// The streams that the answer brings to the present. What the feed brought before is in it, or
    /// of a branch that is lost.
    fileprivate var brought: [Stream] {
        switch self {
        case .heads(let subjects):
            subjects.map(\.stream).filter { $0.replica?.next == .compareHead }
        case .step(let step, let subject) where step == .conversation || step == .catchUp:
            [subject.stream]
        default: []
        }
    }

    /// The call that waits for the answer, if only one does.
    fileprivate var call: Call? {
        switch self {
        case .message(let call, _), .moment(let call, _), .call(let call): call
        case .heads, .step, .range, .proof, .last, .list, .reader: nil
        }
    }
}

extension HistoryQuery {
    /// How metrics count the question.
    var kind: FetchKind {
        switch self {
        case .conversation, .conversations, .conversationsSince, .listed: .conversation
        case .message, .page: .range
        case .changes: .changes
        case .heads: .heads
        case .participants: .participants
        case .reactions, .ownReactions: .reactions
        case .mentions: .mentions
        case .provided(_, let query): query.kind
        }
    }
}

/// Kinds of questions to the origin: the label of `gapless_origin_fetches_total`.
package enum FetchKind: String, Sendable, Hashable, CaseIterable {
    case range, changes, heads, conversation, participants, reactions, mentions
}
