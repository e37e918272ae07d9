import Chat
import Ports
import Wire

/// The catch-up after an outage, and the other answers of the origin about a stream's log: heads,
/// the chain of changes, pages, and that there is another log or none. The head is asked for, then
/// the changes above the position until they join what the feed has brought meanwhile. Live changes
/// lie on top and never move the point that is read from.
extension Sync {
    /// The head of the log; nil if there is no such log any more.
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
            if stream.replica?.next == nil { applier.join(stream) }
        }
    }

    /// A step was answered, with the kind of answer that it expects: `FetchQueue.Question` lets no
    /// other through.
    func concluded(_ step: Replica.Step, _ stream: Stream, _ answer: HistoryAnswer) {
        switch step {
        case .compareHead:
            guard case .heads(let heads, _) = answer else { return }
            headCompared(stream, heads[stream.id.id])
        case .conversation:
            if case .conversation(let view) = answer { took(view, stream) }
        case .catchUp:
            if case .changes(let changes) = answer { took(changes, stream) }
        case .verifyHead:
            stream.replica?.verified()
            confirm(stream)
        case .backfill(let since):
            guard case .changes(let changes) = answer else { return }
            // A reading that begins further back may have taken its place.
            if stream.replica?.copy.backfill?.upTo == since { filledBack(changes, stream) }
        case .latest:
            if case .page(let page) = answer { showed(page, stream) }
        case .forkEpoch:
            guard case .heads(let heads, _) = answer else { return }
            let head = heads[stream.id.id]
            let finding = stream.replica?.forked(
                head, seen: stream.state?.head, position: stream.state?.position)
            if let finding { act(on: finding, floor: 0, stream) }
        }
    }

    /// The origin's current record and head: the stream begins there, or jumps there.
    private func took(_ view: ConversationView, _ stream: Stream) {
        guard stream.replica?.next == .conversation else { return }
        if let state = stream.state {
            guard state.head.epoch == view.head.epoch else { return replaced(stream, view.head) }
            // A subscriber who came meanwhile would miss what is skipped.
            let mayStand = stream.replica?.mayStand(
                at: view.head.rev, position: state.position,
                isWatched: !stream.subscribers.isEmpty)
            guard mayStand == true else { return }
        }
        let known = stream.state
        // The feed's values on top of the hole are newer.
        let isOlder = (known?.head.rev ?? 0) > view.head.rev
        var record = view.record
        if let newest = known?.record, newest.rev > record.rev { record = newest }
        stream.state = Stream.State(
            head: isOlder ? known?.head ?? view.head : view.head, position: view.head,
            record: record, members: Set(record.participants.map(\.id)), last: view.lastMessage,
            firstToken: 0)
        stream.entry.needsLast = isOlder
        stream.outgoing.begin(at: view.head.rev)
        if known == nil {
            store.restart(stream, record, at: view.head)
        } else {
            store.jump(stream, record, to: view.head)
        }
        if let last = view.lastMessage {
            store.keep(last, mark: nil, asOf: view.head.rev, of: stream)
        }
        stream.replica?.endChain()
        stream.replica?.knowMembers(upTo: view.head.rev)
        confirm(stream)
        takePostponed(stream)
        applier.join(stream)
        emit(.list(stream))
        let gone = (known?.members ?? []).subtracting(stream.state?.members ?? [])
        emit(.left(stream, users: gone.map(\.text).sorted()))
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
        takePostponed(stream)
        guard stream.replica?.next == .catchUp else { return }
        applier.expect(changes.head.rev, stream)
        take(changes, state, stream)
        if !changes.more || changes.upTo >= changes.head.rev {
            stream.replica?.ahead.readsOn()
            return arrive(at: changes.head, stream)
        }
        guard changes.upTo > (replica.readTo ?? state.position).rev else {
            return fetcher.fallBack(stream)
        }
        var end = changes.head
        // Far behind, a part may end at a rev whose mark the log no longer keeps.
        (end.rev, end.mark) = (changes.upTo, changes.mark ?? "")
        if let reached = stream.replica?.readOn(to: end, newest: changes.head) {
            arrive(at: reached, stream)
        } else {
            stream.replica?.goOn(
                isFar: changes.head.rev - state.position.rev > options?.farBehind ?? .max,
                isWatched: !stream.subscribers.isEmpty)
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
        stream.replica?.endChain()
        if head.rev > stream.state?.position.rev ?? 0 { applier.stand(stream, at: head) }
        applier.join(stream)
    }

    /// The newest page of a conversation that is far behind is sent at once; what lies between
    /// becomes a gap that the chain will fill.
    private func showed(_ page: Page, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica, replica.next == .latest else {
            return
        }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        stream.replica?.showedLatest()
        applier.expect(page.head.rev, stream)
        // Above the known membership there may be an unknown removal.
        let known = replica.membersKnown
        if page.head.rev <= known {
            applier.raiseFloor(stream, to: page.head.floor)
            applier.note(page.head, stream)
        }
        let above = page.messages.filter { $0.seq > state.position.seq && $0.rev <= known }
        guard let highest = above.map(\.seq).max() else { return }
        fanout.flush(stream)
        for message in above {
            store.keep(message, mark: nil, asOf: page.head.rev, of: stream)
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
    private func filledBack(_ changes: Changes, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica else { return }
        guard changes.head.epoch == state.head.epoch else { return replaced(stream, changes.head) }
        applier.learnMembers(changes.record, asOf: changes.head, stream)
        takePostponed(stream)
        applier.expect(changes.head.rev, stream)
        // The answer is older than something that the cache does not have.
        guard changes.head.rev >= replica.copy.changesFrom else { return fetcher.fillBack(stream) }
        for message in changes.messages
        where message.seq >= state.head.floor && message.seq <= state.head.seq {
            store.keep(message, mark: nil, asOf: changes.head.rev, of: stream)
        }
        let from = stream.replica?.copy.filledBack(
            upTo: changes.upTo, more: changes.more, head: changes.head.rev,
            position: state.position.rev)
        guard let from else { return fetcher.fillBack(stream) }
        store.hasChanges(from: from, of: stream)
    }

    /// Whether the stream has taken what a backfill waited for.
    func settleBackfill(_ stream: Stream) {
        guard let state = stream.state,
            let from = stream.replica?.copy.settleBackfill(at: state.position.rev)
        else { return }
        store.hasChanges(from: from, of: stream)
    }

    /// A requested range of messages.
    func took(_ page: Page, for run: Coverage.Run, _ stream: Stream) {
        guard let state = stream.state, let replica = stream.replica else { return }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        // The chain brings the floor of a head above the one that is known.
        let isSeen = page.head.rev <= state.head.rev
        if isSeen { applier.raiseFloor(stream, to: page.head.floor) }
        // An answer older than something that the cache does not have is void.
        let least =
            replica.copy.isDetached
            ? state.position.rev
            : max(replica.copy.changesFrom, replica.copy.trimmedAt ?? 0)
        guard replica.isConfirmed, page.head.rev >= least else { return }
        let messages = page.messages.filter { run.contains($0.seq) && $0.seq >= page.head.floor }
        guard let lowest = messages.map(\.seq).min() else {
            // Nothing of it exists any more; unless the floor explains that, it is asked again.
            guard !isSeen || run.high >= page.head.floor else { return }
            applier.expect(page.head.rev, stream)
            return fetcher.fallBack(stream)
        }
        // Above the known membership there may be an unknown removal: this is asked again, and
        // meanwhile the feed or the chain brings it.
        guard messages.allSatisfy({ $0.rev <= replica.membersKnown }) else {
            applier.expect(page.head.rev, stream)
            return fetcher.fallBack(stream)
        }
        if messages.contains(where: { $0.rev > state.head.rev }) {
            applier.raiseFloor(stream, to: page.head.floor)
            applier.note(page.head, stream)
        }
        for message in messages {
            store.keep(message, mark: nil, asOf: page.head.rev, of: stream)
        }
        applier.expect(page.head.rev, stream)
        // Dense numbering: the page has no hole from the anchor on.
        fanout.payOwed(Coverage(lowest, run.high), messages, stream)
    }
}

extension Stream.State {
    /// The type of the delta for subscribers at the stream's position.
    func type(of message: EncodedMessage) -> DeltaType {
        message.seq > position.seq ? .inserted : message.isDeleted ? .deleted : .updated
    }
}
