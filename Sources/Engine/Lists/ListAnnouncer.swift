import Chat
import Ports
import Wire

/// Notifies the watchers of lists of conversations: what joins, what leaves and what changes, each
/// once a turn. `Lists` knows the contents. It moves no stream and knows no requests.
final class ListAnnouncer {
    /// Sessions that watch their user's list.
    private var watchers: [SessionID: Session] = [:]

    let lists: Lists
    private let totals: UnreadTotals
    private let connections: Connections
    private let sync: Sync
    private let fanout: Fanout

    init(_ lists: Lists, _ totals: UnreadTotals, _ connections: Connections, _ sync: Sync) {
        self.lists = lists
        self.totals = totals
        self.connections = connections
        self.sync = sync
        fanout = sync.fanout
    }

    private var streams: StreamRegistry { sync.streams }
    private var isElsewhere: Bool { sync.mirrors }

    /// Whether any session watches.
    var isWatched: Bool { !watchers.isEmpty }

    // MARK: - Watching

    func watch(_ session: Session, _ user: String) {
        watchers[session.id] = session
        guard !session.list.isWatching else { return }
        session.list.isWatching = true
        guard isElsewhere else { return }
        if lists[user.id] != nil {
            // This session was sent none.
            lists.forgetTold(user.id)
            totals.readList(user.id)
        }
        // A new list is read when its feed has begun.
        lists.follow(user)
    }

    func unwatch(_ session: Session) {
        watchers[session.id] = nil
        session.list.forgetShown()
        guard session.list.isWatching else { return }
        session.list.isWatching = false
        guard let user = session.user?.id, isElsewhere else { return }
        lists.unfollow(user) { connections.registry.watched(by: user) }
    }

    /// The origin acknowledged the list's feed: a read before that may miss changes.
    func followed(_ user: ID) {
        lists.followed(user)
        totals.readList(user)
    }

    // MARK: - Reading

    /// After a loss: changes in the meantime are unknown.
    func readAllAgain() { for user in lists.followers.keys.inOrder { totals.readList(user) } }

    /// Lists whose read failed, and lists with something unknown.
    func readInTime() { for user in lists.lookInTime() { totals.readList(user) } }

    /// The origin answered with the list.
    /// - Parameter generation: of the feed that was unbroken from the question to the answer; 0 for
    ///   none.
    func read(
        _ user: ID, _ reading: Int, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        guard let follower = lists.endReading(user, reading) else { return }
        guard case .success(.listed(let list)) = result else {
            lists.failed(user)
            return totals.failed(user, reading)
        }
        let found = Set(list.heads.keys)
        for conversation in found.subtracting(follower.conversations).inOrder
        where !follower.isContradicted(conversation, isIn: true) {
            join(conversation, to: user, isNew: follower.isNew(conversation))
        }
        for conversation in lists.confirm(found, of: user).inOrder {
            show(conversation, to: user, isNew: true)
        }
        var isOlder = false
        for conversation in follower.conversations.subtracting(found).inOrder
        where !follower.isContradicted(conversation, isIn: false) {
            // An answer may be newer than the reading.
            if connections.registry.of(user).contains(where: {
                $0.list.wasShown(conversation, after: reading)
            }) {
                isOlder = true
            } else {
                leave(conversation, from: user)
            }
        }
        lists.adopt(list, of: user, generation)
        totals.adopt(list, of: user, reading)
        if lists.takeIsStale(user) || isOlder { totals.readList(user) }
    }

    /// - Parameter isNew: whether it joined the list just now.
    private func join(_ conversation: ID, to user: ID, isNew: Bool = false) {
        guard lists.insert(conversation, of: user) else { return }
        let stream = sync.stream(conversation.text)
        stream.entry.listed += 1
        stream.entry.isReported = true
        show(conversation, to: user, isNew: isNew)
    }

    /// Sends the user's watchers the conversation's current state, once it is known.
    private func show(_ conversation: ID, to user: ID, isNew: Bool) {
        let stream = sync.stream(conversation.text)
        guard stream.came(into: user, isNew: isNew), let state = stream.state else {
            if stream.entry.needsLast { list(stream) }
            return
        }
        let receivers = connections.registry.of(user).filter(\.list.isWatching)
        send(isNew ? .inserted : .updated, stream, state, to: receivers)
    }

    private func leave(_ conversation: ID, from user: ID) {
        totals.drop(conversation, of: [user.text])
        guard let wasTold = lists.remove(conversation, of: user) else { return }
        streams[conversation]?.entry.listed -= 1
        streams[conversation]?.reading.readership.remove(user)
        if !wasTold { tellLeft(conversation.text, [user.text], isKnown: true) }
    }

    /// A conversation joined a user's list or left it.
    func relisted(_ user: String, _ conversation: String, isIn: Bool) {
        guard lists.noteChange(user.id) else { return }
        if isIn {
            // After leaving and rejoining, the log may have reported the first and not the second.
            lists.isIn(conversation.id, user.id)
            join(conversation.id, to: user.id, isNew: true)
            streams[conversation.id]?.entry.isReported = true
        } else if lists[user.id]?.left.contains(conversation.id) == true {
            lists.left(conversation.id, user.id)
            leave(conversation.id, from: user.id)
        } else {
            // The log has not said so. The event may come late, about a former log or membership,
            // behind an answer that knew more: the list decides.
            lists.left(conversation.id, user.id)
            totals.readList(user.id)
        }
    }

    // MARK: - Answers

    /// A watcher of a list was shown these conversations in it. Those that the list is not known to
    /// have are followed as well, until the list is read again.
    func showed(
        _ views: [ConversationView], _ call: Call, knowing heads: [ID: Head] = [:]
    ) {
        guard let session = connections[call.session], session.list.isWatching,
            let user = session.user?.id, let follower = lists[user]
        else { return }
        var shown = heads
        for view in views { shown[view.record.id.id] = view.head }
        let all = shown.keys.inOrder
        for id in all {
            lists.noteShown(id, to: user)
            // An existing watcher may know more, of a lost branch: the event decides.
            guard let head = shown[id] else { continue }
            let stream = streams[id]
            stream?.entry.noteShown(head)
            let isDropped = session.list.noteShown(
                id,
                ListWatch.Shown(
                    head: head, isDue: !call.beginsList, arrivals: sync.status.arrivals,
                    readings: lists.readings),
                isListed: follower.conversations.contains(id), stream)
            if isDropped {
                stream?.entry.begin()
                totals.readList(user)
            }
            if let stream { sync.compare(head, stream) }
        }
        let unknown = all.filter { !follower.conversations.contains($0) }
        guard !unknown.isEmpty else { return }
        for conversation in unknown { join(conversation, to: user) }
        // A read follows anyway when the list's feed begins.
        if follower.isFollowed { totals.readList(user) }
    }

    /// The token in an answer stands for exactly these conversations. Another one, reported by a
    /// stream that is behind, would never be corrected later.
    func drop(allBut heads: [ID: Head], _ call: Call) {
        guard let session = connections[call.session], let user = session.user?.id,
            let follower = lists[user]
        else { return }
        lists.noteAnswer(heads, user)
        // Sent behind the answer, an event from before it would bring the conversation back.
        let isHeld = session.list.dropHeld(missingFrom: heads)
        let gone = follower.conversations.filter { heads[$0] == nil }
        guard !gone.isEmpty || isHeld else { return }
        // They may have joined the list since.
        lists.dispute(gone, user)
        totals.readList(user)
    }

    // MARK: - Changes

    /// The conversation's entry in its participants' lists changed.
    func list(_ stream: Stream) {
        guard
            !watchers.isEmpty || !totals.isEmpty || !stream.reading.readership.isEmpty,
            !stream.entry.isListed
        else { return }
        stream.entry.isListed = true
        fanout.touch(stream)
    }

    /// Notifies the watchers of lists, once a turn.
    func announce(_ stream: Stream) {
        guard stream.entry.isListed else { return }
        guard let state = stream.state else {
            stream.entry.isListed = false
            stream.entry.isToBeAnnounced = true
            return
        }
        totals.count(stream, state)
        if stream.entry.needsLast {
            stream.entry.isListed = false
            // Sent when the last message is known.
            if !watchers.isEmpty || !stream.reading.readership.isEmpty { sync.askLast(stream) }
            return
        }
        stream.entry.isListed = false
        guard let type = stream.entry.tell(state) else { return }
        let receivers = watchers(among: state.members).filter { shows(stream, $0) }
        send(type, stream, state, to: receivers)
    }

    /// Sends watchers the conversation's current state.
    private func send(
        _ type: DeltaType, _ stream: Stream, _ state: Stream.State, to receivers: [Session]
    ) {
        guard !receivers.isEmpty else { return }
        let payload = ServerFrame.conversations(
            type, state.record, lastMessage: state.last, head: state.head)
        let event = Broadcast(
            payload, .conversations(head: state.head), conversation: stream.id)
        for session in receivers {
            if let user = session.user?.id { lists.noteShown(stream.id.id, to: user) }
            if session.list.isOutdated(event, stream) {
                // It is sent as the stream has it once that has caught up, whatever was sent last.
                stream.entry.begin()
                continue
            }
            connections.push(session, event)
        }
    }

    /// Whether the conversation is in the list that the session watches. A stream that is behind
    /// may have a record that still names a former participant.
    private func shows(_ stream: Stream, _ session: Session) -> Bool {
        guard isElsewhere else { return true }
        guard let user = session.user else { return false }
        guard let follower = lists[user.id], !follower.isDisputed(stream.id.id) else {
            return false
        }
        return follower.conversations.contains(stream.id.id)
    }

    /// Sessions of these users that watch their lists, searched from the smaller side.
    private func watchers(among users: Set<ID>) -> [Session] {
        guard users.count < watchers.count else {
            return watchers.values.filter { $0.user.map { users.contains($0.id) } ?? false }
        }
        return users.flatMap { connections.registry.of($0).filter(\.list.isWatching) }
    }

    // MARK: - Departures

    /// The log reports that these users left. Those whose list reported it already were notified.
    func left(_ conversation: String, _ users: [String]) {
        totals.drop(conversation.id, of: users)
        tellLeft(conversation, lists.noteTold(conversation.id, of: users))
    }

    /// The conversation no longer exists.
    /// - Parameter participants: as far as they are known.
    /// - Returns: users whose lists showed it, who are still to be notified.
    func vanished(_ conversation: ID, _ participants: [String]) -> [String] {
        let told = lists.forget(conversation)
        totals.drop(conversation, of: told + participants)
        return told
    }

    /// Notifies the watchers of these users' lists that the conversation left them. Where an answer
    /// may have known more, the list decides.
    /// - Parameter isKnown: whether the list itself said so, after every such answer, or the log
    ///   ended.
    func tellLeft(_ conversation: String, _ users: [String], isKnown: Bool = false) {
        guard !watchers.isEmpty, !users.isEmpty else { return }
        let event = Broadcast(
            ServerFrame.conversationRemoved(conversation), .conversations(head: nil),
            conversation: conversation)
        let stream = streams[conversation.id]
        for session in watchers(among: Set(users.map(\.id))) {
            if !isKnown, session.list.isOutdated(event, stream) {
                guard let user = session.user?.id else { continue }
                lists.noteShown(conversation.id, to: user)
                totals.readList(user)
            } else {
                connections.push(session, event)
            }
        }
    }
}

extension SessionRegistry {
    /// Conversations whose messages a session of the user is subscribed to.
    func watched(by user: ID) -> Set<ID> {
        Set(of(user).flatMap(\.subscriptions).map { $0.stream.id.id })
    }
}
