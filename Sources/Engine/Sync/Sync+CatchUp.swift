import Chat
import Ports
import Wire

/// The catch-up after an outage, and the other answers of the origin about a stream's log: heads,
/// the chain of changes, pages, and that there is another log or none. The head is asked for, then
/// the changes above the position until they join what the feed has brought meanwhile. Live changes
/// lie on top and never move the point that is read from.
extension Sync {
    /// The head of the log; nil if the log no longer exists.
    func headCompared(_ stream: Stream, _ head: Head?) {
        guard let state = stream.state,
            let finding = stream.replica?.compared(
                head, seen: state.head, position: state.position)
        else { return }
        act(on: finding, floor: head?.floor ?? 0, stream)
    }

    /// Does what a finding about the log requires.
    private func act(on finding: Replica.Finding, floor: Int, _ stream: Stream) {
        switch finding {
        case .nothing: break
        case .vanished: vanished(stream)
        case .replaced(let head, let reason): replaced(stream, head, reason)
        case .moved(let rev): applier.expect(rev, stream)
        case .confirmed:
            confirm(stream)
            applier.raiseFloor(stream, to: floor)
            if stream.replica?.next == nil { applier.settle(stream) }
        }
    }

    /// A step was answered, with the kind of answer that it expects: `FetchQueue.Question` lets no
    /// other through.
    func concluded(
        _ step: Replica.Step, _ subject: FetchQueue.Subject, _ answer: HistoryAnswer
    ) {
        let stream = subject.stream
        switch step {
        case .compareHead:
            guard case .heads(let heads, _) = answer else { return }
            headCompared(stream, heads[stream.id.id])
        case .conversation:
            if case .conversation(let view) = answer { took(view, stream) }
        case .catchUp:
            if case .changes(let changes) = answer { took(changes, stream) }
        case .backfill(let since):
            guard case .changes(let changes) = answer else { return }
            // A reading that begins further back may have taken its place.
            if stream.replica?.copy.backfill?.upTo == since { filledBack(changes, subject) }
        case .latest:
            if case .page(let page) = answer { showed(page, subject) }
        case .forkEpoch:
            guard case .heads(let heads, _) = answer else { return }
            let head = heads[stream.id.id]
            let finding = stream.replica?.forked(
                head, seen: stream.state?.head)
            if let finding { act(on: finding, floor: 0, stream) }
        }
    }

    /// The origin's current record and head: the stream begins there.
    private func took(_ view: ConversationView, _ stream: Stream) {
        guard stream.replica?.next == .conversation, stream.state == nil else { return }
        stream.state = Stream.State(
            head: view.head, position: view.head, record: view.record,
            members: Set(view.record.participants.map(\.id)), last: view.lastMessage,
            firstToken: 0)
        stream.entry.needsLast = false
        store.restart(stream, view.record, at: view.head)
        if let last = view.lastMessage {
            store.keep(last, mark: nil, asOf: view.head.rev, of: stream)
        }
        begin(stream, at: view.head)
        takeAcknowledged(stream)
    }

    /// The stream stands at `head`, and nothing that lies before it was sent.
    private func begin(_ stream: Stream, at head: Head) {
        stream.outgoing.begin(at: head.rev)
        stream.replica?.endChain(at: head.rev)
        confirm(stream)
        applier.settle(stream)
        emit(.list(stream))
    }

    /// The log is far ahead, and nobody watches: what lies between is held by nobody, and is
    /// skipped. Values and record of this part are those of `head`.
    private func jump(to head: Head, _ stream: Stream) {
        guard let state = stream.state else { return }
        stream.state?.position = head
        stream.state?.position.floor = max(head.floor, state.head.floor)
        // The last message may lie in what is skipped.
        stream.state?.last = nil
        stream.entry.needsLast = true
        store.jump(stream, state.record, to: head)
        begin(stream, at: head)
    }

    /// A part of the chain.
    private func took(_ changes: Changes, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica, replica.next == .catchUp
        else {
            return
        }
        guard changes.head.epoch == state.head.epoch else { return replaced(stream, changes.head) }
        applier.learnMembers(changes.record, asOf: changes.head, stream)
        confirm(stream)
        applier.expect(changes.head.rev, stream)
        take(changes, state, stream)
        if !changes.more || changes.upTo >= changes.head.rev {
            return arrive(at: changes.head, stream)
        }
        guard changes.upTo > replica.readTo ?? state.position.rev else {
            return fetcher.fallBack(stream)
        }
        stream.replica?.readOn(to: changes.upTo)
        let isFar = changes.head.rev - state.position.rev > options?.farBehind ?? .max
        if isFar, stream.subscribers.isEmpty {
            jump(to: changes.head, stream)
        } else {
            stream.replica?.goOn(isFar: isFar)
        }
    }

    private func take(_ changes: Changes, _ state: Stream.State, _ stream: Stream) {
        for message in changes.messages where message.seq >= changes.head.floor {
            let isTold = stream.replica?.ahead.hasTold(message) == true
            let mark = message.rev == changes.head.rev ? changes.head.mark : nil
            store.keep(message, mark: mark, asOf: changes.head.rev, of: stream)
            guard !isTold else { continue }
            // The position stays until the chain ends, and the feed may break before that.
            if changes.more { stream.replica?.ahead.tell(message) }
            applier.tell(state.type(of: message), .fill, message, stream)
        }
    }

    /// The chain was read to its end.
    private func arrive(at head: Head, _ stream: Stream) {
        stream.replica?.endChain(at: head.rev)
        if head.rev > stream.state?.position.rev ?? 0 {
            applier.raisePosition(of: stream, to: head)
        }
        applier.settle(stream)
    }

    /// The newest page of a conversation that is far behind is sent at once; what lies between
    /// becomes a gap that the chain will fill.
    private func showed(_ page: Page, _ subject: FetchQueue.Subject) {
        let stream = subject.stream
        guard let state = stream.state, let replica = stream.replica, replica.next == .latest,
            let proved = subject.seen
        else { return }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        stream.replica?.showedLatest()
        applier.expect(page.head.rev, stream)
        let above = page.messages.filter { $0.seq > state.position.seq && $0.rev <= proved.rev }
        guard let highest = above.map(\.seq).max() else { return }
        fanout.flush(stream)
        for message in above {
            store.keep(message, mark: nil, asOf: proved.rev, of: stream)
            guard stream.replica?.ahead.hasTold(message) == false else { continue }
            applier.tell(.inserted, .fill, message, stream)
            stream.replica?.ahead.tell(message)
        }
        fanout.flush(stream)
        // The gap names exactly what is missing, in as many intervals as that has: a slot that was
        // sent live would not be sent again. Without a cache nobody knows what is missing, and the
        // stream stays open.
        guard let replica = stream.replica, !replica.copy.isDetached else { return }
        let floor = stream.state?.head.floor ?? 1
        let hole = Coverage.closed(max(state.position.seq + 1, floor), highest)
        fanout.tellGap(hole.subtracting(replica.copy.held), .upstream, stream)
    }

    /// Changes below the cache's `changesFrom`.
    private func filledBack(_ changes: Changes, _ subject: FetchQueue.Subject) {
        let stream = subject.stream
        guard let state = stream.state, let replica = stream.replica, let proved = subject.seen
        else { return }
        guard changes.head.epoch == state.head.epoch else { return replaced(stream, changes.head) }
        applier.expect(changes.head.rev, stream)
        // The answer is older than something that the cache does not have.
        guard proved.rev >= replica.copy.changesFrom else { return fetcher.fillBack(stream) }
        for message in changes.messages
        where message.seq >= state.head.floor && message.rev <= proved.rev {
            store.keep(message, mark: nil, asOf: proved.rev, of: stream)
        }
        stream.replica?.copy.filledBack(upTo: changes.upTo, more: changes.more, head: changes.head)
        settleBackfill(stream)
        fetcher.fillBack(stream)
    }

    /// Whether the stream has taken what a backfill waited for.
    func settleBackfill(_ stream: Stream) {
        guard let state = stream.state, let copy = stream.replica?.copy,
            let until = copy.backfill?.until, state.position.rev >= until.rev
        else { return }
        guard stream.mark(at: until.rev) == until.mark,
            let from = stream.replica?.copy.settleBackfill()
        else { return stream.replica?.copy.stopBackfill() ?? () }
        store.hasChanges(from: from, of: stream)
    }

    /// A requested range of messages.
    func took(_ page: Page, for run: Coverage.Run, _ subject: FetchQueue.Subject) {
        let stream = subject.stream
        guard let state = stream.state, let replica = stream.replica, let proved = subject.seen
        else { return }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        // The chain brings the floor of a head that is not known.
        let isKnown = stream.mark(at: page.head.rev) == page.head.mark
        if isKnown { applier.raiseFloor(stream, to: page.head.floor) }
        applier.expect(page.head.rev, stream)
        // An answer older than something that the cache does not have is void.
        let least =
            replica.copy.isDetached
            ? state.position.rev
            : max(replica.copy.changesFrom, replica.copy.trimmedAt ?? 0)
        guard replica.isConfirmed, proved.rev >= least else { return }
        let messages = page.messages.filter { run.contains($0.seq) && $0.seq >= page.head.floor }
        guard let lowest = messages.map(\.seq).min() else {
            // No message of the run is left; unless the floor explains that, it is asked again.
            if !isKnown || run.high >= page.head.floor { fetcher.fallBack(stream) }
            return
        }
        // What is newer is asked again, and meanwhile the feed or the chain brings it.
        guard messages.allSatisfy({ $0.rev <= proved.rev }) else { return fetcher.fallBack(stream) }
        for message in messages { store.keep(message, mark: nil, asOf: proved.rev, of: stream) }
        // Dense numbering: the page has no hole from the anchor on.
        fanout.sendOwed(Coverage(lowest, run.high), messages, stream)
    }
}

extension Stream.State {
    /// The type of the delta for subscribers at the stream's position.
    func type(of message: EncodedMessage) -> DeltaType {
        message.seq > position.seq ? .inserted : message.isDeleted ? .deleted : .updated
    }
}
