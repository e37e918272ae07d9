import Chat
import JSON
import Wire

/// How a session edits, deletes, reacts and marks as read: at once if it can, again after an
/// outage.
extension ClientSession {
    /// What was changed and is not confirmed, oldest first.
    package func changes(of conversation: String) -> [Change] {
        conversations[conversation.id]?.queue.changes ?? []
    }

    /// Up to where the user has read, if the gateway does not know it yet.
    package func unsentRead(of conversation: String) -> Int? {
        conversations[conversation.id]?.queue.read
    }

    /// Makes a change, or keeps it until it can be made. One that does not say which value it is of
    /// is of the newest that is held.
    package mutating func change(_ change: Change, in conversation: String) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        var change = change
        if change.ifRev == nil, !change.isReaction, let known = state.holder.message(change.message)
        {
            change.ifRev = known.rev
            change.epoch = known.rev.flatMap { _ in state.holder.head?.epoch }
            change.generation = state.holder.generation
        }
        state.queue.add(change)
        if let refusal = refusal(of: change, id) { state.queue.refuse(change.id, refusal) }
        conversations[id] = state
        // What a view showed may be of another log than what is held by now.
        if state.phase == .live { changesMeet(id) }
        changesChanged(id)
        changeNext(id)
    }

    /// Tries a change again that failed, or makes one in spite of its conflict.
    package mutating func retryChange(_ change: String, of conversation: String) {
        let id = conversation.id
        conversations[id]?.queue.retry(change)
        changesChanged(id)
        changeNext(id)
    }

    /// Gives an edit that failed, or is in conflict, another text.
    package mutating func rewriteChange(
        _ change: String, body: String?, of conversation: String
    ) {
        let id = conversation.id
        conversations[id]?.queue.rewrite(change, body: body)
        changesChanged(id)
        changeNext(id)
    }

    /// Gives a change up.
    package mutating func discardChange(_ change: String, of conversation: String) {
        conversations[conversation.id]?.queue.discard(change)
        changesChanged(conversation.id)
    }

    /// Says that everything up to a place was read, now or as soon as there is a session.
    package mutating func markRead(_ conversation: String, upTo seq: Int) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        state.queue.markRead(seq)
        conversations[id] = state
        effects.act(.save(conversation))
        tellRead(id)
    }

    /// Makes what is next, if nothing is under way, and tells how far was read.
    mutating func changeNext(_ id: ID) {
        effects.clear(.changes(id))
        guard state.isLive, let phase = conversations[id]?.phase,
            let drafts = conversations[id]?.outbox.drafts
        else { return }
        if let epoch = conversations[id]?.queue.epoch {
            // Whether that is still its log, the answer of a subscription under way says.
            if phase == .waiting || phase == .opening { return }
            if phase == .idle, conversations[id]?.queue.checked != epoch { return askEpoch(id) }
        }
        while let change = conversations[id]?.queue.next(behind: drafts) {
            let (method, params) = request(for: change, id)
            guard let refusal = effects.send(method, params, .change(id)) else { return }
            conversations[id]?.queue.refuse(change.id, refusal)
            changesChanged(id)
        }
    }

    private func refusal(of change: Change, _ id: ID) -> RequestError? {
        let (method, params) = request(for: change, id)
        return effects.refusal(method, params)
    }

    private func request(for change: Change, _ id: ID) -> (method: String, RequestParams) {
        var params = RequestParams(conversation: conversations[id]?.id ?? id.text)
        params.set("id", change.message)
        params.set("ifRev", change.ifRev)
        switch change.kind {
        case .delete: return ("deleteMessage", params)
        case .react(let key, let isOn):
            params.set("key", key)
            params.set("on", isOn)
            return ("react", params)
        case .edit(let body, let metadata, let mentions, let isToAll):
            params.set("body", body.map(RawJSON.init(string:)) ?? .null)
            params.set("metadata", metadata)
            params.set("mentions", mentions)
            params.set("mentionAll", isToAll)
            return ("editMessage", params)
        }
    }

    /// Asks which log a conversation has that nobody follows.
    private mutating func askEpoch(_ id: ID) {
        guard conversations[id]?.queue.beginCheck() == true else { return }
        var params = RequestParams(conversation: conversations[id]?.id ?? id.text)
        params.set("cached", false)
        effects.send("fetchConversation", params, .epoch(id))
    }

    mutating func epochTold(
        _ id: ID, _ result: Result<JSONObject, RequestError>
    ) throws(FrameError) {
        guard case .success(let answer) = result,
            let epoch = try answer.record("conversation", Conversation.init)?.head?.epoch
        else { return }
        if conversations[id]?.queue.logChanged(to: epoch) == true { changesChanged(id) }
        conversations[id]?.queue.checked = epoch
        changeNext(id)
    }

    mutating func tellRead(_ id: ID) {
        effects.clear(.read(id))
        guard state.isLive, let seq = conversations[id]?.queue.nextRead() else { return }
        var params = RequestParams(conversation: conversations[id]?.id ?? id.text)
        params.set("seq", seq)
        effects.send("markRead", params, .read(id, seq))
    }

    mutating func changed(
        _ id: ID, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        switch result {
        case .success(let answer):
            guard let message = try answer.record("message", Message.init) else {
                throw FrameError("message", accepted: "an object")
            }
            conversations[id]?.queue.succeed(message.rev)
            show([message], in: id.text)
        case .failure(let error):
            let wait = conversations[id]?.queue.fail(error, random: options.random())
            if let wait { return effects.set(.changes(id), at: now.monotonic + wait) }
        }
        changesChanged(id)
        changeNext(id)
    }

    mutating func readTold(
        _ id: ID, _ seq: Int, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        switch result {
        case .success(let answer):
            conversations[id]?.queue.readTold(seq)
            let conversation = conversations[id]?.id ?? id.text
            listing.confirmRead(
                conversation, upTo: try answer.integer("lastReadSeq"),
                unread: try answer.integer("unreadCount"),
                mentions: answer["unreadMentions"]?.int, &effects)
        case .failure(let error):
            let wait = conversations[id]?.queue.readRefused(error, random: options.random())
            if let wait { effects.set(.read(id), at: now.monotonic + wait) }
        }
        effects.act(.save(id.text))
        if case .success = result { tellRead(id) }
    }

    /// What was written of another log is in conflict.
    mutating func changesMeet(_ id: ID) {
        guard let holder = conversations[id]?.holder else { return }
        let isOther = conversations[id]?.queue.logChanged(
            to: holder.head?.epoch, generation: holder.generation)
        if isOther == true { changesChanged(id) }
    }

    private mutating func changesChanged(_ id: ID) {
        effects.tell(id, .changes(conversations[id]?.queue.changes ?? []))
        effects.act(.save(id.text))
    }
}
