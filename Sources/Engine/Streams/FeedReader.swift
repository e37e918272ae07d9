import Chat
import Ports
import Wire

/// Handles events of the feed: moves the streams and passes changes to subscribers. A log in the
/// same file is followed here, change by change, since its feed has no holes; the feed of a log
/// elsewhere goes to `Sync`.
final class FeedReader {
    private let desk: RequestDesk
    private let announcer: ListAnnouncer
    private let totals: UnreadTotals
    private let connections: Connections
    private let sync: Sync
    private let fanout: Fanout

    init(_ desk: RequestDesk, _ announcer: ListAnnouncer, _ totals: UnreadTotals) {
        self.desk = desk
        self.announcer = announcer
        self.totals = totals
        connections = desk.connections
        sync = desk.sync
        fanout = sync.fanout
    }

    private var streams: StreamRegistry { sync.streams }
    private var isElsewhere: Bool { sync.mirrors }

    func take(_ event: FeedEvent) {
        switch event {
        case .message, .record:
            if let journal = connections.journal,
                case .message(let conversation, let type, let message, _, _) = event
            {
                journal.came(.arrived, conversation, type, message, at: sync.now)
            }
            move(event)
            // For a log elsewhere, lists are updated when its stream takes the record.
            if case .record(let record, _, let removed, _, _, _) = event,
                streams[record.id.id]?.replica == nil
            {
                announcer.left(record.id, removed)
                announceAgain(record.id, to: removed)
            }
        case .deleted(let conversation, let epoch, let participants):
            // A log elsewhere may have a successor that is known already: its stream finds out.
            if streams[conversation.id]?.replica == nil {
                announcer.left(conversation, participants)
            }
            deleted(event, conversation, epoch)
        case .read(let conversation, let user, let seq):
            read(conversation, user, seq)
        case .listed(let user, let conversation, let isIn):
            announcer.relisted(user, conversation, isIn: isIn)
        case .typing(let conversation, let user, let state, let at):
            guard let stream = streams[conversation.id], !stream.subscribers.isEmpty else { return }
            fanout.send(
                Broadcast(
                    ServerFrame.typing(
                        conversation: conversation, user: user, state: state, at: at),
                    .typing, conversation: conversation), to: stream)
        }
    }

    /// Users were just told that a conversation left their lists. If the store was read ahead of
    /// the feed, they may have joined it again, and lists have shown that already.
    private func announceAgain(_ conversation: String, to users: [String]) {
        guard let stream = streams[conversation.id], let members = stream.state?.members,
            users.contains(where: { members.contains($0.id) })
        else { return }
        announceAgain(stream)
    }

    private func announceAgain(_ stream: Stream) {
        stream.entry.begin()
        stream.entry.isNew = true
        announcer.list(stream)
    }

    private func read(_ conversation: String, _ user: String, _ seq: Int) {
        totals.mark(conversation.id, user.id, upTo: seq)
        let stream = streams[conversation.id]
        if let stream { announcer.lists.read(user.id, upTo: seq, stream) }
        let own = connections.registry.of(user.id).filter { session in
            session.list.isWatching
                && !(stream.map { session.subscription(to: $0) != nil } ?? false)
        }
        let watchers = stream.map { !$0.subscribers.isEmpty } ?? false
        guard watchers || !own.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.read(conversation: conversation, user: user, seq: seq), .read(user: user),
            conversation: conversation)
        if let stream { fanout.send(event, to: stream) }
        for session in own { connections.push(session, event) }
    }

    // MARK: - A log in the same file

    /// The store answered with what it has of the conversation.
    func loaded(_ conversation: String, _ result: Result<Answer, RequestError>) {
        guard let stream = streams[conversation.id] else { return }
        if stream.replica != nil { return sync.found(stream, result) }
        let waiting = stream.waits.takeCalls()
        switch result {
        case .success(.loaded(let loaded)):
            stream.begin(loaded, after: sync.questions.last)
            if stream.entry.isToBeAnnounced {
                stream.entry.isToBeAnnounced = false
                announcer.list(stream)
            }
            takeEarly(stream)
            for call in waiting { desk.perform(call) }
        case .success:
            streams[conversation.id] = nil
            for call in waiting { desk.fail(call, .misled) }
        case .failure(let error):
            if stream.waits.events.contains(where: \.isBeginning) {
                // The conversation was created after the store was read.
                stream.waits.events = []
                stream.waits.calls = waiting
                return sync.store.read(.load(conversation: conversation), for: .load(conversation))
            }
            streams[conversation.id] = nil
            for call in waiting { desk.fail(call, error) }
        }
    }

    /// Takes the events that came while the stream was loading.
    private func takeEarly(_ stream: Stream) {
        let early = stream.waits.takeEvents()
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
        case .message(let conversation, let type, let message, let head, _):
            let isListed = event.isToldToLists
            advance(conversation, event, head) {
                apply(type, message, head, isListed: isListed, to: $0)
            }
        case .record(let record, let head, _, _, let isNew, _):
            if isNew, !isElsewhere { replaced(record.id, head) }
            advance(record.id, event, head) { apply(record, head, event, to: $0) }
        case .deleted, .read, .listed, .typing:
            break
        }
    }

    /// Moves the stream by one change, unless it is already past it.
    private func advance(
        _ conversation: String, _ event: FeedEvent, _ head: Head, _ apply: (Stream) -> Void
    ) {
        guard let stream = streams[conversation.id] else {
            // Nobody watches it, but it may be in a watched list.
            if announcer.isWatched || !totals.isEmpty, !isElsewhere {
                let stream = sync.stream(conversation)
                stream.entry.isToBeAnnounced = event.isToldToLists
                totals.note(event.message, rev: head.rev, mark: nil, stream)
                if event.isBeginning { stream.entry.isNew = true }
            }
            return
        }
        if !isElsewhere { totals.note(event.message, rev: head.rev, mark: nil, stream) }
        guard let state = stream.state else {
            stream.waits.events.append(event)
            if event.isToldToLists { stream.entry.isToBeAnnounced = true }
            return
        }
        if stream.replica != nil { return sync.follow(event, head, stream) }
        guard state.head.epoch == head.epoch, state.head.rev < head.rev else {
            // The store was read ahead of the feed, and lists were not updated for the changes
            // between.
            if event.isToldToLists { announcer.list(stream) }
            return
        }
        sync.tally.noteChange()
        apply(stream)
        desk.settleParked(stream)
    }

    private func apply(
        _ type: DeltaType, _ message: EncodedMessage, _ head: Head, isListed: Bool,
        to stream: Stream
    ) {
        if let from = stream.state?.position {
            streams.remember(message, from: from, to: head, stream)
        }
        stream.state?.head = head
        stream.state?.position = head
        let last = stream.state?.last?.rev
        stream.updateLast(message)
        if isListed {
            announcer.list(stream)
        } else if let state = stream.state {
            stream.entry.skip(to: state, from: last)
        }
        fanout.tell(type, .live, message, stream)
    }

    private func apply(_ record: Record, _ head: Head, _ event: FeedEvent, to stream: Stream) {
        fanout.flush(stream)
        if let from = stream.state?.position { streams.remember(nil, from: from, to: head, stream) }
        stream.state?.head = head
        stream.state?.position = head
        let step = event.step(since: stream.state?.record.rev ?? 0)
        stream.take(record, step, isNew: event.isBeginning)
        desk.removed(fanout.remove(event.removed, from: stream), from: stream)
        announcer.list(stream)
        fanout.tell(record, stream)
    }

    /// A new log begins under this id: nothing held of the old one counts.
    private func replaced(_ conversation: String, _ head: Head) {
        guard let stream = streams[conversation.id], let state = stream.state,
            state.head.epoch != head.epoch
        else { return }
        sync.tally.noteReset(.replaced, stream.id, stream.subscribers.count)
        end(stream, with: ServerFrame.reset(conversation: conversation, head: head))
    }

    private func deleted(_ event: FeedEvent, _ conversation: String, _ epoch: String) {
        guard let stream = streams[conversation.id] else { return }
        if let replica = stream.replica {
            guard replica.isConfirmed else { return stream.waits.events.append(event) }
            // The stream may know an older or a newer log than the one that ended.
            sync.doubt(stream, told: [epoch])
            return
        }
        guard let state = stream.state else {
            // The pending read may return this log or its successor: its answer will tell.
            stream.waits.events.append(event)
            return
        }
        guard state.head.epoch == epoch else {
            // The store was read ahead of the feed: lists may have shown the successor already, and
            // were just told that the conversation is gone.
            return announceAgain(stream)
        }
        end(stream, with: ServerFrame.unsubscribed(conversation: conversation, reason: .deleted))
    }

    /// Ends all subscriptions of a stream whose log is gone.
    private func end(_ stream: Stream, with payload: [UInt8]) {
        fanout.flush(stream)
        streams[stream.id.id] = nil
        let waiting = stream.waits.takeCalls()
        desk.ended(stream, with: payload, waiting)
    }
}
