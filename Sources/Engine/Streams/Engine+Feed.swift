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
        for event in events {
            take(event)
            takeSteps()
        }
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
            fanout.send(
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
                let stream = desk.stream(conversation)
                stream.isToBeAnnounced = true
                noteChange(event.message, rev: head.rev, stream)
                if event.isBeginning { stream.entry.isNew = true }
            }
            return
        }
        if !mirrors { noteChange(event.message, rev: head.rev, stream) }
        guard let state = stream.state else {
            stream.early.append(event)
            stream.isToBeAnnounced = true
            return
        }
        if stream.replica != nil { return sync.follow(event, head, stream) }
        guard state.head.epoch == head.epoch, state.head.rev < head.rev else {
            // The stream was loaded ahead of the feed, and nobody was told of what lies between.
            return list(stream)
        }
        tally.noteChange()
        apply(stream)
        desk.settleParked(stream)
    }

    // MARK: - Changes

    private func apply(
        _ type: DeltaType, _ message: EncodedMessage, _ head: Head, to stream: Stream
    ) {
        if let from = stream.state?.position {
            streams.remember(message, from: from, to: head, stream)
        }
        stream.state?.head = head
        stream.state?.position = head
        stream.updateLast(message)
        list(stream)
        fanout.tell(type, .live, message, stream)
    }

    private func apply(
        _ record: Record, _ head: Head, removed: [String], isNew: Bool, to stream: Stream
    ) {
        fanout.flush(stream)
        if let from = stream.state?.position { streams.remember(nil, from: from, to: head, stream) }
        stream.state?.head = head
        stream.state?.position = head
        stream.take(record, isNew: isNew)
        unsubscribed(fanout.remove(removed, from: stream), stream)
        list(stream)
        fanout.tell(record, stream)
    }

    /// A new log begins under this id: nothing held of another one counts.
    private func replaced(_ conversation: String, _ head: Head) {
        guard let stream = streams[conversation.id], let state = stream.state,
            state.head.epoch != head.epoch
        else { return }
        tally.noteReset(.replaced, stream.id, stream.subscribers.count)
        end(stream, with: ServerFrame.reset(conversation: conversation, head: head))
    }

    private func deleted(_ event: FeedEvent, _ conversation: String, _ epoch: String) {
        guard let stream = streams[conversation.id] else { return }
        if let replica = stream.replica {
            guard replica.isConfirmed else { return stream.early.append(event) }
            // What the stream knows may be older or newer than the log that ended.
            sync.doubt(stream, told: [epoch])
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
    private func end(_ stream: Stream, with payload: [UInt8]) {
        fanout.flush(stream)
        streams[stream.id.id] = nil
        let waiting = stream.waiting
        stream.waiting = []
        ended(stream, with: payload, waiting)
    }

    private func read(_ conversation: String, _ user: String, _ seq: Int) {
        markUnread(conversation.id, user.id, upTo: seq)
        let stream = streams[conversation.id]
        if let stream { lists.read(user.id, upTo: seq, stream) }
        let own = sessions.of(user.id).filter { session in
            session.watchesConversations
                && !(stream.map { session.subscription(to: $0) != nil } ?? false)
        }
        let watchers = stream.map { !$0.subscribers.isEmpty } ?? false
        guard watchers || !own.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.read(conversation: conversation, user: user, seq: seq), .read(user: user),
            conversation: conversation)
        if let stream { fanout.send(event, to: stream) }
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
        fanout.touch(stream)
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
            if !listWatchers.isEmpty || !stream.readership.isEmpty { sync.askLast(stream) }
            return
        }
        stream.isListed = false
        guard let type = stream.entry.tell(state) else { return }
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
            if let user = session.user?.id { lists.listings[user]?.left.remove(stream.id.id) }
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

    /// The log says that these are out of the conversation. Whose list said so before was told.
    func unlist(_ conversation: String, _ users: [String]) {
        dropUnread(conversation.id, of: users)
        let id = conversation.id
        let shown = users.filter { lists[$0.id]?.shows(id) ?? !mirrors }
        for user in users { lists.listings[user.id]?.noteTold(id) }
        tellUnlisted(conversation, shown)
    }

    /// Tells those who watch the lists of these users that the conversation is out of them.
    func tellUnlisted(_ conversation: String, _ users: [String]) {
        guard !listWatchers.isEmpty, !users.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.conversationRemoved(conversation), .conversations(head: nil),
            conversation: conversation)
        for session in watchers(among: Set(users.map(\.id))) { push(session, event) }
    }
}
