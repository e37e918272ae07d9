import Chat
import Ports
import Wire

/// A user's list of conversations that somebody watches, where the feed has to be asked for each
/// conversation: all in it are followed, and the list itself is read again after each loss.
struct Listing {
    let user: String
    var watchers = 0
    /// What is in it, as far as it was read.
    var conversations: Set<ID> = []
    /// What the last answer's token has, until the list was read whole.
    var answered: Set<ID>?
    /// It was read whole since it is followed: what comes later has just come into it.
    var isWhole = false
    /// It is being read.
    var isBeingRead = false
    /// Of the reading under way, or the last one: an answer of an earlier one does not count.
    var reading = 0
    /// The list changed while it was being read.
    var isStale = false
    /// The origin did not answer, and is asked again then.
    var retryAt: Timestamp?
    /// Those in it of which the watchers were told last that they are out: the log told so before
    /// the list did.
    var left: Set<ID> = []

    /// Whether a conversation that a reading found came into the list after the watchers were
    /// given it. The reading may know of it before the feed tells.
    func isNew(_ conversation: ID) -> Bool {
        isWhole || answered.map { !$0.contains(conversation) } ?? false
    }

    /// Whether the conversation is in it, as far as its watchers were told.
    func shows(_ conversation: ID) -> Bool {
        conversations.contains(conversation) && !left.contains(conversation)
    }

    mutating func noteWhole() {
        isWhole = true
        answered = nil
    }

    mutating func noteAnswer(_ heads: [ID: Head]) {
        if !isWhole { answered = Set(heads.keys) }
    }

    mutating func forget(_ conversation: ID) {
        conversations.remove(conversation)
        left.remove(conversation)
    }

    /// The watchers were told that the conversation is out of the list.
    mutating func noteTold(_ conversation: ID) {
        if conversations.contains(conversation) { left.insert(conversation) }
    }
}

extension Session {
    /// Whether an answer told more than an event of a stream that is behind.
    func isAhead(of event: Broadcast) -> Bool {
        shown[event.conversation].map(event.shows(before:)) ?? false
    }
}

extension Engine {
    // MARK: - Watching

    func watchList(_ session: Session, _ user: String) {
        listWatchers[session.id] = session
        guard !session.watchesConversations else { return }
        session.watchesConversations = true
        guard mirrors else { return }
        if listings[user.id] != nil {
            // Not to this one.
            listings[user.id]?.left = []
            readList(user.id)
        }
        followList(of: user)
    }

    /// Has what comes into the user's list, and leaves it, told. A list that is new is read when
    /// the feed is known to tell of it.
    func followList(of user: String) {
        if listings[user.id] == nil {
            listings[user.id] = Listing(user: user)
            act(.subscribeList(user: user))
        }
        listings[user.id]?.watchers += 1
    }

    /// The origin has acknowledged: what was read before may lack what nobody told of.
    package func subscribedList(of user: String, at now: Timestamp) {
        self.now = now
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
        guard var listing = listings[user] else { return }
        listing.watchers -= 1
        listings[user] = listing
        guard listing.watchers == 0 else { return }
        listings[user] = nil
        act(.unsubscribeList(user: listing.user))
        for conversation in listing.conversations { streams[conversation]?.listed -= 1 }
    }

    // MARK: - Reading

    /// After a loss what came and went in the meantime is not known.
    func readListsAgain() {
        for user in listings.keys.sorted(by: { $0.text < $1.text }) { readList(user) }
    }

    /// Those that the origin did not answer.
    func readListsInTime() {
        let due = listings.filter { $0.value.retryAt.map { $0 <= now } ?? false }.keys
        for user in due.sorted(by: { $0.text < $1.text }) { readList(user) }
    }

    func readList(_ user: ID) {
        guard let listing = listings[user] else { return }
        guard !listing.isBeingRead else {
            listings[user]?.isStale = true
            return
        }
        listReadings += 1
        listings[user]?.isBeingRead = true
        listings[user]?.retryAt = nil
        listings[user]?.reading = listReadings
        unreadCounts[user]?.began(listReadings, at: now)
        ask(.list(user: user, reading: listReadings), .listed(user: listing.user), 1)
    }

    /// The list has come.
    func listed(_ user: ID, _ reading: Int, _ result: Result<HistoryAnswer, RequestError>) {
        guard let listing = listings[user], listing.reading == reading, listing.isBeingRead else {
            return
        }
        listings[user]?.isBeingRead = false
        guard case .success(.listed(let list)) = result else {
            listings[user]?.retryAt = now.adding(sync.options?.backoffMax ?? 0)
            unreadCounts[user]?.failed(reading)
            return
        }
        let found = Set(list.heads.keys)
        for conversation in sorted(found.subtracting(listing.conversations)) {
            join(conversation, to: user, isNew: listing.isNew(conversation))
        }
        for conversation in sorted(listing.conversations.subtracting(found)) {
            leave(conversation, from: user)
        }
        listings[user]?.noteWhole()
        readUnread(user, reading, list)
        if listings[user]?.isStale == true {
            listings[user]?.isStale = false
            readList(user)
        }
    }

    private func sorted(_ ids: Set<ID>) -> [ID] { ids.sorted { $0.text < $1.text } }

    /// - Parameter isNew: it came into the list just now.
    private func join(_ conversation: ID, to user: ID, isNew: Bool = false) {
        guard listings[user]?.conversations.insert(conversation).inserted == true else { return }
        let stream = stream(conversation.text)
        stream.listed += 1
        guard stream.came(into: user, isNew: isNew), let state = stream.state else {
            if stream.needsLast { list(stream) }
            return
        }
        let watchers = sessions.of(user).filter(\.watchesConversations)
        send(isNew ? .inserted : .updated, stream, state, to: watchers)
    }

    private func leave(_ conversation: ID, from user: ID) {
        dropUnread(conversation, of: [user.text])
        guard listings[user]?.conversations.remove(conversation) != nil else { return }
        streams[conversation]?.listed -= 1
        if listings[user]?.left.remove(conversation) == nil {
            tellUnlisted(conversation.text, [user.text])
        }
    }

    /// A conversation came into a user's list, or left it.
    func relisted(_ user: String, _ conversation: String, isIn: Bool) {
        guard let listing = listings[user.id] else { return }
        // What is being read may be from before or after.
        if listing.isBeingRead { listings[user.id]?.isStale = true }
        if isIn {
            // Out and in again: the log may have told of the first, and not of the second.
            listings[user.id]?.left.remove(conversation.id)
            join(conversation.id, to: user.id, isNew: true)
        } else {
            leave(conversation.id, from: user.id)
        }
    }

    /// Somebody who watches a list is shown these as parts of it. What the list is not known to
    /// have is looked after as well, until the list has been read again.
    func showed(
        _ views: [ConversationView], _ call: Call, knowing heads: [ID: Head] = [:]
    ) {
        guard let session = sessions[call.session], session.watchesConversations,
            let user = session.user?.id, let listing = listings[user]
        else { return }
        var shown = heads
        for view in views { shown[view.record.id.id] = view.head }
        let all = shown.keys.sorted { $0.text < $1.text }
        for id in all { note(id, shown[id], session, listing, beginsList: call.beginsList) }
        let unknown = all.filter { !listing.conversations.contains($0) }
        guard !unknown.isEmpty else { return }
        for conversation in unknown { join(conversation, to: user) }
        readList(user)
    }

    /// The token that somebody is given knows that these are in the list, and no others. What is
    /// told of another one, by a stream that is behind, would never be taken back.
    func drop(allBut heads: [ID: Head], _ call: Call) {
        guard let user = sessions[call.session]?.user?.id, let listing = listings[user] else {
            return
        }
        listings[user]?.noteAnswer(heads)
        let gone = listing.conversations.filter { heads[$0] == nil }
        guard !gone.isEmpty else { return }
        for conversation in sorted(gone) { leave(conversation, from: user) }
        // It may have come into the list since.
        readList(user)
    }

    /// What the session is shown now need not be told to it as an event again.
    private func note(
        _ conversation: ID, _ head: Head?, _ session: Session, _ listing: Listing,
        beginsList: Bool
    ) {
        guard let head else { return }
        listings[listing.user.id]?.left.remove(conversation)
        // Whoever watches already may have been told more than this answer by a branch of the log
        // that is lost, and takes the event for the truth.
        guard beginsList else { return }
        session.heldListEvents.removeAll {
            $0.conversation == conversation && $0.shows(head)
        }
        let isListed = listing.conversations.contains(conversation)
        let isAnnounced =
            streams[conversation].map { $0.state != nil && !$0.isListed && !$0.isOpen } ?? false
        guard !isListed || !isAnnounced else { return }
        session.shown[conversation] = head
    }

    /// Whether the conversation stands in the list that the session watches. The record of a stream
    /// that is behind may still name somebody who is gone.
    func lists(_ stream: Stream, _ session: Session) -> Bool {
        guard mirrors else { return true }
        guard let user = session.user else { return false }
        return listings[user.id]?.conversations.contains(stream.id.id) ?? false
    }
}
