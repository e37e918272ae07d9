import Chat
import Ports
import Wire

/// Dispatches answers of the origin, and finds a conversation's last message for lists after the
/// last one was deleted.
extension Sync {
    /// The origin answered about streams; answers for calls and lists are handled elsewhere.
    func fetched(
        _ question: FetchQueue.Question, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        switch question {
        case .heads(let subjects):
            for subject in subjects {
                conclude(.compareHead, subject, generation, result.about(subject.stream.id)) {
                    if case .heads(let heads, _) = $0,
                        hasLostItsEnd(subject, heads[subject.stream.id.id])
                    {
                        lostItsEnd(subject.stream)
                    } else {
                        concluded(.compareHead, subject, $0)
                    }
                }
            }
        case .step(let step, let subject):
            conclude(step, subject, generation, result) {
                concluded(step, subject, $0)
            }
        case .range(let subject, let run):
            if subject.isCurrent { subject.stream.replica?.inFlight.end(run) }
            conclude(nil, subject, generation, result) {
                guard case .page(let page) = $0 else { return }
                took(page, for: run, subject)
            }
        case .proof(let subject, let proof):
            proofs.judged(proof, subject, generation, result)
            let stream = subject.stream
            guard subject.isCurrent, streams.has(stream), generation == stream.replica?.generation
            else { return }
            switch result {
            case .success(.changes(let changes)): compare(changes.head, stream)
            case .failure(.logLost): lostItsEnd(stream)
            case .success, .failure: break
            }
        case .last(let subject):
            subject.stream.entry.isAskingLast = false
            conclude(nil, subject, generation, result) {
                guard case .conversation(let view) = $0 else { return }
                took(last: view, subject)
            }
        case .message, .moment, .call, .list, .reader:
            break
        }
    }

    /// Whether the log was rewound while its feed stayed up: its head is older than, or differs
    /// from, the newest change seen when it was asked. New changes would have known numbers.
    private func hasLostItsEnd(_ subject: FetchQueue.Subject, _ head: Head?) -> Bool {
        guard subject.stream.replica?.isLive == true, let seen = subject.seen, let head else {
            return false
        }
        return head.epoch == seen.epoch
            && (head.rev < seen.rev || head.rev == seen.rev && head.mark != seen.mark)
    }

    /// Takes an answer about a stream if it is of the stream's feed. An older question is asked
    /// again, without counting as a failure.
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
            // From another node than the feed's.
            fetcher.fallBack(stream)
        case .success(let answer):
            stream.replica?.backoff.succeed()
            take(answer)
        case .failure(let error) where error.code == .notFound:
            if stream.state == nil || step != nil { vanished(stream) } else { doubt(stream) }
        case .failure(let error) where error.code == .conflict:
            // The log lost what values were taken from. The chain itself asks for a new epoch;
            // beside it, the heads are compared first.
            emit(.branched)
            if step == .catchUp { stream.replica?.conflicted() } else { doubt(stream) }
        case .failure(let error):
            if let part = error.damagedPart, part != replica.backoff.damagedPart {
                damaged(stream, part)
            } else {
                fetcher.fallBack(stream)
            }
        }
        guard streams.has(stream) else { return }
        takePostponed(stream)
        fetcher.drive(stream)
        emit(.wake(stream))
    }

    // MARK: - The last message

    /// The store reported the last message. If it was read before a change that the stream has
    /// taken since, `announce` asks for it again.
    func refreshed(
        _ token: UInt64, _ conversation: String, _ result: Result<Answer, RequestError>
    ) {
        guard let stream = streams[conversation.id] else { return }
        stream.entry.isAskingLast = false
        guard stream.entry.needsLast, let head = stream.state?.position,
            case .success(.loaded(let loaded)) = result, loaded.head.epoch == head.epoch
        else { return }
        // What the copy holds now says nothing of an earlier state of it.
        guard stream.isCurrent(token) else { return emit(.list(stream)) }
        guard stream.holds(last: loaded.lastMessage) else { return askOriginForLast(stream) }
        if loaded.head.rev >= head.rev {
            stream.entry.needsLast = false
            stream.state?.last = loaded.lastMessage
        }
        emit(.list(stream))
    }

    /// The last message was deleted: asks for the one that is last now.
    func askLast(_ stream: Stream) {
        guard !stream.entry.isAskingLast else { return }
        if stream.replica?.copy.isDetached == true { return askOriginForLast(stream) }
        stream.entry.isAskingLast = true
        store.read(.load(conversation: stream.id), for: .refresh(stream.id))
    }

    private func askOriginForLast(_ stream: Stream) {
        watch(stream)
        guard stream.replica?.isConfirmed == true, !fetcher.isUnavailable(stream) else { return }
        fetcher.askLast(stream)
    }

    /// The origin answered.
    func took(last view: ConversationView, _ subject: FetchQueue.Subject) {
        let stream = subject.stream
        guard stream.entry.needsLast, let state = stream.state else { return }
        guard view.head.epoch == state.head.epoch else { return doubt(stream) }
        applier.expect(view.head.rev, stream)
        // What is newer than the question comes by the feed, or is asked again.
        if subject.seen == state.head, view.lastMessage?.rev ?? 0 <= state.head.rev {
            stream.entry.needsLast = false
            stream.state?.last = view.lastMessage
        }
        emit(.list(stream))
    }
}

extension Result<HistoryAnswer, RequestError> {
    /// The part of an answer about several logs that is about this one.
    fileprivate func about(_ conversation: String) -> Self {
        guard case .success(.heads(_, let damaged)) = self,
            let part = damaged[conversation.id]
        else { return self }
        return .failure(.damaged(part))
    }
}
