import Chat
import JSON
import Ports
import Wire

/// Calls about lists of conversations, from the call to its reply, and the others that go to the
/// origin of a log elsewhere as they are: records and participants. While that is away they are
/// answered with what is known here. What answers show is told to `ListAnnouncer`, which knows what
/// watchers were told.
final class ListDesk {
    private let announcer: ListAnnouncer
    private let totals: UnreadTotals
    private let connections: Connections
    private let sync: Sync

    init(
        _ announcer: ListAnnouncer, _ totals: UnreadTotals, _ connections: Connections,
        _ sync: Sync
    ) {
        self.announcer = announcer
        self.totals = totals
        self.connections = connections
        self.sync = sync
    }

    private var lists: Lists { announcer.lists }

    // MARK: - Calls

    /// A call about the caller's list, or about what only the origin of a log elsewhere knows.
    func perform(_ call: Call, _ user: String) {
        guard let session = connections[call.session], !session.isClosing else { return }
        var call = call
        switch call.request {
        case .subscribeConversations(let since, let limit):
            // Watching begins before the store is read: what changes in between comes twice rather
            // than never, and a value is a value.
            call.beginsList = !session.list.isWatching
            announcer.watch(session, user)
            if sync.mirrors { return askOrigin(call, user) }
            let unread = session.list.asksUnread
            ask(.conversationsSince(user: user, token: since, limit: limit, unread: unread), call)
        case .unsubscribeConversations:
            session.list.dropHeld()
            announcer.unwatch(session)
            connections.reply(call) { $0.emptyObject() }
        case .fetchConversations(let limit, let cursor):
            if sync.mirrors { return askOrigin(call, user) }
            let unread = session.list.asksUnread
            ask(.conversations(user: user, limit: limit, cursor: cursor, unread: unread), call)
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages, .fetchConversation,
            .fetchMessages, .fetchParticipants, .findBoundaries, .sendMessage, .editMessage,
            .deleteMessage, .createConversation, .updateConversation, .addParticipants,
            .removeParticipants, .addAdmins, .removeAdmins, .deleteConversation,
            .leaveConversation, .markRead, .typing:
            askOrigin(call, user)
        }
    }

    private func ask(_ query: Query, _ call: Call) { sync.store.read(query, for: .answer(call)) }

    private func askOrigin(_ call: Call, _ user: String) {
        guard sync.isLinked || !sync.hasGivenTime else {
            return answered(call, 0, .failure(.originUnavailable))
        }
        switch call.request {
        case .subscribeConversations(let since, let limit):
            askOrigin(.conversationsSince(user: user, token: since, limit: limit), call)
        case .fetchConversations(let limit, let cursor):
            askOrigin(.conversations(user: user, limit: limit, cursor: cursor), call)
        case .fetchConversation(let conversation):
            var call = call
            if let stream = sync.streams[conversation.id], let replica = stream.replica {
                call.era = replica.era
                stream.reading.readership.expect(user.id)
            }
            askOrigin(.conversation(conversation, reader: user), call)
        case .fetchParticipants(let conversation, let range):
            var call = call
            sync.streams[conversation.id]?.expectPeople(for: &call)
            askOrigin(.participants(conversation: conversation, range), call)
        case .connect, .refresh, .subscribeMessages, .unsubscribeMessages,
            .unsubscribeConversations, .fetchMessages, .findBoundaries, .sendMessage, .editMessage,
            .deleteMessage, .createConversation, .updateConversation, .deleteConversation,
            .leaveConversation, .addParticipants, .removeParticipants, .addAdmins, .removeAdmins,
            .markRead, .typing:
            answered(call, 0, .failure(.misled))
        }
    }

    private func askOrigin(_ query: HistoryQuery, _ call: Call) {
        sync.fetcher.ask(.call(call), query, 0)
    }

    // MARK: - Answers

    /// The origin's answer to a call.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    func answered(
        _ call: Call, _ generation: Int, _ result: Result<HistoryAnswer, RequestError>
    ) {
        let user = connections[call.session]?.user?.id
        switch (result, call.request) {
        case (.failure(let error), _):
            if error.isOfOriginAway, answerAsKnown(call) { return }
            if call.beginsList, let session = connections[call.session] {
                announcer.unwatch(session)
            }
            connections.fail(call, error)
        case (.success(.conversationsSince(let changes)), .subscribeConversations):
            if let user { lists.showed(changes.conversations, of: changes.total, to: user) }
            // Whoever is given what changed knows the others by the token.
            announcer.showed(
                changes.conversations, call, knowing: changes.complete ? changes.heads : [:])
            announcer.drop(allBut: changes.heads, call)
            conclude(call, changes)
        case (.success(.conversations(let list)), _):
            if let user { lists.showed(list.conversations, of: list.total, to: user) }
            announcer.showed(list.conversations, call)
            conclude(call, list)
        case (.success(.conversation(let view)), _):
            learn(view, call, generation)
            if let user { lists.showed([view], to: user) }
            if view.reader != nil { announcer.showed([view], call) }
            conclude(call, .view(view))
        case (.success(.participants(let list)), _):
            learn(list, call, generation)
            conclude(call, .participants(list))
        case (.success, _):
            connections.fail(call, .misled)
        }
    }

    /// What the origin says of how the caller reads, where the feed tells of all that follows.
    private func learn(_ view: ConversationView, _ call: Call, _ generation: Int) {
        guard let user = connections[call.session]?.user,
            let replica = sync.streams[view.record.id.id]?.replica,
            replica.isFollowed(in: generation, since: call.era)
        else { return }
        lists.learn(view, of: user.id)
    }

    /// What the origin says of who takes part, where the feed tells of all that follows.
    private func learn(_ list: ParticipantList, _ call: Call, _ generation: Int) {
        guard case .fetchParticipants(let conversation, let range) = call.request,
            let stream = sync.streams[conversation.id]
        else { return }
        if stream.replica?.isFollowed(in: generation, since: call.era) == true {
            sync.streams.keep(list, range, as: call.record, stream)
        } else {
            stream.reading.readership.roster.forget()
        }
    }

    // MARK: - Replies

    /// Answers that stand for themselves.
    func conclude(_ call: Call, _ answer: Answer) {
        switch answer {
        case .view(let view):
            guard view.reader != nil else { return connections.fail(call, .noConversation) }
            conclude(call, view)
        case .conversations(let list):
            conclude(call, list)
        case .conversationsSince(let changes):
            conclude(call, changes)
        case .participants(let list):
            guard case .fetchParticipants(_, let range) = call.request else { return }
            connections.reply(call, rows: list.participants.count) {
                $0.participants(list, range)
            }
        case .ids, .loaded, .page, .catchUp, .place, .confirmation, .listed:
            connections.fail(call, .misled)
        }
    }

    /// One conversation.
    /// - Parameter isOpen: the origin did not answer; here and below.
    private func conclude(_ call: Call, _ view: ConversationView, isOpen: Bool = false) {
        connections.reply(call, people: view.record.participantCount) {
            $0.beginObject()
            $0.key("conversation")
            $0.view(view)
            if isOpen { $0.open(true) }
            $0.endObject()
        }
    }

    /// A part of a list.
    private func conclude(_ call: Call, _ list: ConversationList, isOpen: Bool = false) {
        let unread = unread(list.unread, isOpen, call)
        let rows = list.conversations.count + rowsCounted(unread, list.total)
        connections.reply(call, rows: rows) { $0.conversations(list, unread, isOpen: isOpen) }
    }

    /// What changed in a list.
    private func conclude(_ call: Call, _ changes: ConversationChanges, isOpen: Bool = false) {
        let unread = unread(changes.unread, isOpen, call)
        let rows = changes.conversations.count + changes.removed.count
        connections.reply(call, rows: rows + rowsCounted(unread, changes.total)) {
            $0.conversations(changes, unread, isOpen: isOpen)
        }
    }

    /// What the answer says of what is unread: nothing, but to those who asked for it.
    private func unread(_ total: UnreadTotal?, _ isOpen: Bool, _ call: Call) -> UnreadTotal? {
        guard let session = connections[call.session], session.list.asksUnread, let total else {
            return nil
        }
        totals.told(total, isOpen: isOpen, session)
        return total
    }

    /// To count what is unread looks at each conversation, which is less than to read it.
    private func rowsCounted(_ unread: UnreadTotal?, _ total: Int) -> Int {
        unread == nil ? 0 : total / 10
    }

    // MARK: - While the origin is away

    /// Answers a call for which the origin has no answer: with what this gateway has read whole and
    /// followed since, as of where its stream stands, and as open.
    /// - Returns: false if it is not known here, or not all of it.
    private func answerAsKnown(_ call: Call) -> Bool {
        guard let user = connections[call.session]?.user else { return false }
        if case .fetchConversation(let conversation) = call.request {
            return answerAsKnown(call, conversation, user.id)
        }
        if case .fetchParticipants(let conversation, let range) = call.request {
            return answerAsKnown(call, conversation, range, user.id)
        }
        let bytes = connections.limits.replyBytes
        if case .fetchConversations(let limit, let text) = call.request {
            guard let list = lists.page(of: user.id, limit, behind: text, bytes: bytes) else {
                return false
            }
            announcer.showed(list.conversations, call)
            conclude(call, list, isOpen: true)
            return true
        }
        if case .subscribeConversations(let since, let limit) = call.request {
            guard let known = lists.known(to: user.id) else { return false }
            let changes = known.changes(since: since, limit: limit, bytes: bytes)
            // Whoever is given what changed knows the others by the token.
            announcer.showed(
                changes.conversations, call, knowing: changes.complete ? changes.heads : [:])
            conclude(call, changes, isOpen: true)
            return true
        }
        return false
    }

    private func answerAsKnown(_ call: Call, _ conversation: String, _ user: ID) -> Bool {
        guard let stream = sync.streams[conversation.id], let view = stream.known(to: user),
            lists[user]?.gone.contains(conversation.id) != true
        else { return false }
        // Those who watch have it closed when there is nothing more that nobody here knows.
        if stream.isOpen { stream.outgoing.noteOpen() }
        conclude(call, view, isOpen: true)
        return true
    }

    private func answerAsKnown(
        _ call: Call, _ conversation: String, _ range: ParticipantsRequest, _ user: ID
    ) -> Bool {
        guard let stream = sync.streams[conversation.id],
            lists[user]?.gone.contains(conversation.id) != true,
            let list = stream.people(range, shownTo: user)
        else { return false }
        if stream.isOpen { stream.outgoing.noteOpen() }
        connections.reply(call, rows: list.participants.count) {
            $0.participants(list, range, isOpen: true)
        }
        return true
    }
}

extension Stream {
    /// Notes with a call for who takes part what of that is known when the origin is asked.
    fileprivate func expectPeople(for call: inout Call) {
        guard let replica, let state else { return }
        (call.era, call.record) = (replica.era, state.record.rev)
        reading.readership.roster.expect(state.record.rev)
    }
}

extension Replica {
    /// Whether what the origin answered in this generation of the feed, to a question of that era,
    /// is followed from then on.
    fileprivate func isFollowed(in generation: Int, since era: Int) -> Bool {
        generation == self.generation && era == self.era
    }
}

extension RequestError {
    /// The origin does not answer, and not because a part of the log is damaged.
    var isOfOriginAway: Bool { code == .originUnavailable && damagedPart == nil }
}
