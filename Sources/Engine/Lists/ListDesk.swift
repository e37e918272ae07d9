import Chat
import JSON
import Ports
import Wire

/// Handles calls about lists of conversations, from the call to its reply, and the calls that go to
/// the origin of a log elsewhere unchanged: records and participants. While the origin is away it
/// answers with what this gateway knows. It reports what answers show to `ListAnnouncer`, which
/// tracks what watchers were sent.
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

    /// A call about the caller's list, or one that only the origin of a log elsewhere can answer.
    func perform(_ call: Call, _ user: String) {
        guard let session = connections[call.session], !session.isClosing else { return }
        var call = call
        let unread = session.list.asksUnread
        if case .unsubscribeConversations = call.request {
            session.list.dropHeld()
            announcer.unwatch(session)
            return connections.reply(call) { $0.emptyObject() }
        }
        if case .subscribeConversations(let since, let limit) = call.request {
            // Watching begins before the store is read: a change in between is sent twice rather
            // than never, which is harmless.
            call.beginsList = !session.list.isWatching
            announcer.watch(session, user)
            if !sync.mirrors {
                return ask(
                    .conversationsSince(user: user, token: since, limit: limit, unread: unread),
                    call)
            }
        } else if case .fetchConversations(let limit, let cursor) = call.request, !sync.mirrors {
            return ask(
                .conversations(user: user, limit: limit, cursor: cursor, unread: unread), call)
        }
        askOrigin(call, user)
    }

    private func ask(_ query: Query, _ call: Call) { sync.store.read(query, for: .answer(call)) }

    private func askOrigin(_ call: Call, _ user: String) {
        guard sync.isLinked || !sync.hasGivenTime else {
            return answered(call, 0, .failure(.originUnavailable))
        }
        var call = call
        if case .subscribeConversations(let since, let limit) = call.request {
            askOrigin(.conversationsSince(user: user, token: since, limit: limit), call)
        } else if case .fetchConversations(let limit, let cursor) = call.request {
            askOrigin(.conversations(user: user, limit: limit, cursor: cursor), call)
        } else if case .fetchConversation(let conversation) = call.request {
            if let stream = sync.streams[conversation.id], let replica = stream.replica {
                call.era = replica.era
                stream.reading.readership.expect(user.id, at: stream.state?.position)
            }
            askOrigin(.conversation(conversation, reader: user), call)
        } else if case .fetchParticipants(let conversation, let range) = call.request {
            sync.streams[conversation.id]?.expectPeople(for: &call)
            askOrigin(
                .participants(conversation: conversation, range, reader: user), call)
        } else {
            answered(call, 0, .failure(.misled))
        }
    }

    private func askOrigin(_ query: HistoryQuery, _ call: Call) {
        sync.fetcher.ask(.call(call), query, 0)
    }

    // MARK: - Answers

    /// The origin answered a call.
    /// - Parameter generation: of the feed that was unbroken from the question to the answer; 0 for
    ///   none.
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
            // A client that gets only the changes knows the rest by the token.
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

    /// Keeps the origin's answer about the caller's reading state if the feed covers what follows.
    private func learn(_ view: ConversationView, _ call: Call, _ generation: Int) {
        guard let user = connections[call.session]?.user,
            let replica = sync.streams[view.record.id.id]?.replica,
            replica.isFollowed(in: generation, since: call.era)
        else { return }
        lists.learn(view, of: user.id)
    }

    /// Keeps the origin's answer about participants if the feed covers what follows.
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

    /// Answers that don't depend on a stream's position.
    func conclude(_ call: Call, _ answer: Answer) {
        connections[call.session]?.list.dropHeld(before: answer.views)
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
                $0.participants(
                    list, range, isOpen: call.reach.isShort, isReset: call.reach.isRefuted)
            }
        case .ids, .loaded, .page, .catchUp, .place, .confirmation, .listed:
            connections.fail(call, .misled)
        }
    }

    /// One conversation.
    /// - Parameter isOpen: whether the origin did not answer; here and below.
    private func conclude(_ call: Call, _ view: ConversationView, isOpen: Bool = false) {
        if let session = connections[call.session] {
            totals.showed(view, isOpen: isOpen || call.reach.isShort, session)
        }
        connections.reply(call, people: view.record.participantCount) {
            $0.beginObject()
            $0.reset(call.reach.isRefuted)
            $0.key("conversation")
            $0.view(view)
            $0.open(isOpen || call.reach.isShort)
            $0.endObject()
        }
    }

    /// A page of a list.
    private func conclude(_ call: Call, _ list: ConversationList, isOpen: Bool = false) {
        let unread = unread(list.unread, list.conversations, isOpen, call)
        let rows = list.conversations.count + rowsCounted(unread, list.total)
        connections.reply(call, rows: rows) { $0.conversations(list, unread, isOpen: isOpen) }
    }

    /// The changes of a list.
    private func conclude(_ call: Call, _ changes: ConversationChanges, isOpen: Bool = false) {
        let unread = unread(changes.unread, changes.conversations, isOpen, call)
        let rows = changes.conversations.count + changes.removed.count
        connections.reply(call, rows: rows + rowsCounted(unread, changes.total)) {
            $0.conversations(changes, unread, isOpen: isOpen)
        }
    }

    /// The unread totals in the answer; nil unless the connection asked for them.
    private func unread(
        _ total: UnreadTotal?, _ views: [ConversationView], _ isOpen: Bool, _ call: Call
    ) -> UnreadTotal? {
        guard let session = connections[call.session], session.list.asksUnread, let total else {
            return nil
        }
        totals.told(total, views, isOpen: isOpen, session)
        return total
    }

    /// Counting unread messages looks at each conversation, which costs less than reading it.
    private func rowsCounted(_ unread: UnreadTotal?, _ total: Int) -> Int {
        unread == nil ? 0 : total / 10
    }

    // MARK: - While the origin is away

    /// While the origin is away: answers with what this gateway has read completely and followed
    /// since, as of the stream's position, as open.
    /// - Returns: false if not all of it is known here.
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
            // A client that gets only the changes knows the rest by the token.
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
        // Subscribers must be sent the end of `open`.
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

extension Answer {
    /// The conversations that it shows.
    fileprivate var views: [ConversationView] {
        if case .view(let view) = self { return [view] }
        if case .conversations(let list) = self { return list.conversations }
        return if case .conversationsSince(let changes) = self { changes.conversations } else { [] }
    }
}

extension Stream {
    /// Notes in a call for participants what is known of them when the origin is asked.
    fileprivate func expectPeople(for call: inout Call) {
        guard let replica, let state else { return }
        (call.era, call.record) = (replica.era, state.record.rev)
        reading.readership.roster.expect(state.record.rev)
    }
}

extension Replica {
    /// Whether this gateway follows everything after an answer of this generation to a question of
    /// that era.
    fileprivate func isFollowed(in generation: Int, since era: Era?) -> Bool {
        generation == self.generation && era === self.era
    }
}

extension RequestError {
    /// Whether the origin does not answer, for another reason than a damaged log.
    var isOfOriginAway: Bool { code == .originUnavailable && damagedPart == nil }
}
