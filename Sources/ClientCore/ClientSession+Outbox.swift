import Chat
import JSON
import Wire

/// How a session sends: at once if it can, again after an outage, each message once.
extension ClientSession {
    /// Sends a message, or keeps it until it can be sent.
    package mutating func send(_ draft: Draft, to conversation: String) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        state.outbox.add(draft)
        conversations[id] = state
        draftsChanged(id)
        sendNext(id)
    }

    /// Tries a failed draft again.
    package mutating func retry(_ draft: String, of conversation: String) {
        let id = conversation.id
        conversations[id]?.outbox.retry(draft)
        draftsChanged(id)
        sendNext(id)
    }

    /// Gives a draft up. One that is under way may still arrive.
    package mutating func discard(_ draft: String, of conversation: String) {
        let id = conversation.id
        conversations[id]?.outbox.discard(draft)
        draftsChanged(id)
    }

    /// Sends what is next, if nothing is under way.
    mutating func sendNext(_ id: ID) {
        effects.clear(.outbox(id))
        guard state.isLive, let draft = conversations[id]?.outbox.next() else { return }
        var params = RequestParams(conversation: id.text)
        params.set("id", draft.id)
        params.set("body", draft.body)
        params.set("attachment", draft.attachment)
        params.set("metadata", draft.metadata)
        effects.send("sendMessage", params, .send(id))
    }

    mutating func sent(
        _ id: ID, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        switch result {
        case .success(let answer):
            guard let message = try answer.record("message", Message.init) else {
                throw FrameError("message", accepted: "an object")
            }
            // The draft goes again, under its id, when the subscription has told of that log.
            if isUntold(message, id) {
                conversations[id]?.outbox.interrupt()
                return
            }
            conversations[id]?.outbox.succeed()
            meet(message, id)
            // What the log has trimmed since it was sent is there for nobody.
            if message.isTrimmed { confirm([message], in: id) } else { show([message], in: id) }
            sendNext(id)
            changeNext(id)
        case .failure(let error):
            let wait = conversations[id]?.outbox.fail(error, random: options.random())
            if let wait {
                effects.set(.outbox(id), at: now.monotonic + wait)
            } else {
                draftsChanged(id)
                sendNext(id)
            }
        }
    }

    /// Whether a message went into a log of which a subscription is yet to tell: it has no place
    /// among what is shown, so that its draft stays there for it.
    private func isUntold(_ message: Message, _ id: ID) -> Bool {
        guard let state = conversations[id], !message.isTrimmed else { return false }
        return (state.phase == .opening || state.phase == .waiting)
            && !state.holder.hasRoom(for: message)
    }

    /// A message was sent, and has its place. If another is held there, what is held is of another
    /// log; where nobody follows the conversation, nothing else would tell of that.
    private mutating func meet(_ message: Message, _ id: ID) {
        guard let state = conversations[id], state.phase == .idle || state.phase == .ended,
            !message.isTrimmed, !state.holder.hasRoom(for: message)
        else { return }
        forget(id)
        changesMeet(id)
    }

    /// Shows the answer to one's own send, edit or delete, until its event comes.
    package mutating func show(_ messages: [Message], in conversation: String) {
        show(messages, in: conversation.id)
    }

    private mutating func show(_ messages: [Message], in id: ID) {
        let shown = conversations[id]?.holder.show(messages) ?? []
        if !shown.isEmpty { effects.tell(id, .shown(shown)) }
        confirm(messages, in: id)
    }

    /// Drops the drafts that have arrived.
    mutating func confirm(_ messages: [Message], in id: ID) {
        let own = messages.filter { message in user.map(message.author.isSameID) ?? false }
        if conversations[id]?.outbox.confirm(own) == true { draftsChanged(id) }
    }

    private mutating func draftsChanged(_ id: ID) {
        effects.tell(id, .drafts(conversations[id]?.outbox.drafts ?? []))
        effects.act(.save(id.text))
    }
}

extension Message {
    /// Whether the log knows that it was sent, and has it no longer.
    fileprivate var isTrimmed: Bool {
        unknown.contains { $0.key == "trimmed" && $0.value.bool == true }
    }
}
