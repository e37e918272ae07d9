import Chat
import Ports
import Wire

/// Tells connections that asked for it how much their users have not read. Their conversations are
/// followed as those of a list that is watched.
extension Engine {
    // MARK: - Who asks

    /// The session was let in.
    func beginUnread(_ session: Session) {
        guard session.asksUnread, let user = session.user else { return }
        if unreadCounts[user.id] == nil {
            unreadCounts[user.id] = UnreadCount(user: user, at: now)
        }
        noteUnread(user.id)
    }

    /// The session is about to be forgotten.
    func endUnread(_ session: Session) {
        guard session.asksUnread, let user = session.user?.id, let count = unreadCounts[user],
            !sessions.of(user).contains(where: { $0 !== session && $0.asksUnread })
        else { return }
        unreadCounts[user] = nil
        if count.isFollowed, mirrors { unfollowList(of: user) }
    }

    /// An answer has told the session the total. Where that is another one than is known here, one
    /// of both is older, and which of them can't be told.
    /// - Parameter isOpen: it said itself that it may be older.
    func toldUnread(_ total: UnreadTotal, isOpen: Bool, _ session: Session) {
        session.toldUnread = UnreadTold(total: total, isOpen: isOpen)
        guard !isOpen, let user = session.user?.id, let count = unreadCounts[user] else { return }
        if count.isKnown, count.total != total { count.doubt() }
        noteUnread(user)
    }

    // MARK: - What happens

    /// A change of the stream's log, for those who count.
    /// - Parameter message: what was written, or a newer value, which counts with its own change.
    func noteChange(_ message: EncodedMessage?, rev: Int, _ stream: Stream) {
        guard !unreadCounts.isEmpty || !stream.readership.isEmpty else { return }
        let change = LogChange(
            rev: rev, seq: message?.seq ?? 0, author: message?.author ?? "",
            isDeleted: message.map { $0.isDeleted && $0.rev <= rev } ?? false,
            createdAt: message?.createdAt.milliseconds ?? 0)
        stream.readership.note(change)
        guard !unreadCounts.isEmpty else { return }
        // Whoever misses one asks the origin.
        if stream.unreadChanges.count >= 1000 { stream.unreadChanges = [] }
        stream.unreadChanges.append(change)
    }

    /// The stream has moved.
    func countUnread(_ stream: Stream, _ state: Stream.State) {
        let changes = stream.unreadChanges
        stream.unreadChanges = []
        for user in usersCounting(among: state.members) {
            unreadCounts[user]?.follow(stream.id.id, changes, to: state.position)
            noteUnread(user)
        }
    }

    /// The stream has fallen behind its log.
    func touchUnread(_ stream: Stream) {
        guard let state = stream.state else { return }
        for user in usersCounting(among: state.members) { noteUnread(user) }
    }

    /// The feed has broken: markers may have moved, and nobody here was told.
    func doubtUnread() {
        for user in unreadCounts.keys.sorted(by: { $0.text < $1.text }) {
            unreadCounts[user]?.doubt()
            noteUnread(user)
        }
    }

    func dropUnread(_ conversation: ID, of users: [String]) {
        guard !unreadCounts.isEmpty else { return }
        for user in users {
            guard let count = unreadCounts[user.id] else { continue }
            count.drop(conversation)
            noteUnread(user.id)
        }
    }

    func markUnread(_ conversation: ID, _ user: ID, upTo seq: Int) {
        guard let count = unreadCounts[user] else { return }
        count.mark(conversation, upTo: seq, after: streams[conversation]?.unreadChanges ?? [])
        noteUnread(user)
    }

    /// Those of the users who are counted for, found from the shorter side.
    private func usersCounting(among users: Set<ID>) -> [ID] {
        let found =
            users.count < unreadCounts.count
            ? users.filter { unreadCounts[$0] != nil }
            : Set(unreadCounts.keys.filter { users.contains($0) })
        return mirrors ? found.sorted { $0.text < $1.text } : Array(found)
    }

    // MARK: - Reading

    /// The list has been read.
    func readUnread(_ user: ID, _ reading: Int, _ list: ListedHeads) {
        unreadCounts[user]?.adopt(list, reading, at: now) { id, head in
            guard let stream = streams[id] else { return mirrors }
            if let replica = stream.replica {
                // What was read before the feed told of it may lack what nobody told of.
                guard replica.generation != nil, stream.followedSince < reading else { return true }
            }
            guard let state = stream.state else { return false }
            guard state.position.epoch == head.epoch else { return true }
            return state.position.rev > head.rev
                && !stream.unreadChanges.contains { $0.rev == head.rev + 1 }
        }
        noteUnread(user)
    }

    /// The store has answered.
    func readUnread(_ user: ID, _ reading: Int, _ result: Result<Answer, RequestError>) {
        guard case .success(.listed(let list)) = result else {
            unreadCounts[user]?.failed(reading)
            return noteUnread(user)
        }
        readUnread(user, reading, list)
    }

    private func readUnread(_ user: ID, _ count: UnreadCount) {
        guard !mirrors else { return readList(user) }
        let reading = lists.countReading()
        count.began(reading, at: now)
        read(.listed(user: count.user), for: .unread(user, reading: reading))
    }

    /// Whether what the origin answers now is followed from then on.
    private func mayRead(_ user: ID, _ count: UnreadCount) -> Bool {
        guard now >= count.readAfter else { return false }
        guard mirrors else { return true }
        guard isLinked, let listing = lists[user], listing.retryAt == nil else { return false }
        return now >= count.readAfter.adding(UnreadCount.interval)
            || listing.conversations.allSatisfy { streams[$0]?.replica?.generation != nil }
    }

    // MARK: - Telling

    /// Something has happened to the count: it is looked at before the turn ends.
    private func noteUnread(_ user: ID) {
        guard let count = unreadCounts[user], !count.isTouched else { return }
        count.isTouched = true
        unreadTouched.append(user)
    }

    /// Looks at the counts that were touched in this turn.
    func settleTouchedUnread() {
        guard !unreadTouched.isEmpty else { return }
        let touched = unreadTouched
        unreadTouched = []
        for user in touched {
            guard let count = unreadCounts[user] else { continue }
            count.isTouched = false
            if settle(count, user) || count.isDue { continue }
            count.isDue = true
            unreadDue.append(user)
        }
    }

    /// Looks at the counts that have something to say yet, a few times a second.
    func settleDueUnread() {
        guard !unreadDue.isEmpty else { return }
        let due = unreadDue
        unreadDue = []
        for user in due {
            guard let count = unreadCounts[user], count.isDue else { continue }
            if settle(count, user) { count.isDue = false } else { unreadDue.append(user) }
        }
    }

    /// - Returns: whether all is said, until something happens.
    private func settle(_ count: UnreadCount, _ user: ID) -> Bool {
        guard now >= count.sayAfter else { return false }
        if !count.isFollowed {
            count.isFollowed = true
            let isNew = mirrors && lists[user] == nil
            if mirrors { followList(of: count.user) }
            // A list that is new is read when the feed tells of it.
            if !isNew { readUnread(user, count) }
        } else if count.isStale, count.reading == nil, mayRead(user, count) {
            readUnread(user, count)
        }
        guard count.isKnown else { return false }
        let isOpen = count.isStale || isOpen(user)
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

    /// Whether there may be changes in the user's conversations that nobody here knows.
    private func isOpen(_ user: ID) -> Bool {
        mirrors && lists.isOpen(user)
    }

    /// - Returns: whether all who asked have been told.
    private func tell(_ told: UnreadTold, _ count: UnreadCount, _ user: ID) -> Bool {
        let waiting = sessions.of(user).filter { $0.asksUnread && $0.toldUnread != told }
        // What an answer under way says is not to be older than an event before it.
        let ready = waiting.filter { $0.listReads == 0 }
        guard !ready.isEmpty else { return waiting.isEmpty }
        let event = Broadcast(ServerFrame.unread(told.total, open: told.isOpen), .unread)
        for session in ready {
            session.toldUnread = told
            push(session, event)
        }
        count.sayAfter = now.adding(UnreadCount.interval)
        return ready.count == waiting.count
    }
}
