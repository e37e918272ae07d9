import Chat
import Ports
import Wire

/// What the origin answers about a mirrored log, and where it brings the stream: heads, the chain
/// of changes, pages, and that there is another log or none. This is the catch-up after an outage.
extension Engine {
    /// The head of the log, nil if there is no such log any more.
    func probed(_ stream: Stream, _ head: Head?) {
        guard let state = stream.state, let mirror = stream.mirror else { return }
        guard let head else { return vanished(stream) }
        guard head.epoch == state.head.epoch else { return replaced(stream, head) }
        // A look at what should be there.
        if mirror.feed.isLive { return expect(head.rev, stream) }
        guard mirror.next == .compareHead else { return }
        // Values were taken up to here, on top of a hole or not: the log must have it yet.
        let seen = state.head
        if head.rev < seen.rev || head.rev == seen.rev && head.mark != seen.mark {
            stream.mirror?.next = .forkEpoch
        } else if head.rev > seen.rev {
            // The chain says whether the log has the position.
            stream.mirror?.next = seen.rev == state.position.rev ? .catchUp : .verifyHead
        } else {
            stream.mirror?.next = seen.rev == state.position.rev ? nil : .catchUp
            confirm(stream)
            raiseFloor(stream, to: head.floor)
            if stream.mirror?.next == nil { join(stream) }
        }
    }

    func concluded(_ step: Mirror.Step, _ stream: Stream, _ answer: HistoryAnswer) {
        switch (step, answer) {
        case (.conversation, .conversation(let view)): took(view, stream)
        case (.catchUp, .changes(let changes)): took(changes, stream)
        case (.verifyHead, .changes):
            stream.mirror?.next = .catchUp
            confirm(stream)
        case (.backfill(let since), .changes(let changes)):
            // A reading that begins further back may have taken its place.
            if stream.mirror?.copy.backfill?.upTo == since { filledBack(changes, stream) }
        case (.latest, .page(let page)): showed(page, stream)
        case (.forkEpoch, .heads(let heads)):
            stream.mirror?.next = .compareHead
            guard let head = heads.first(where: { $0.key.isSameID(stream.id) })?.value else {
                return vanished(stream)
            }
            if head.epoch != stream.state?.head.epoch { return replaced(stream, head) }
            passMarks(stream, at: head)
        default: preconditionFailure("the upstream answered a question with something else")
        }
    }

    /// The log keeps no mark of where the stream stands, which is no reason for another epoch. If
    /// it has the newest change that values were taken from, it is the one that the stream knows,
    /// and what changed since is read without a mark. Otherwise nobody can tell whether what is
    /// held is of this log or of a master's that failed: the stream begins anew.
    private func passMarks(_ stream: Stream, at head: Head) {
        guard let state = stream.state, let mirror = stream.mirror, head.rev >= state.head.rev
        else { return }
        guard mirror.isConfirmed else {
            return head.rev > state.head.rev ? replaced(stream, head, .mark) : ()
        }
        stream.mirror?.readTo = state.position
        stream.mirror?.readTo?.mark = ""
        stream.mirror?.next = .catchUp
    }

    /// Record and head as the origin has them now: the stream begins there, or jumps there.
    private func took(_ view: ConversationView, _ stream: Stream) {
        guard stream.mirror?.next == .conversation else { return }
        if let state = stream.state {
            guard state.head.epoch == view.head.epoch else { return replaced(stream, view.head) }
            // Who has come to watch meanwhile would miss what is left out, and what the chain has
            // read need not be read again.
            let reached = stream.mirror?.readTo ?? state.position
            guard view.head.rev > reached.rev, stream.subscribers.isEmpty else {
                stream.mirror?.next = view.head.rev > state.position.rev ? .catchUp : .compareHead
                return
            }
        }
        let known = stream.state
        // What the feed has told on top of the hole is newer.
        let isOlder = (known?.head.rev ?? 0) > view.head.rev
        var record = view.record
        if let newest = known?.record, newest.rev > record.rev { record = newest }
        stream.state = Stream.State(
            head: isOlder ? known?.head ?? view.head : view.head, position: view.head,
            record: record, members: Set(record.participants.map(\.id)), last: view.lastMessage,
            firstToken: 0)
        stream.needsLast = isOlder
        stream.told = view.head.rev
        if known == nil {
            writer.restart(stream, record, at: view.head)
        } else {
            writer.jump(stream, record, to: view.head)
        }
        if let last = view.lastMessage {
            keep(last, mark: nil, asOf: view.head.rev, of: stream)
        }
        stream.mirror?.next = nil
        stream.mirror?.readTo = nil
        stream.mirror?.knowMembers(upTo: view.head.rev)
        confirm(stream)
        takePostponed(stream)
        join(stream)
        list(stream)
        let members = Set(record.participants.map(\.id))
        unlist(stream.id, (known?.record.participants ?? []).filter { !members.contains($0.id) })
    }

    /// A part of the chain.
    private func took(_ changes: Changes, _ stream: Stream) {
        guard let state = stream.state, let mirror = stream.mirror, mirror.next == .catchUp else {
            return
        }
        guard changes.head.epoch == state.head.epoch else { return replaced(stream, changes.head) }
        learnMembers(changes.record, asOf: changes.head, stream)
        confirm(stream)
        takePostponed(stream)
        guard stream.mirror?.next == .catchUp else { return }
        expect(changes.head.rev, stream)
        take(changes, state, stream)
        if !changes.more || changes.upTo >= changes.head.rev {
            stream.mirror?.readsOn()
            return arrive(at: changes.head, stream)
        }
        guard changes.upTo > (mirror.readTo ?? state.position).rev else { return fallBack(stream) }
        var end = changes.head
        // Far behind, a part may end where the log keeps no mark any more.
        (end.rev, end.mark) = (changes.upTo, changes.mark ?? "")
        stream.mirror?.readTo = end
        // What the feed has told without a break reaches back to here: the chain need not go on.
        if let reached = stream.mirror?.reach(after: end), reached.rev >= changes.head.rev {
            arrive(at: reached, stream)
        } else {
            let next = next(behind: changes.head.rev - state.position.rev, stream)
            stream.mirror?.next = next
        }
    }

    private func take(_ changes: Changes, _ state: Stream.State, _ stream: Stream) {
        for message in changes.messages where message.seq >= changes.head.floor {
            let isTold = stream.mirror?.hasTold(message) == true
            let mark = message.rev == changes.head.rev ? changes.head.mark : nil
            keep(message, mark: mark, asOf: changes.head.rev, of: stream)
            guard !isTold else { continue }
            // The position is where the chain ends, and the feed may break before that.
            if changes.more { stream.mirror?.tell(message) }
            tell(state.type(of: message), .fill, message, stream)
        }
    }

    /// The newest record of the log as of `head`, nil if the stream has it. It is applied before
    /// any message of the same answer is told: a message may have been sent after somebody was
    /// removed, and the part of the chain that holds the removal may come much later.
    func learnMembers(_ record: Record?, asOf head: Head, _ stream: Stream) {
        raiseFloor(stream, to: head.floor)
        note(head, stream)
        if let record {
            flush(stream)
            take(record, mark: nil, removed: nil, stream)
        }
        stream.mirror?.knowMembers(upTo: head.rev)
    }

    /// The chain was read to its end.
    private func arrive(at head: Head, _ stream: Stream) {
        stream.mirror?.readTo = nil
        stream.mirror?.next = nil
        if head.rev > stream.state?.position.rev ?? 0 { stand(stream, at: head) }
        join(stream)
    }

    /// What comes after the first part of a chain. Where it is long, whoever watches is shown its
    /// end first; and where nobody does, nobody holds what lies between, so that nobody misses it.
    private func next(behind distance: Int, _ stream: Stream) -> Mirror.Step {
        guard let sync, let mirror = stream.mirror, distance > sync.farBehind else {
            return .catchUp
        }
        if stream.subscribers.isEmpty { return .conversation }
        return mirror.hasShownLatest ? .catchUp : .latest
    }

    /// The newest page of a conversation that is far behind: it goes out at once, and what lies
    /// between is a gap that the chain will fill.
    private func showed(_ page: Page, _ stream: Stream) {
        guard let state = stream.state, let mirror = stream.mirror, mirror.next == .latest else {
            return
        }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        stream.mirror?.next = .catchUp
        stream.mirror?.hasShownLatest = true
        raiseFloor(stream, to: page.head.floor)
        expect(page.head.rev, stream)
        // Behind what is known of the membership somebody may have been removed.
        let known = mirror.membersKnown
        if page.head.rev <= known { note(page.head, stream) }
        let above = page.messages.filter { $0.seq > state.position.seq && $0.rev <= known }
        guard let highest = above.map(\.seq).max() else { return }
        flush(stream)
        for message in above {
            keep(message, mark: nil, asOf: page.head.rev, of: stream)
            guard stream.mirror?.hasTold(message) == false else { continue }
            tell(.inserted, .fill, message, stream)
            stream.mirror?.tell(message)
        }
        flush(stream)
        // Just what is lacking, in as many intervals as it has: a place that was told live would
        // not be told again. Without a cache nobody knows what that is, and the stream is open.
        guard let mirror = stream.mirror, !mirror.copy.isDetached else { return }
        let hole = Coverage.closed(max(state.position.seq + 1, page.head.floor), highest)
        tellGap(hole.subtracting(mirror.copy.held), .upstream, stream)
    }

    /// What changed before the cache's knowledge begins.
    private func filledBack(_ changes: Changes, _ stream: Stream) {
        guard let state = stream.state, let mirror = stream.mirror,
            let backfill = mirror.copy.backfill
        else { return }
        guard changes.head.epoch == state.head.epoch else { return replaced(stream, changes.head) }
        learnMembers(changes.record, asOf: changes.head, stream)
        takePostponed(stream)
        expect(changes.head.rev, stream)
        // Read before something that the cache does not have.
        guard changes.head.rev >= mirror.copy.changesFrom else { return fillBack(stream) }
        for message in changes.messages
        where message.seq >= state.head.floor && message.seq <= state.head.seq {
            keep(message, mark: nil, asOf: changes.head.rev, of: stream)
        }
        let isFilled = stream.mirror?.copy.filledBack(
            from: backfill.from, upTo: changes.upTo, more: changes.more)
        guard isFilled == true else { return fillBack(stream) }
        writer.keep(.changesFrom(conversation: stream.id, rev: backfill.from), of: stream)
    }

    /// Places that were asked for.
    func took(_ page: Page, for run: Coverage.Run, _ stream: Stream) {
        guard let state = stream.state, let mirror = stream.mirror else { return }
        guard page.head.epoch == state.head.epoch else { return replaced(stream, page.head) }
        raiseFloor(stream, to: page.head.floor)
        // Read before something that the cache does not have.
        let least =
            mirror.copy.isDetached
            ? state.position.rev
            : max(mirror.copy.changesFrom, mirror.copy.trimmedAt ?? 0)
        guard mirror.isConfirmed, page.head.rev >= least else { return }
        let messages = page.messages.filter { run.contains($0.seq) && $0.seq >= page.head.floor }
        guard let lowest = messages.map(\.seq).min() else {
            // Nothing of it is there any more; if the floor does not say why, it is asked again.
            if run.high >= page.head.floor { fallBack(stream) }
            return
        }
        // Behind what is known of the membership somebody may have been removed: it is asked for
        // again, and the feed or the chain tells meanwhile.
        guard messages.allSatisfy({ $0.rev <= mirror.membersKnown }) else {
            expect(page.head.rev, stream)
            return fallBack(stream)
        }
        if messages.contains(where: { $0.rev > state.head.rev }) { note(page.head, stream) }
        for message in messages {
            keep(message, mark: nil, asOf: page.head.rev, of: stream)
        }
        expect(page.head.rev, stream)
        // Dense numbering: what was read lies without a hole from the anchor on.
        payOwed(Coverage(lowest, run.high), messages, stream)
    }
}

extension Stream.State {
    /// What happened to a message, for those who know what the stream has told.
    func type(of message: EncodedMessage) -> DeltaType {
        message.seq > position.seq ? .inserted : message.isDeleted ? .deleted : .updated
    }
}
