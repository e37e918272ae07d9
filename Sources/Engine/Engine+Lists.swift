import Chat
import Ports
import Wire

/// Lists of conversations, for those who watch theirs: what comes in and what leaves is told.
extension Engine {
    // MARK: - Watching

    func watchList(_ session: Session, _ user: String) {
        listWatchers[session.id] = session
        guard !session.watchesConversations else { return }
        session.watchesConversations = true
        guard mirrors else { return }
        if lists[user.id] != nil {
            // Not to this one.
            lists.listings[user.id]?.left = []
            readList(user.id)
        }
        followList(of: user)
    }

    /// Has what comes into the user's list, and leaves it, told. A list that is new is read when
    /// the feed is known to tell of it.
    func followList(of user: String) {
        if lists.watch(user) { act(.subscribeList(user: user)) }
    }

    /// The origin has acknowledged: what was read before may lack what nobody told of.
    package func subscribedList(of user: String, at now: Timestamp) {
        self.now = now
        lists.followed(user.id)
        readList(user.id)
    }

    func unwatchList(_ session: Session) {
        listWatchers[session.id] = nil
        session.shown = [:]
        guard session.watchesConversations else { return }
        session.watchesConversations = false
        if let user = session.user?.id, mirrors { unfollowList(of: user) }
    }

    /// One less needs the user's list.
    func unfollowList(of user: ID) {
        guard let listing = lists.unwatch(user) else { return }
        act(.unsubscribeList(user: listing.user))
        let watched = Set(sessions.of(user).flatMap(\.subscriptions).map { $0.stream.id.id })
        lists.forget(listing) { watched.contains($0.id.id) }
        for conversation in listing.conversations { streams[conversation]?.listed -= 1 }
    }

    // MARK: - Reading

    /// After a loss what came and went in the meantime is not known.
    func readListsAgain() {
        for user in lists.listings.keys.inOrder { readList(user) }
    }

    /// Those that the origin did not answer, and those of which something is not known.
    func readListsInTime() { for user in lists.lookInTime() { readList(user) } }

    func readList(_ user: ID) {
        guard let reading = lists.beginReading(user), let listing = lists[user] else { return }
        unreadCounts[user]?.began(reading, at: now)
        ask(.list(user: user, reading: reading), .listed(user: listing.user), 1)
    }

    /// The list has come.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    func listed(
        _ user: ID, _ reading: Int, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        guard let listing = lists[user], listing.reading == reading, listing.isBeingRead else {
            return
        }
        lists.listings[user]?.isBeingRead = false
        guard case .success(.listed(let list)) = result else {
            lists.listings[user]?.retryAt = now.adding(sync.options?.backoffMax ?? 0)
            unreadCounts[user]?.failed(reading)
            return
        }
        let found = Set(list.heads.keys)
        for conversation in found.subtracting(listing.conversations).inOrder {
            join(conversation, to: user, isNew: listing.isNew(conversation))
        }
        for conversation in listing.conversations.subtracting(found).inOrder {
            leave(conversation, from: user)
        }
        lists.listings[user]?.noteWhole()
        lists.adopt(list, of: user, generation)
        readUnread(user, reading, list)
        if lists[user]?.isStale == true {
            lists.listings[user]?.isStale = false
            readList(user)
        }
    }

    /// - Parameter isNew: it came into the list just now.
    private func join(_ conversation: ID, to user: ID, isNew: Bool = false) {
        guard lists.listings[user]?.insert(conversation) == true else { return }
        lists.look(at: user, in: 1000)
        let stream = stream(conversation.text)
        stream.listed += 1
        guard stream.came(into: user, isNew: isNew), let state = stream.state else {
            if stream.needsLast { list(stream) }
            return
        }
        // An answer may have shown more than the feed has told yet.
        let watchers = sessions.of(user).filter {
            $0.watchesConversations && !$0.wasShown(conversation, beyond: state.head)
        }
        send(isNew ? .inserted : .updated, stream, state, to: watchers)
    }

    private func leave(_ conversation: ID, from user: ID) {
        dropUnread(conversation, of: [user.text])
        let readings = lists.readings
        guard lists.listings[user]?.remove(conversation, readings: readings) == true else { return }
        streams[conversation]?.listed -= 1
        streams[conversation]?.readership.remove(user)
        if lists.listings[user]?.left.remove(conversation) == nil {
            tellUnlisted(conversation.text, [user.text])
        }
    }

    /// A conversation came into a user's list, or left it.
    func relisted(_ user: String, _ conversation: String, isIn: Bool) {
        guard let listing = lists[user.id] else { return }
        // What is being read may be from before or after.
        if listing.isBeingRead { lists.listings[user.id]?.isStale = true }
        if isIn {
            // Out and in again: the log may have told of the first, and not of the second.
            lists.listings[user.id]?.isIn(conversation.id)
            join(conversation.id, to: user.id, isNew: true)
        } else {
            lists.left(conversation.id, user.id)
            leave(conversation.id, from: user.id)
        }
    }

    /// Somebody who watches a list is shown these as parts of it. What the list is not known to
    /// have is looked after as well, until the list has been read again.
    func showed(
        _ views: [ConversationView], _ call: Call, knowing heads: [ID: Head] = [:]
    ) {
        guard let session = sessions[call.session], session.watchesConversations,
            let user = session.user?.id, let listing = lists[user]
        else { return }
        var shown = heads
        for view in views { shown[view.record.id.id] = view.head }
        let all = shown.keys.inOrder
        for id in all {
            lists.listings[user]?.left.remove(id)
            // Who watches already may know more, of a branch that is lost: the event is the truth.
            guard let head = shown[id] else { continue }
            streams[id]?.entry.noteShown(head)
            guard call.beginsList else { continue }
            session.noteShown(id, head, isListed: listing.conversations.contains(id), streams[id])
        }
        let unknown = all.filter { !listing.conversations.contains($0) }
        guard !unknown.isEmpty else { return }
        for conversation in unknown { join(conversation, to: user) }
        // It will be read anyway when the feed begins to tell of it.
        if listing.isFollowed { readList(user) }
    }

    /// The token that somebody is given knows that these are in the list, and no others. What is
    /// told of another one, by a stream that is behind, would never be taken back.
    func drop(allBut heads: [ID: Head], _ call: Call) {
        guard let user = sessions[call.session]?.user?.id, let listing = lists[user] else {
            return
        }
        lists.listings[user]?.noteAnswer(heads)
        let gone = listing.conversations.filter { heads[$0] == nil }
        guard !gone.isEmpty else { return }
        for conversation in gone.inOrder { leave(conversation, from: user) }
        // It may have come into the list since.
        readList(user)
    }

    /// Whether the conversation stands in the list that the session watches. The record of a stream
    /// that is behind may still name somebody who is gone.
    func lists(_ stream: Stream, _ session: Session) -> Bool {
        guard mirrors else { return true }
        guard let user = session.user else { return false }
        return lists.listings[user.id]?.conversations.contains(stream.id.id) ?? false
    }
}
