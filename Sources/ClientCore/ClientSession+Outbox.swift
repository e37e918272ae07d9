import Chat
import JSON
import Wire

/// How a session sends: at once if it can, again after an outage, each message once.
extension ClientSession {
    /// Sends a message, or keeps it until it can be sent. One that never could be fails at once.
    package mutating func send(_ draft: Draft, to conversation: String) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        state.outbox.add(draft)
        if let refusal = effects.refusal("sendMessage", params(of: draft, id)) {
            state.outbox.refuse(draft.id, refusal)
            effects.act(.settled(draft: draft.id, .failure(.refused(refusal))))
        }
        conversations[id] = state
        draftsChanged(id)
        sendNext(id)
    }

    /// Gives a draft that failed another text, and sends it under another id: nobody knows of every
    /// failure whether the first text arrived. It comes behind what was written since.
    package mutating func rewrite(
        _ draft: String, as id: String, body: String?, in conversation: String, _ now: Instant
    ) {
        guard
            var next = conversations[conversation.id]?.outbox.drafts.first(where: {
                $0.id.isSameID(draft) && $0.state != .sending
            })
        else { return }
        conversations[conversation.id]?.outbox.discard(draft)
        (next.id, next.body, next.createdAt, next.state) = (id, body, now.clock, .sending)
        send(next, to: conversation)
    }

    /// Tries a failed draft again.
    package mutating func retry(_ draft: String, of conversation: String) {
        let id = conversation.id
        conversations[id]?.outbox.retry(draft)
        if let known = conversations[id]?.outbox.drafts.first(where: { $0.id.isSameID(draft) }),
            let refusal = effects.refusal("sendMessage", params(of: known, id))
        {
            conversations[id]?.outbox.refuse(draft, refusal)
        }
        draftsChanged(id)
        sendNext(id)
    }

    /// Gives a draft up. One that is under way may still arrive.
    package mutating func discard(_ draft: String, of conversation: String) {
        let id = conversation.id
        conversations[id]?.outbox.discard(draft)
        effects.act(.settled(draft: draft, .failure(.discarded)))
        draftsChanged(id)
    }

    /// Sends what is next, if nothing is under way.
    mutating func sendNext(_ id: ID) {
        effects.clear(.outbox(id))
        guard state.isLive else { return }
        while let draft = conversations[id]?.outbox.next() {
            let refusal = effects.send("sendMessage", params(of: draft, id), .send(id))
            guard let refusal else { return }
            conversations[id]?.outbox.refuse(draft.id, refusal)
            effects.act(.settled(draft: draft.id, .failure(.refused(refusal))))
            draftsChanged(id)
        }
    }

    private func params(of draft: Draft, _ id: ID) -> RequestParams {
        var params = RequestParams(conversation: id.text)
        params.set("id", draft.id)
        params.set("body", draft.body)
        params.set("attachment", draft.attachment)
        params.set("metadata", draft.metadata)
        params.set("replyTo", draft.replyTo)
        if !draft.mentions.isEmpty { params.set("mentions", draft.mentions) }
        if draft.mentionAll { params.set("mentionAll", true) }
        return params
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
            let draft = conversations[id]?.outbox.underWay
            let wait = conversations[id]?.outbox.fail(error, random: options.random())
            if let wait {
                effects.set(.outbox(id), at: now.monotonic + wait)
            } else {
                if let draft {
                    effects.act(.settled(draft: draft, .failure(.refused(error))))
                }
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

    /// Drops the drafts that have arrived, and settles each for those who wait for it.
    mutating func confirm(_ messages: [Message], in id: ID) {
        let own = messages.filter { message in user.map(message.author.isSameID) ?? false }
        let waiting = conversations[id]?.outbox.drafts.map(\.id.id) ?? []
        for message in own where waiting.contains(message.id.id) {
            effects.act(.settled(draft: message.id, .success(message)))
        }
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
