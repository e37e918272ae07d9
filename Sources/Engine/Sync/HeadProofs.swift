import Chat
import Ports
import Wire

/// Whether a log has the head that a holder claims to have seen, from memory, the cache or the
/// origin; the origin is asked once for all who claim the same.
final class HeadProofs {
    private let store: ReplicaStore
    private let fetcher: Fetcher
    private let shared: Sync.Shared

    init(_ shared: Sync.Shared, _ store: ReplicaStore, _ fetcher: Fetcher) {
        self.shared = shared
        self.store = store
        self.fetcher = fetcher
    }

    /// Whether the log has the head that the holder claims; nil if that must be asked.
    func confirms(_ have: Have, _ stream: Stream, _ state: Stream.State) -> Bool? {
        let head = have.head
        guard head.epoch == state.position.epoch, have.asOf <= head.rev else { return false }
        if head.rev == 0 { return head.mark.isEmpty }
        if head.rev == state.position.rev { return head.mark == state.position.mark }
        if let isConfirmed = stream.recent.confirms(head) { return isConfirmed }
        return found(HeadProof(head), stream)
    }

    /// Whether the log has the change that a caller must not miss; nil if that must be asked. What
    /// is known here of another branch refutes nothing: the caller may know better.
    func has(_ head: Head, _ stream: Stream, _ state: Stream.State) -> Bool? {
        let isOwn = head.epoch == state.position.epoch
        if isOwn, head.rev <= state.position.rev, stream.mark(at: head.rev) == head.mark {
            return true
        }
        return found(HeadProof(head, isForOrigin: true), stream).map { $0 && isOwn }
    }

    /// What the cache or the origin found. Of a change above the stream the origin's word counts
    /// once the stream has reached it. If the log was put back since, it is asked again.
    private func found(_ proof: HeadProof, _ stream: Stream) -> Bool? {
        guard let replica = stream.replica else { return nil }
        if let holds = replica.identity.holds(proof) { return holds }
        guard replica.identity.expects(proof) else { return nil }
        if replica.isLive, replica.known < proof.rev {
            stream.replica?.identity.giveUp(proof)
        } else {
            stream.waits.await(proof.rev)
        }
        return nil
    }

    func askCache(_ head: Head, _ stream: Stream) {
        let proof = HeadProof(head)
        store.read(
            .confirm(conversation: stream.id, head),
            for: .proof(FetchQueue.Subject(stream), proof))
    }

    /// The cache answered what it saw itself.
    func confirmed(
        _ subject: FetchQueue.Subject, _ proof: HeadProof, _ result: Result<Answer, RequestError>
    ) {
        let stream = subject.stream
        guard shared.streams.has(stream) else { return }
        if subject.isCurrent, case .success(.confirmation(let holds?)) = result {
            note(proof, holds, stream)
        } else {
            shared.steps.emit(.wake(stream))
        }
    }

    /// Asks the origin, once for all who claim the same.
    func askOrigin(_ head: Head, _ stream: Stream) { askOrigin(HeadProof(head), stream) }

    /// The same for a change that callers must not miss.
    func askOrigin(for least: Head, _ stream: Stream) {
        askOrigin(HeadProof(least, isForOrigin: true), stream)
    }

    private func askOrigin(_ proof: HeadProof, _ stream: Stream) {
        guard stream.replica?.identity.ask(proof) == true else { return }
        fetcher.ask(
            .proof(FetchQueue.Subject(stream), proof),
            .changes(conversation: stream.id, since: proof.rev, mark: proof.mark, limit: 1),
            fetcher.rank(of: stream))
    }

    /// The origin answered, of a log that had the newest change taken when it was asked: what it
    /// has up to that change is of the stream's branch.
    func judged(
        _ proof: HeadProof, _ subject: FetchQueue.Subject, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        let stream = subject.stream
        guard subject.isCurrent, shared.streams.has(stream) else { return }
        switch result {
        case .success(.changes(let changes)) where generation == stream.replica?.generation:
            guard let state = stream.state, let seen = subject.seen,
                changes.head.epoch == state.head.epoch
            else { return note(proof, false, stream) }
            if proof.rev <= seen.rev || stream.mark(at: proof.rev) == proof.mark {
                stream.replica?.identity.note(proof, holds: true)
            } else if proof.rev > state.position.rev {
                stream.replica?.identity.expect(proof)
            } else {
                stream.replica?.identity.giveUp(proof)
            }
            shared.steps.emit(.wake(stream))
        case .failure(.logLost) where generation == stream.replica?.generation:
            // The log is compared, and the proof asked for again.
            stream.replica?.identity.giveUp(proof)
        case .failure(let error)
        where error.code == .conflict && generation == stream.replica?.generation:
            note(proof, false, stream)
        case .success, .failure:
            stream.replica?.identity.giveUp(proof)
            fetcher.fallBack(stream)
            shared.steps.emit(.wake(stream))
        }
    }

    private func note(_ proof: HeadProof, _ holds: Bool, _ stream: Stream) {
        stream.replica?.identity.note(proof, holds: holds)
        shared.steps.emit(.wake(stream))
    }
}
