import Chat
import Ports
import Wire

/// Tells connections that asked for it how much their users have not read. Their conversations are
/// followed as those of a list that is watched. It knows who is connected and which lists are
/// known, and not who is told what of a list.
final class UnreadTotals {
    /// By user.
    private var counts: [ID: UnreadCount] = [:]
    /// Those to be looked at in this turn, and those a little later.
    private var touched: [ID] = []
    private var due: [ID] = []

    private let lists: Lists
    private let connections: Connections
    private let sync: Sync

    init(_ lists: Lists, _ connections: Connections, _ sync: Sync) {
        self.lists = lists
        self.connections = connections
        self.sync = sync
    }

    private var now: Timestamp { sync.now }
    private var streams: StreamRegistry { sync.streams }
    private var isElsewhere: Bool { sync.mirrors }

    /// Nobody asks.
    var isEmpty: Bool { counts.isEmpty }

    // MARK: - Who asks

    /// The session was let in.
    func begin(_ session: Session) {
        guard session.list.asksUnread, let user = session.user else { return }
        if counts[user.id] == nil { counts[user.id] = UnreadCount(user: user, at: now) }
        touch(user.id)
    }

    /// The session is about to be forgotten.
    func end(_ session: Session) {
        guard session.list.asksUnread, let user = session.user?.id, let count = counts[user],
            !connections.registry.of(user).contains(where: { $0 !== session && $0.list.asksUnread })
        else { return }
        counts[user] = nil
        if count.isFollowed, isElsewhere {
            lists.unfollow(user) { connections.registry.watched(by: user) }
        }
    }

    /// An answer has told the session the total. Where that is another one than is known here, one
    /// of both is older, and which of them can't be told.
    /// - Parameter isOpen: it said itself that it may be older.
    func told(_ total: UnreadTotal, isOpen: Bool, _ session: Session) {
        session.list.toldUnread = UnreadTold(total: total, isOpen: isOpen)
        guard !isOpen, let user = session.user?.id, let count = counts[user] else { return }
        if count.isKnown, count.total != total { count.doubt() }
        touch(user)
    }

    // MARK: - What happens

    /// A change of the stream's log, for those who count.
    /// - Parameter message: what was written, or a newer value, which counts with its own change.
    func note(_ message: EncodedMessage?, rev: Int, _ stream: Stream) {
        guard !counts.isEmpty || stream.reading.readership.isFollowed else { return }
        let change = LogChange(
            rev: rev, seq: message?.seq ?? 0, author: message?.author ?? "",
            isDeleted: message.map { $0.isDeleted && $0.rev <= rev } ?? false,
            createdAt: message?.createdAt.milliseconds ?? 0)
        stream.reading.readership.note(change)
        guard !counts.isEmpty else { return }
        // Whoever misses one asks the origin.
        if stream.reading.unreadChanges.count >= 1000 { stream.reading.unreadChanges = [] }
        stream.reading.unreadChanges.append(change)
    }

    /// The stream has moved.
    func count(_ stream: Stream, _ state: Stream.State) {
        let changes = stream.reading.unreadChanges
        stream.reading.unreadChanges = []
        for user in usersCounting(among: state.members) {
            counts[user]?.follow(stream.id.id, changes, to: state.position)
            touch(user)
        }
    }

    /// The stream has fallen behind its log.
    func fellBehind(_ stream: Stream) {
        guard !counts.isEmpty, let state = stream.state else { return }
        for user in usersCounting(among: state.members) { touch(user) }
    }

    /// The feed has broken: markers may have moved, and nobody here was told.
    func lapsed() {
        for user in counts.keys.inOrder {
            counts[user]?.doubt()
            touch(user)
        }
    }

    /// These do not take part in the conversation any more.
    func drop(_ conversation: ID, of users: [String]) {
        guard !counts.isEmpty else { return }
        for user in users {
            guard let count = counts[user.id] else { continue }
            count.drop(conversation)
            touch(user.id)
        }
    }

    /// The user has read up to here.
    func mark(_ conversation: ID, _ user: ID, upTo seq: Int) {
        guard let count = counts[user] else { return }
        count.mark(
            conversation, upTo: seq, after: streams[conversation]?.reading.unreadChanges ?? [])
        touch(user)
    }

    /// Those of the users who are counted for, found from the shorter side.
    private func usersCounting(among users: Set<ID>) -> [ID] {
        let found =
            users.count < counts.count
            ? users.filter { counts[$0] != nil }
            : Set(counts.keys.filter { users.contains($0) })
        return isElsewhere ? found.inOrder : Array(found)
    }

    // MARK: - Reading

    /// Has the user's list read by the origin, which counts at once.
    func readList(_ user: ID) {
        guard let reading = lists.read(user) else { return }
        counts[user]?.began(reading, at: now)
    }

    /// The list has not been read.
    func failed(_ user: ID, _ reading: Int) { counts[user]?.failed(reading) }

    /// The list has been read.
    func adopt(_ list: ListedHeads, of user: ID, _ reading: Int) {
        counts[user]?.adopt(list, reading, at: now) { id, head in
            guard let stream = streams[id] else { return isElsewhere }
            if let replica = stream.replica {
                // What was read before the feed told of it may lack what nobody told of.
                guard replica.generation != nil, stream.reading.followedSince < reading else {
                    return true
                }
            }
            guard let state = stream.state else { return false }
            guard state.position.epoch == head.epoch else { return true }
            return state.position.rev > head.rev
                && !stream.reading.unreadChanges.contains { $0.rev == head.rev + 1 }
        }
        touch(user)
    }

    /// The store has answered.
    func answered(_ user: ID, _ reading: Int, _ result: Result<Answer, RequestError>) {
        guard case .success(.listed(let list)) = result else {
            counts[user]?.failed(reading)
            return touch(user)
        }
        adopt(list, of: user, reading)
    }

    private func read(_ user: ID, _ count: UnreadCount) {
        guard !isElsewhere else { return readList(user) }
        let reading = lists.countReading()
        count.began(reading, at: now)
        sync.store.read(.listed(user: count.user), for: .unread(user, reading: reading))
    }

    /// Whether what the origin answers now is followed from then on.
    private func mayRead(_ user: ID, _ count: UnreadCount) -> Bool {
        guard now >= count.readAfter else { return false }
        guard isElsewhere else { return true }
        guard sync.isLinked, let follower = lists[user], follower.retryAt == nil else {
            return false
        }
        return now >= count.readAfter.adding(UnreadCount.interval)
            || follower.conversations.allSatisfy { streams[$0]?.replica?.generation != nil }
    }

    // MARK: - Telling

    /// Something has happened to the count: it is looked at before the turn ends.
    private func touch(_ user: ID) {
        guard let count = counts[user], !count.isTouched else { return }
        count.isTouched = true
        touched.append(user)
    }

    /// Looks at the counts that were touched in this turn.
    func tellTouched() {
        guard !touched.isEmpty else { return }
        let users = touched
        touched = []
        for user in users {
            guard let count = counts[user] else { continue }
            count.isTouched = false
            if look(at: count, user) || count.isDue { continue }
            count.isDue = true
            due.append(user)
        }
    }

    /// Looks at the counts that have something to say yet, a few times a second.
    func tellDue() {
        guard !due.isEmpty else { return }
        let users = due
        due = []
        for user in users {
            guard let count = counts[user], count.isDue else { continue }
            if look(at: count, user) { count.isDue = false } else { due.append(user) }
        }
    }

    /// - Returns: whether all is said, until something happens.
    private func look(at count: UnreadCount, _ user: ID) -> Bool {
        guard now >= count.sayAfter else { return false }
        if !count.isFollowed {
            count.isFollowed = true
            let isNew = isElsewhere && lists[user] == nil
            if isElsewhere { lists.follow(count.user) }
            // A list that is new is read when the feed tells of it.
            if !isNew { read(user, count) }
        } else if count.isStale, count.reading == nil, mayRead(user, count) {
            read(user, count)
        }
        guard count.isKnown else { return false }
        let isOpen = count.isStale || isElsewhere && lists.isOpen(user)
        guard isOpen else {
            count.openSince = nil
            return tell(UnreadTold(total: count.total, isOpen: false), count, user)
        }
        // Most of it is over before anybody need be told.
        let since = count.openSince ?? now
        count.openSince = since
        if now >= since.adding(UnreadCount.interval) {
            _ = tell(UnreadTold(total: count.total, isOpen: true), count, user)
        }
        return false
    }

    /// - Returns: whether all who asked have been told.
    private func tell(_ told: UnreadTold, _ count: UnreadCount, _ user: ID) -> Bool {
        let waiting = connections.registry.of(user).filter {
            $0.list.asksUnread && $0.list.toldUnread != told
        }
        // What an answer under way says is not to be older than an event before it.
        let ready = waiting.filter { !$0.list.isBeingRead }
        guard !ready.isEmpty else { return waiting.isEmpty }
        let event = Broadcast(ServerFrame.unread(told.total, open: told.isOpen), .unread)
        for session in ready {
            session.list.toldUnread = told
            connections.push(session, event)
        }
        count.sayAfter = now.adding(UnreadCount.interval)
        return ready.count == waiting.count
    }
}
