import Chat
import JSON
import Ports
import Wire

/// What the feed tells: it moves the streams and goes to those who watch. Message changes of a turn
/// are gathered per conversation and encoded once, whoever gets them.
extension Engine {
    /// A batch of the feed, in the order of the logs.
    package func feed(_ events: some Sequence<FeedEvent>, at now: Timestamp) {
        self.now = now
        for event in events { take(event) }
    }

    private func take(_ event: FeedEvent) {
        switch event {
        case .message, .record:
            if let journal, case .message(let conversation, let type, let message, _) = event {
                journal.came(.arrived, conversation, type, message, at: now)
            }
            move(event)
            // A mirrored stream tells lists when it takes the record.
            if case .record(let record, _, let removed, _) = event,
                streams[record.id.id]?.replica == nil
            {
                unlist(record.id, removed)
            }
        case .deleted(let conversation, let epoch, let participants):
            unlist(conversation, participants)
            deleted(event, conversation, epoch)
        case .read(let conversation, let user, let seq):
            read(conversation, user, seq)
        case .listed(let user, let conversation, let isIn):
            relisted(user, conversation, isIn: isIn)
        case .typing(let conversation, let user, let state, let at):
            guard let stream = streams[conversation.id], !stream.subscribers.isEmpty else { return }
            send(
                Broadcast(
                    ServerFrame.typing(
                        conversation: conversation, user: user, state: state, at: at),
                    .typing, conversation: conversation), to: stream)
        }
    }

    /// What came while the stream was being loaded, now that it is.
    func takeEarly(_ stream: Stream) {
        let early = stream.early
        stream.early = []
        if stream.replica != nil, let epoch = stream.state?.head.epoch {
            // One question answers all that speak of another log, or of the end of this one.
            let own = early.filter { $0.head?.epoch == epoch }
            let others = early.filter { $0.head?.epoch != epoch }
            stream.early = own
            if doubt(stream, told: Set(others.compactMap(\.epoch))) { return }
            stream.early = []
            // Whatever order they came in, each follows what it stands on.
            for event in own.sorted(by: { $0.head?.rev ?? 0 < $1.head?.rev ?? 0 }) { move(event) }
            return
        }
        for event in early {
            if case .deleted(let conversation, let epoch, _) = event {
                deleted(event, conversation, epoch)
            } else {
                move(event)
            }
        }
    }

    private func move(_ event: FeedEvent) {
        switch event {
        case .message(let conversation, let type, let message, let head):
            advance(conversation, event, head) { apply(type, message, head, to: $0) }
        case .record(let record, let head, let removed, let isNew):
            if isNew, !mirrors { replaced(record.id, head) }
            advance(record.id, event, head) {
                apply(record, head, removed: removed, isNew: isNew, to: $0)
            }
        case .deleted, .read, .listed, .typing:
            break
        }
    }

    /// Moves the stream by one change, unless it is past it.
    private func advance(
        _ conversation: String, _ event: FeedEvent, _ head: Head, _ apply: (Stream) -> Void
    ) {
        guard let stream = streams[conversation.id] else {
            // In nobody's sight but perhaps in somebody's list.
            if !listWatchers.isEmpty || !unreadCounts.isEmpty, !mirrors {
                let stream = self.stream(conversation)
                stream.isToBeAnnounced = true
                noteChange(event.message, rev: head.rev, stream)
                if event.isBeginning { stream.isNewToLists = true }
            }
            return
        }
        if !mirrors { noteChange(event.message, rev: head.rev, stream) }
        guard let state = stream.state else {
            stream.early.append(event)
            stream.isToBeAnnounced = true
            return
        }
        if stream.replica != nil { return follow(event, head, stream) }
        guard state.head.epoch == head.epoch, state.head.rev < head.rev else {
            // The stream was loaded ahead of the feed, and nobody was told of what lies between.
            return list(stream)
        }
        counters.changes += 1
        apply(stream)
        settleParked(stream)
    }

    // MARK: - Changes

    private func apply(
        _ type: DeltaType, _ message: EncodedMessage, _ head: Head, to stream: Stream
    ) {
        if let from = stream.state?.position { remember(message, from: from, to: head, stream) }
        stream.state?.head = head
        stream.state?.position = head
        tell(type, .live, message, stream)
    }

    /// A message has another value, for those who watch and for the list.
    func tell(_ type: DeltaType, _ via: Via, _ message: EncodedMessage, _ stream: Stream) {
        updateLast(message, stream)
        list(stream)
        if mirrors { noteChange(message, rev: message.rev, stream) }
        stream.pace.noteArrival()
        if via != .live { journal?.came(.fetched, stream.id, type, message, at: now) }
        guard !stream.subscribers.isEmpty else { return }
        if stream.batch.deltas.isEmpty { pacing.touch(stream) }
        stream.batch.deltas.append(EncodedDelta(type, via, message))
        stream.batch.covers.insert(message.seq, message.seq)
        stream.batch.bytes += message.json.count
        if stream.batch.bytes > Stream.Batch.limit { flush(stream) }
    }

    private func updateLast(_ message: EncodedMessage, _ stream: Stream) {
        guard let state = stream.state else { return }
        if message.isDeleted {
            guard state.last?.seq == message.seq else { return }
            // The one before it is the store's to know, and is asked for when somebody is told.
            stream.state?.last = nil
            stream.needsLast = true
        } else if message.seq >= state.last?.seq ?? 0,
            // What fills a hole need not be the last one that there is.
            !stream.needsLast || message.seq >= state.head.seq
        {
            stream.state?.last = message
            stream.needsLast = false
        }
    }

    private func apply(
        _ record: Record, _ head: Head, removed: [String], isNew: Bool, to stream: Stream
    ) {
        flush(stream)
        if let from = stream.state?.position { remember(nil, from: from, to: head, stream) }
        stream.state?.head = head
        stream.state?.position = head
        tell(record, removed: removed, isNew: isNew, stream)
    }

    /// Slot 0 of a log that lives elsewhere, unless a newer value of it is known.
    /// - Parameter removed: who took part until now, as far as the feed told.
    func take(
        _ record: Record, mark: String?, removed: [String]?, isNew: Bool = false, _ stream: Stream
    ) {
        guard let known = stream.state?.record, known.rev < record.rev else { return }
        writer.keep(.record(record, mark: mark), of: stream)
        // With it goes up to where the log was seen: it must have that yet after a restart.
        writer.moved(stream)
        // The change that took somebody out may lie in a hole below this one.
        let members = Set(record.participants.map(\.id)).union((removed ?? []).map(\.id))
        let gone = (removed ?? []) + known.participants.filter { !members.contains($0.id) }
        tell(record, removed: gone, isNew: isNew, stream)
        unlist(record.id, gone)
    }

    /// Slot 0 has another value. What is told of messages stands before it in the log, and was
    /// flushed before the stream moved.
    private func tell(_ record: Record, removed: [String], isNew: Bool, _ stream: Stream) {
        stream.state?.record = record
        stream.state?.members = Set(record.participants.map(\.id))
        if mirrors { noteChange(nil, rev: record.rev, stream) }
        for user in removed {
            stream.readership.remove(user.id)
            for session in sessions.of(user.id)
            where session.subscription(to: stream) != nil {
                journal?.left(session, stream, "removed", at: now)
                stream.remove(session)
                push(session, ServerFrame.unsubscribed(conversation: stream.id, reason: .removed))
            }
        }
        list(stream)
        stream.isNewToLists = stream.isNewToLists || isNew
        guard let state = stream.state, !stream.subscribers.isEmpty else {
            stream.told = stream.state?.position.rev ?? 0
            return
        }
        let isOpen = stream.isOpen
        let payload = ServerFrame.conversation(
            record, prev: stream.told, asOf: state.position.rev, head: state.head, open: isOpen)
        send(
            Broadcast(
                payload,
                .stream(
                    prev: stream.told, asOf: state.position.rev, touched: Coverage(), deltas: 0,
                    record: record, head: state.head, isOpen: isOpen), of: stream),
            to: stream)
        stream.told = state.position.rev
        if isOpen { stream.saidOpen() }
    }

    /// A new log begins under this id: nothing held of another one counts.
    private func replaced(_ conversation: String, _ head: Head) {
        guard let stream = streams[conversation.id], let state = stream.state,
            state.head.epoch != head.epoch
        else { return }
        noteReset(.replaced, stream.id, stream.subscribers.count)
        end(stream, with: ServerFrame.reset(conversation: conversation, head: head))
    }

    private func deleted(_ event: FeedEvent, _ conversation: String, _ epoch: String) {
        guard let stream = streams[conversation.id] else { return }
        if let replica = stream.replica {
            guard replica.isConfirmed else { return stream.early.append(event) }
            // What the stream knows may be older or newer than the log that ended.
            doubt(stream, told: [epoch])
            return
        }
        guard let state = stream.state else {
            // What is being read may be this log or the next of the same name: the answer tells.
            stream.early.append(event)
            return
        }
        guard state.head.epoch == epoch else { return }
        end(stream, with: ServerFrame.unsubscribed(conversation: conversation, reason: .deleted))
    }

    /// Ends all subscriptions of a stream whose log is gone.
    func end(_ stream: Stream, with payload: [UInt8]) {
        flush(stream)
        streams[stream.id.id] = nil
        let waiting = stream.waiting
        stream.waiting = []
        if stream.replica != nil { dismiss(stream) }
        stream.isListed = false
        if let journal {
            for subscriber in stream.subscribers {
                journal.left(subscriber.session, stream, "ended", at: now)
            }
        }
        for session in stream.removeAll() { push(session, payload) }
        releaseHeldReplies(stream)
        performParked(stream)
        for call in waiting { perform(call) }
    }

    private func read(_ conversation: String, _ user: String, _ seq: Int) {
        markUnread(conversation.id, user.id, upTo: seq)
        let stream = streams[conversation.id]
        stream?.readership.mark(user.id, upTo: seq)
        let own = sessions.of(user.id).filter { session in
            session.watchesConversations
                && !(stream.map { session.subscription(to: $0) != nil } ?? false)
        }
        let watchers = stream.map { !$0.subscribers.isEmpty } ?? false
        guard watchers || !own.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.read(conversation: conversation, user: user, seq: seq), .read(user: user),
            conversation: conversation)
        if let stream { send(event, to: stream) }
        for session in own { push(session, event) }
    }

    // MARK: - Fan-out

    /// The conversation's entry in its participants' lists has changed.
    func list(_ stream: Stream) {
        guard
            !listWatchers.isEmpty || !unreadCounts.isEmpty || !stream.readership.isEmpty,
            !stream.isListed
        else { return }
        stream.isListed = true
        pacing.touch(stream)
    }

    /// Sends the message changes gathered so far, and where the stream stands.
    func flush(_ stream: Stream) {
        guard let state = stream.state else { return }
        let isOpen = stream.isOpen
        guard !stream.subscribers.isEmpty else {
            stream.batch = Stream.Batch()
            stream.told = state.position.rev
            stream.hasSaidOpen = false
            stream.haveAllHeardOpen = false
            return
        }
        guard
            !stream.batch.deltas.isEmpty || stream.told != state.position.rev
                || stream.hasSaidOpen && !isOpen
        else { return }
        sayStream(stream, state)
    }

    /// Those who watch are told by name that there may be more than they know.
    func tellOpen(_ stream: Stream) {
        if !unreadCounts.isEmpty { touchUnread(stream) }
        guard let state = stream.state, !stream.subscribers.isEmpty, !stream.haveAllHeardOpen else {
            return
        }
        sayStream(stream, state)
    }

    private func sayStream(_ stream: Stream, _ state: Stream.State) {
        let batch = stream.batch
        stream.batch = Stream.Batch()
        stream.pace.noteFanOut(of: batch.deltas.count)
        let isOpen = stream.isOpen
        let payload = ServerFrame.messages(
            conversation: stream.id, deltas: batch.deltas, covers: batch.covers, prev: stream.told,
            asOf: state.position.rev, head: state.head, open: isOpen)
        let event = Broadcast(
            payload,
            .stream(
                prev: stream.told, asOf: state.position.rev, touched: batch.covers,
                deltas: batch.deltas.count, record: nil, head: state.head, isOpen: isOpen),
            of: stream, at: journal?.told(.told, batch.covers, "", stream, at: now))
        send(event, to: stream)
        stream.paid(batch.covers)
        stream.told = state.position.rev
        stream.hasSaidOpen = isOpen
        stream.haveAllHeardOpen = isOpen
    }

    func send(_ event: Broadcast, to stream: Stream) {
        pacing.noteSpoken(stream)
        delivery.push(event, to: stream.subscribers)
    }

    /// Tells the watchers of conversation lists, once a turn.
    func announce(_ stream: Stream) {
        guard stream.isListed else { return }
        guard let state = stream.state else {
            stream.isListed = false
            stream.isToBeAnnounced = true
            return
        }
        countUnread(stream, state)
        if stream.needsLast {
            stream.isListed = false
            // It is announced when that is known.
            if !listWatchers.isEmpty || !stream.readership.isEmpty { askLast(stream) }
            return
        }
        stream.isListed = false
        let type: DeltaType = stream.isNewToLists ? .inserted : .updated
        stream.isNewToLists = false
        let receivers = watchers(among: state.members).filter { lists(stream, $0) }
        send(type, stream, state, to: receivers)
    }

    /// Shows lists the conversation as it is.
    func send(
        _ type: DeltaType, _ stream: Stream, _ state: Stream.State, to receivers: [Session]
    ) {
        guard !receivers.isEmpty else { return }
        let payload = ServerFrame.conversations(
            type, state.record, lastMessage: state.last, head: state.head)
        let event = Broadcast(
            payload, .conversations(head: state.head), conversation: stream.id)
        for session in receivers {
            if let user = session.user?.id { listings[user]?.left.remove(stream.id.id) }
            if stream.isOpen, session.isAhead(of: event) { continue }
            push(session, event)
        }
    }

    /// Those of the users who watch their lists, found from the shorter side.
    private func watchers(among users: Set<ID>) -> [Session] {
        guard users.count < listWatchers.count else {
            return listWatchers.values.filter { $0.user.map { users.contains($0.id) } ?? false }
        }
        return users.flatMap { sessions.of($0).filter(\.watchesConversations) }
    }

    func unlist(_ conversation: String, _ users: [String]) {
        dropUnread(conversation.id, of: users)
        guard !listWatchers.isEmpty, !users.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.conversationRemoved(conversation), .conversations(head: nil),
            conversation: conversation)
        for user in users { listings[user.id]?.noteTold(conversation.id) }
        for session in watchers(among: Set(users.map(\.id))) { push(session, event) }
    }
}
