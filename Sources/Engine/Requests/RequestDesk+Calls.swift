import Chat
import JSON
import Ports
import Rules
import Wire

/// The requests of connected clients. A request that needs the store or the origin becomes an
/// effect and waits in `Questions`; one about a conversation that is not in memory waits until it
/// is loaded.
extension RequestDesk {
    func perform(_ call: Call) {
        guard let session = connections[call.session], let user = session.user else { return }
        var call = call
        switch call.request {
        case .connect:
            break
        case .refresh(let token):
            connections.refresh(session, call, token: token)
        case .subscribeMessages(let conversation, let have, let limit):
            inOrder(session, call, conversation) {
                subscribe(session, call, conversation, have, limit)
            }
        case .unsubscribeMessages(let conversation):
            inOrder(session, call, conversation) { unsubscribe(session, call, conversation) }
        case .subscribeConversations:
            inOrder(session, call, Request.ownList) {
                session.requests.occupy(Request.ownList.id, by: call.id)
                emit(.call(call, user: user))
            }
        case .unsubscribeConversations:
            inOrder(session, call, Request.ownList) { emit(.call(call, user: user)) }
        case .fetchConversations:
            emit(.call(call, user: user))
        case .fetchConversation(let conversation):
            if mirrors, call.reach.atLeast == nil { return emit(.call(call, user: user)) }
            guard let (stream, state) = admit(call, conversation), reaches(&call, stream, state)
            else { return }
            if mirrors { return emit(.call(call, user: user)) }
            ask(.view(conversation: conversation, user: user), call)
        case .fetchMessages(let conversation, let page):
            guard let (stream, state) = admit(call, conversation) else { return }
            if mirrors { return fetchMirrored(call, stream, state, page) }
            guard reaches(&call, stream, state) else { return }
            ask(.page(conversation: conversation, page), call)
        case .fetchParticipants(let conversation, let range):
            guard let (stream, state) = admit(call, conversation),
                call.reach.atLeast == nil || reaches(&call, stream, state)
            else { return }
            if mirrors { return emit(.call(call, user: user)) }
            ask(.participants(conversation: conversation, range), call)
        case .findBoundaries(let conversation, let have):
            findBoundaries(call, conversation, have)
        case .typing(let conversation, let state):
            guard admit(call, conversation) != nil else { return }
            questions.act(.publish(.typing(conversation: conversation, user: user, state, at: now)))
            reply(call) { $0.emptyObject() }
        case .setPresence(let state): emit(.setPresence(call, state))
        case .watchPresence(let conversations): emit(.watchPresence(call, conversations))
        case .sendMessage(let conversation, var content):
            content.unknownFields = content.unknownFields.built
            let message = NewMessage(author: user, content: content, asksAdmin: asksAdmin)
            write(call, .send(conversation: conversation, [message]), by: user)
        case .editMessage(let conversation, let id, var edit):
            edit.asksAdmin = asksAdmin
            write(call, .edit(conversation: conversation, id: id, edit), by: user)
        case .deleteMessage(let conversation, let id, let ifRev):
            write(call, .delete(conversation: conversation, id: id, ifRev: ifRev), by: user)
        case .react(let conversation, let id, let key, let isOn, let other):
            let reaction = ReactionCall(key: key, isOn: isOn, user: other)
            write(call, .react(conversation: conversation, id: id, reaction), by: user)
        case .fetchReactions(let conversation, let id, let page):
            askOrigin(
                .reactions(conversation: conversation, message: id, page, for: user), for: call)
        case .fetchOwnReactions(let conversation, let after, let before):
            askOrigin(
                .ownReactions(
                    conversation: conversation, after: after, before: before, of: user),
                for: call)
        case .fetchMentions(let conversation, let after, let limit):
            askOrigin(
                .mentions(conversation: conversation, after: after, limit: limit, of: user),
                for: call)
        case .createConversation(let id, let fields, let distinct):
            create(call, id, fields, isDistinct: distinct, by: user)
        case .updateConversation(let conversation, let fields):
            write(call, .update(conversation: conversation, fields), by: user)
        case .addParticipants(let conversation, let users):
            let people = users.map { NewParticipant(user: $0) }
            write(call, .addParticipants(conversation: conversation, people), by: user)
        case .removeParticipants(let conversation, let users):
            write(call, .removeParticipants(conversation: conversation, users), by: user)
        case .addAdmins(let conversation, let users):
            write(call, .addAdmins(conversation: conversation, users), by: user)
        case .removeAdmins(let conversation, let users):
            write(call, .removeAdmins(conversation: conversation, users), by: user)
        case .deleteConversation(let conversation):
            write(call, .deleteConversation(conversation), by: user)
        case .leaveConversation(let conversation): write(call, .leave(conversation), by: user)
        case .markRead(let conversation, let seq):
            write(call, .markRead(conversation: conversation, seq: seq), by: user)
        }
    }

    // MARK: - Permission

    /// The conversation's stream, if the caller takes part. Otherwise the call now waits for it to
    /// load, or was answered.
    func admit(_ call: Call, _ conversation: String) -> (stream: Stream, state: Stream.State)? {
        guard let user = connections[call.session]?.user else { return nil }
        let stream = sync.stream(conversation)
        guard let state = stream.state else {
            if stream.replica?.isLoaded == true {
                // Neither the cache nor the origin has it yet.
                if !sync.wait(call, for: stream) { fail(call, sync.fetcher.unavailable(stream)) }
            } else {
                stream.waits.calls.append(call)
            }
            return nil
        }
        guard state.members.contains(user.id) else {
            // The caller may have joined since the feed broke.
            if !stream.isOpen {
                fail(call, .noConversation)
            } else if !sync.wait(call, for: stream) {
                fail(call, sync.fetcher.unavailable(stream))
            }
            return nil
        }
        return (stream, state)
    }

    // MARK: - Subscribing

    /// Subscriptions and their ends, on one connection and for one conversation or the list, keep
    /// the order of their requests.
    private func inOrder(
        _ session: Session, _ call: Call, _ conversation: String, _ body: () -> Void
    ) {
        if !session.requests.hold(call, behind: conversation.id) { body() }
    }

    /// A subscription was answered: requests held behind it go on.
    func proceed(_ session: Session, _ conversation: ID) {
        while let call = session.requests.takeHeld(conversation) { perform(call) }
    }

    func subscribe(
        _ session: Session, _ call: Call, _ conversation: String, _ have: Have?, _ limit: Int
    ) {
        session.requests.occupy(conversation.id, by: call.id)
        var call = call
        guard let (stream, state) = admit(call, conversation), reaches(&call, stream, state) else {
            return
        }
        let isNew = session.subscription(to: stream) == nil
        guard !isNew || session.subscriptions.count < limits.subscriptions else {
            return fail(call, tooManySubscriptions)
        }
        if call.reach.isPlain, !stream.isOpen,
            let answer = stream.encoded.answer(.init(have: have, limit: limit), at: state)
        {
            fanout.flush(stream)
            return begin(call, answer, stream, state)
        }
        if mirrors { return subscribeMirrored(call, stream, state, have, limit) }
        if let have, call.isConfirmed != false {
            ask(
                .catchUp(
                    conversation: conversation, have: have, limit: limit, bytes: limits.replyBytes),
                call)
        } else {
            ask(.page(conversation: conversation, PageRequest(limit: limit)), call)
        }
    }

    var tooManySubscriptions: RequestError {
        RequestError(
            .limitSubscriptions, "at most \(limits.subscriptions) subscriptions a connection")
    }

    private func unsubscribe(_ session: Session, _ call: Call, _ conversation: String) {
        if let stream = streams[conversation.id], session.subscription(to: stream) != nil {
            fanout.flush(stream)
            journal?.left(session, stream, "unsubscribed", at: now)
            stream.remove(session)
        }
        reply(call) { $0.emptyObject() }
    }

    func findBoundaries(_ call: Call, _ conversation: String, _ have: Have?) {
        var call = call
        guard let (stream, state) = admit(call, conversation), reaches(&call, stream, state) else {
            return
        }
        guard stream.replica?.copy.isDetached != true else { return fail(call, .noCache) }
        let held = boundariesAsked(have, stream, state)
        let places = held.runs.flatMap { [$0.low, $0.high] }
        sync.store.read(
            .ids(conversation: conversation, places: places),
            for: .boundaries(call, head: state.head))
    }

    /// The coverage whose boundaries `findBoundaries` reports.
    func boundariesAsked(_ have: Have?, _ stream: Stream, _ state: Stream.State) -> Coverage {
        let all = Coverage.closed(max(1, state.head.floor), state.head.seq)
        guard let have else { return stream.replica.map { $0.copy.held.intersection(all) } ?? all }
        return have.head.epoch == state.head.epoch ? have.runs.intersection(all) : Coverage()
    }

    // MARK: - Asking the origin

    /// Asks what only the origin keeps: its answer is the reply.
    private func askOrigin(_ query: HistoryQuery, for call: Call) {
        questions.act(.ask(query, token: questions.number(for: .asked(call))))
    }

    /// The origin answered.
    func told(_ call: Call, _ result: Result<HistoryAnswer, RequestError>) {
        switch result {
        case .success(.reactions(let list)):
            reply(call, size: 96 * list.entries.count, rows: list.entries.count) {
                $0.reactions(list)
            }
        case .success(.ownReactions(let own)):
            reply(call, size: 96 * own.count, rows: own.count) { $0.own(own) }
        case .success(.mentions(let list)):
            reply(call, size: 64 * list.places.count, rows: list.places.count) {
                $0.mentions(list)
            }
        case .success: fail(call, .misled)
        case .failure(let error): fail(call, error)
        }
    }

    // MARK: - Writing

    /// Whether only admins may mention everybody.
    private var asksAdmin: Bool { limits.clients.mentionsAll == .admins }

    private func write(_ call: Call, _ operation: Operation, by user: String) {
        if let refusal = refusal(of: operation) { return fail(call, refusal) }
        let token = questions.number(for: .write(call))
        noteSend(
            operation, token: token, from: call.session,
            trace: connections[call.session]?.trace ?? "")
        questions.act(.perform(operation, by: .user(user), token: token))
    }

    /// The operation is on its way to the log until `noteSent` is called with the same token.
    func noteSend(
        _ operation: Operation, token: UInt64, from session: SessionID, trace: String
    ) {
        journal?.asked(operation, token: token, by: session, trace: trace, at: now)
        guard case .send(let conversation, _) = operation,
            let stream = streams[conversation.id], !stream.subscribers.isEmpty
        else { return }
        fanout.pacing.noteSend(to: stream, token: token)
    }

    /// The operation was done or refused.
    func noteSent(token: UInt64, _ result: Result<Outcome, RequestError>) {
        journal?.answered(token, result, at: now)
        fanout.pacing.noteSent(token: token)
        if case .success(let outcome) = result, let written = outcome.written {
            sync.acknowledged(written)
        }
    }

    /// The upstream performed the write or refused it.
    func performed(_ write: Call, _ result: Result<Outcome, RequestError>) {
        var call = write
        call.isJournaled = true
        switch result {
        case .failure(let error): fail(call, error)
        case .success(let outcome):
            if let session = connections[call.session] {
                tally.noteEnd(of: call.request.outline, session)
            }
            if holdsReply(call, outcome) { return }
            reply(call, size: outcome.size, people: outcome.people) {
                $0.outcome(outcome, of: call.request)
            }
        }
    }

    /// Why no client at all may do this; nil if clients may.
    private func refusal(of operation: Operation) -> RequestError? {
        if limits.clients.mentionsAll == .no, operation.mentionsAll {
            return ClientPolicy.noMentioningAll
        }
        if case .send(_, let messages) = operation {
            guard limits.clients.sends else { return ClientPolicy.noSending }
            do throws(RequestError) {
                for message in messages { try limits.log.check(sent: message.content) }
            } catch {
                return error
            }
        }
        if case .react = operation { return limits.clients.reacts ? nil : ClientPolicy.noReacting }
        if limits.clients.edits { return nil }
        if case .edit = operation { return ClientPolicy.noEditing }
        return if case .delete = operation { ClientPolicy.noEditing } else { nil }
    }

    private func create(
        _ call: Call, _ id: String?, _ fields: ConversationFields, isDistinct: Bool,
        by user: String
    ) {
        guard let refusal = limits.clients.refusal(ofCreating: id, by: user) else {
            return write(call, .create(id: id, fields, distinct: isDistinct), by: user)
        }
        // A client that may not create conversations may still find an existing one.
        guard isDistinct else { return fail(call, refusal) }
        write(call, .findDistinct(fields, otherwise: refusal), by: user)
    }
}
