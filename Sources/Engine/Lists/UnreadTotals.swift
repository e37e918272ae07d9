import Chat
import Ports
import Wire

/// Sends the unread totals to connections that asked for them. Their conversations are followed
/// like those of a watched list. It knows sessions and lists, but not what was sent about lists.
final class UnreadTotals {
    /// By user.
    private var counts: [ID: UnreadCount] = [:]
    /// Users to look at before this turn ends; below, those to look at in the next tick.
    private var touched: [ID] = []
    private var due: [ID] = []
    private var isDue: Set<ID> = []

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

    /// Whether no connection asks.
    var isEmpty: Bool { counts.isEmpty }

    // MARK: - Sessions that ask

    /// The session was admitted.
    func begin(_ session: Session) {
        guard session.list.asksUnread, let user = session.user else { return }
        if counts[user.id] == nil { counts[user.id] = UnreadCount(user: user, at: now) }
        touch(user.id)
    }

    /// The session ends.
    func end(_ session: Session) {
        guard session.list.asksUnread, let user = session.user?.id, let count = counts[user],
            !connections.registry.of(user).contains(where: { $0 !== session && $0.list.asksUnread })
        else { return }
        counts[user] = nil
        if count.isFollowed, isElsewhere {
            lists.unfollow(user) { connections.registry.watched(by: user) }
        }
    }

    /// An answer gave the session the total. If it differs from the count here, one of both is
    /// outdated, and nobody knows which.
    /// - Parameters:
    ///   - views: the conversations that the answer shows.
    ///   - isOpen: whether the answer said itself that it may be outdated; also below.
    func told(
        _ total: UnreadTotal, _ views: [ConversationView], isOpen: Bool, _ session: Session
    ) {
        session.list.toldUnread = UnreadTold(total: total, isOpen: isOpen)
        if !isOpen, let user = session.user?.id, let count = counts[user] {
            if count.isKnown, count.total != total { count.doubt() }
            touch(user)
        }
        for view in views { showed(view, isOpen: isOpen, session) }
    }

    /// An answer shows the session a conversation.
    func showed(_ view: ConversationView, isOpen: Bool, _ session: Session) {
        guard let reader = view.reader else { return }
        showed(view.record.id.id, reader, isOpen: isOpen, session)
    }

    private func showed(
        _ conversation: ID, _ reader: ReaderState, isOpen: Bool, _ session: Session
    ) {
        guard session.list.asksUnread, let user = session.user?.id else { return }
        session.list.toldReading.answered[conversation] = reader
        guard !isOpen, let count = counts[user] else { return }
        count.compare(conversation, reader)
        touch(user)
    }

    /// A write of the session was done, and its answer may show a conversation.
    func wrote(_ outcome: Outcome, _ request: Request, _ session: Session) {
        guard session.list.asksUnread else { return }
        if case .conversation(let view, _) = outcome {
            showed(view, isOpen: false, session)
        } else if case .read(let reader) = outcome, let conversation = request.written?.id,
            let user = session.user?.id
        {
            // The feed may say so later.
            mark(conversation, user, upTo: reader.lastReadSeq)
            showed(conversation, reader, isOpen: false, session)
        }
    }

    // MARK: - Changes

    /// A change of the stream's log, for those who count.
    /// - Parameters:
    ///   - message: its value, or a newer one that counts with its own change.
    ///   - mark: of a log that lives elsewhere, as of the change; nil if unknown.
    func note(_ message: EncodedMessage?, rev: Int, mark: String?, _ stream: Stream) {
        guard !counts.isEmpty || stream.reading.readership.isFollowed else { return }
        let mentions = message.map {
            LogChange.Mentions($0, at: rev, after: stream.recent.message(at: $0.seq, before: rev))
        }
        let change = LogChange(
            rev: rev, seq: message?.seq ?? 0, author: message?.author ?? "",
            isDeleted: message.map { $0.isDeleted && $0.rev <= rev } ?? false,
            mentions: mentions ?? .same,
            createdAt: message?.createdAt.milliseconds ?? 0,
            mark: mark)
        lists.lost(stream.reading.readership.note(change))
        guard !counts.isEmpty else { return }
        // A count that misses a change asks the origin.
        if stream.reading.unreadChanges.count >= 1000 { stream.reading.unreadChanges = [] }
        stream.reading.unreadChanges.append(change)
    }

    /// The stream moved.
    func count(_ stream: Stream, _ state: Stream.State) {
        let changes = stream.reading.unreadChanges
        stream.reading.unreadChanges = []
        for user in usersCounting(among: state.members) {
            counts[user]?.follow(stream.id.id, changes, to: state.position)
            touch(user)
        }
    }

    /// The stream fell behind its log.
    func fellBehind(_ stream: Stream) {
        guard !counts.isEmpty, let state = stream.state else { return }
        for user in usersCounting(among: state.members) { touch(user) }
    }

    /// The feed broke: markers may have moved unnoticed.
    func lapsed() {
        for user in counts.keys.inOrder {
            counts[user]?.doubt()
            touch(user)
        }
    }

    /// These users no longer take part in the conversation.
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

    /// Those of the users with a count, searched from the smaller side.
    private func usersCounting(among users: Set<ID>) -> [ID] {
        let found =
            users.count < counts.count
            ? users.filter { counts[$0] != nil }
            : Set(counts.keys.filter { users.contains($0) })
        return isElsewhere ? found.inOrder : Array(found)
    }

    // MARK: - Reading

    /// Asks the origin for the user's list, with the counts.
    func readList(_ user: ID) {
        guard let reading = lists.read(user) else { return }
        counts[user]?.began(reading, at: now)
    }

    /// The list could not be read.
    func failed(_ user: ID, _ reading: Int) { counts[user]?.failed(reading) }

    /// The list was read.
    func adopt(_ list: ListedHeads, of user: ID, _ reading: Int) {
        counts[user]?.adopt(list, reading, at: now) { id, head in
            // A read before the conversation's feed began may miss changes.
            if let stream = streams[id], stream.replica != nil,
                stream.reading.followedSince >= reading
            {
                return true
            }
            return isBehind(id, head)
        }
        touch(user)
    }

    /// Whether the feed may have brought more than this head of an answer, or may not cover what
    /// follows it.
    private func isBehind(_ id: ID, _ head: Head) -> Bool {
        guard let stream = streams[id] else { return isElsewhere }
        if let replica = stream.replica, replica.generation == nil { return true }
        guard let state = stream.state else { return false }
        guard state.position.epoch == head.epoch else { return true }
        return state.position.rev > head.rev
            && !stream.reading.unreadChanges.contains { $0.rev == head.rev + 1 }
    }

    /// The conversation was read; nil: it could not be, or what follows may not be known.
    func adopt(_ conversation: ID, _ view: ConversationView?, of user: ID) {
        guard let count = counts[user] else { return }
        count.adopt(conversation, view, isBehind: isBehind)
        touch(user)
    }

    /// The store answered about a conversation.
    func answered(_ user: ID, _ conversation: ID, _ result: Result<Answer, RequestError>) {
        guard case .success(.view(let view)) = result else {
            return adopt(conversation, nil, of: user)
        }
        adopt(conversation, view, of: user)
    }

    /// The store answered.
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

    /// Asks the origin about what may be wrong, once it may be asked again.
    private func settle(_ user: ID, _ count: UnreadCount) {
        guard count.reading == nil else { return }
        let isReady = count.unsure.allSatisfy { !isElsewhere || isFollowed($0) }
        guard !count.needsList, isReady else {
            if mayRead(user, count) { read(user, count) }
            return
        }
        guard now >= count.readAfter, !isElsewhere || sync.isLinked, !count.unsure.isEmpty else {
            return
        }
        for conversation in count.beganAsking(at: now) {
            if isElsewhere {
                lists.ask(conversation, count.user)
            } else {
                sync.store.read(
                    .view(conversation: conversation.text, user: count.user),
                    for: .unreadIn(conversation, of: user))
            }
        }
    }

    private func isFollowed(_ conversation: ID) -> Bool {
        streams[conversation]?.replica?.generation != nil
    }

    /// Whether everything after an answer of the origin would be followed.
    private func mayRead(_ user: ID, _ count: UnreadCount) -> Bool {
        guard now >= count.readAfter else { return false }
        guard isElsewhere else { return true }
        guard sync.isLinked, let follower = lists[user], follower.retryAt == nil else {
            return false
        }
        return now >= count.readAfter.adding(UnreadCount.interval)
            || follower.conversations.allSatisfy(isFollowed)
    }

    // MARK: - Events

    /// The count changed: look at it before the turn ends.
    private func touch(_ user: ID) {
        guard let count = counts[user], !count.isTouched else { return }
        count.isTouched = true
        touched.append(user)
    }

    /// Looks at the counts that changed in this turn.
    func tellTouched() {
        guard !touched.isEmpty else { return }
        let users = touched
        touched = []
        for user in users {
            guard let count = counts[user] else { continue }
            count.isTouched = false
            if look(at: count, user) { continue }
            noteDue(user)
        }
    }

    /// In each tick: looks at the counts with something left to send.
    func tellDue() {
        guard !due.isEmpty else { return }
        let users = due
        due = []
        isDue = []
        for user in users {
            guard let count = counts[user] else { continue }
            if !look(at: count, user) { noteDue(user) }
        }
    }

    /// A user whose clients come and go has several counts in turn, and one entry.
    private func noteDue(_ user: ID) {
        if isDue.insert(user).inserted { due.append(user) }
    }

    /// - Returns: whether nothing is left to send until the count changes.
    private func look(at count: UnreadCount, _ user: ID) -> Bool {
        guard now >= count.sayAfter else { return false }
        if !count.isFollowed {
            count.isFollowed = true
            let isNew = isElsewhere && lists[user] == nil
            if isElsewhere { lists.follow(count.user) }
            // A new list is read when its feed begins.
            if !isNew { read(user, count) }
        } else if count.isStale {
            settle(user, count)
        }
        guard count.isKnown else { return false }
        count.publish()
        let isOpen = count.isStale || isElsewhere && lists.isOpen(user)
        guard isOpen else {
            count.openSince = nil
            return tell(UnreadTold(total: count.total, isOpen: false), count, user)
        }
        // Most of these states end before clients need to be notified.
        let since = count.openSince ?? now
        count.openSince = since
        if now >= since.adding(UnreadCount.interval) {
            _ = tell(UnreadTold(total: count.total, isOpen: true), count, user)
        }
        return false
    }

    /// - Returns: whether every connection that asked was sent it.
    private func tell(_ told: UnreadTold, _ count: UnreadCount, _ user: ID) -> Bool {
        var isAll = true
        var isSaid = false
        // Most connections were told the same, and share an event.
        var shared: (through: Int, news: News)?
        for session in connections.registry.of(user) where session.list.asksUnread {
            let before = session.list.toldReading
            let isNewTotal = session.list.toldUnread != told
            guard isNewTotal || count.readings.mayOwe(before) else { continue }
            // A pending answer must not be older than an event before it, and no event that names
            // conversations is dropped for a later one.
            guard !session.list.isBeingRead, !session.lane.outbox.holdsUnread else {
                isAll = false
                continue
            }
            let isPlain = before.answered.isEmpty
            let news: News
            if isPlain, let shared, shared.through == before.through {
                news = shared.news
            } else {
                news = News(told, count.readings.news(for: before, isSettled: !told.isOpen))
                if isPlain { shared = (before.through, news) }
            }
            session.list.toldReading = news.told
            if !news.isAll { isAll = false }
            guard news.namesAny || isNewTotal else { continue }
            session.list.toldUnread = told
            isSaid = true
            connections.push(session, news.event)
        }
        if isSaid { count.sayAfter = now.adding(UnreadCount.interval) }
        return isAll
    }
}

/// An event about unread totals, and what a connection has been told with it.
private struct News {
    let event: Broadcast
    let namesAny: Bool
    let told: ToldReading
    /// Whether there is nothing more to tell.
    let isAll: Bool

    init(_ total: UnreadTold, _ news: ReadingLog.News) {
        event = Broadcast(
            ServerFrame.unread(total.total, of: news.readers, open: total.isOpen), .unread)
        namesAny = !news.readers.isEmpty
        told = news.told
        isAll = news.isAll
    }
}
