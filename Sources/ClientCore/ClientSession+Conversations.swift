import Chat
import JSON
import Wire

/// How a session subscribes to conversations, resumes them, and keeps what they hold.
extension ClientSession {
    /// What is held of a conversation; nil if nobody ever asked for it.
    package func holder(of conversation: String) -> Holder? {
        conversations[conversation.id]?.holder
    }

    /// What is held, for somebody who begins to listen; nil while nothing is known.
    package func snapshot(of conversation: String) -> ConversationUpdate.Snapshot? {
        guard let state = conversations[conversation.id],
            state.phase == .live || state.holder.head != nil || !state.holder.shown.isEmpty
        else { return nil }
        return ConversationUpdate.Snapshot(state.holder)
    }

    /// What somebody has to know who begins to listen.
    package func present(of conversation: String) -> [ConversationUpdate] {
        var updates: [ConversationUpdate] = []
        if let snapshot = snapshot(of: conversation) { updates.append(.began(snapshot)) }
        // A listener that comes back replaces what it showed, also by an empty list.
        updates.append(.drafts(drafts(of: conversation)))
        updates.append(.changes(changes(of: conversation)))
        updates.append(.open(isOpen(conversation)))
        if isLive(conversation) { updates.append(.live(true)) }
        return updates
    }

    /// The same for somebody who has heard some of it, and then no more.
    package func presentAgain(of conversation: String) -> [ConversationUpdate] {
        var updates = present(of: conversation)
        if snapshot(of: conversation) == nil { updates.insert(.forgotten, at: 0) }
        if !isLive(conversation) { updates.append(.live(false)) }
        if let ending = conversations[conversation.id]?.ending { updates.append(.ended(ending)) }
        return updates
    }

    /// Whether the subscription is live.
    package func isLive(_ conversation: String) -> Bool {
        conversations[conversation.id]?.phase == .live
    }

    /// Whether there may be changes that the gateway does not know of.
    package func isOpen(_ conversation: String) -> Bool {
        conversations[conversation.id]?.isOpen ?? false
    }

    /// What is not sent yet, oldest first.
    package func drafts(of conversation: String) -> [Draft] {
        conversations[conversation.id]?.outbox.drafts ?? []
    }

    /// Whether the conversation is known, so that nothing has to be restored.
    package func isKnown(_ conversation: String) -> Bool { conversations[conversation.id] != nil }

    /// Takes over what a store has kept, before anything else is asked of the conversation.
    package mutating func restore(
        _ conversation: String, _ holder: Holder?, _ drafts: [Draft], _ changes: [Change] = [],
        read: Int? = nil
    ) {
        var state = ConversationState(id: conversation)
        if let holder { state.holder = holder }
        state.outbox = Outbox(drafts)
        state.queue = ChangeQueue(changes, read: read)
        conversations[conversation.id] = state
    }

    /// Another user is here now: nothing that was held is for them, and nothing that waits is
    /// theirs to send. Who listens goes on.
    mutating func forgetAll() {
        for id in conversations.keys.sorted(by: { $0.text < $1.text }) {
            guard let known = conversations[id] else { continue }
            var state = ConversationState(id: known.id)
            state.holder = known.holder
            (state.phase, state.ending) = (known.phase, known.ending)
            (state.limit, state.subscription) = (known.limit, known.subscription + 1)
            conversations[id] = state
            forget(id)
            effects.tell(id, .drafts([]))
            effects.tell(id, .changes([]))
        }
        effects.writes.forgetAll()
        listing.forget(&effects)
    }

    /// Takes over what the user wrote earlier.
    package mutating func adopt(
        _ drafts: [Draft], _ changes: [Change], _ read: Int?, in conversation: String
    ) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        for draft in drafts { state.outbox.add(draft) }
        for change in changes { state.queue.add(change) }
        if let read { state.queue.markRead(read) }
        conversations[id] = state
        effects.tell(id, .drafts(state.outbox.drafts))
        effects.tell(id, .changes(state.queue.changes))
        tellRead(id)
        sendNext(id)
        changeNext(id)
    }

    /// A store lacks changes: it has to write all that is held.
    /// - Returns: The conversations.
    package mutating func noteAllChanged() -> [ID] {
        for id in conversations.keys { conversations[id]?.holder.noteAllChanged() }
        return Array(conversations.keys)
    }

    /// Gives what a store has to write since the last time.
    package mutating func takeChanges(of conversation: String) -> HolderChanges {
        let id = conversation.id
        defer { conversations[id]?.holder.changes = HolderChanges() }
        return conversations[id]?.holder.changes ?? HolderChanges()
    }

    // MARK: Subscribing

    /// Subscribes, now and whenever a session begins.
    /// - Parameter limit: how many messages it begins with, and at most resumes with; nil for as
    ///   many as before.
    package mutating func subscribe(to conversation: String, limit: Int? = nil) {
        let id = conversation.id
        var state = conversations[id] ?? ConversationState(id: conversation)
        state.limit = limit ?? state.limit
        let begins = state.phase == .idle || state.phase == .ended
        if begins { (state.phase, state.ending) = (.waiting, nil) }
        conversations[id] = state
        if begins, self.state.isLive { subscribe(id) }
    }

    /// Ends the subscription; what is held stays, and `subscribe` resumes it.
    package mutating func unsubscribe(from conversation: String) {
        let id = conversation.id
        guard let state = conversations[id], state.phase != .idle else { return }
        effects.clear(.subscribe(id))
        conversations[id]?.phase = .idle
        conversations[id]?.subscription += 1
        conversations[id]?.holder.unsubscribed()
        if self.state.isLive, state.phase == .live || state.phase == .opening {
            effects.send("unsubscribeMessages", RequestParams(conversation: state.id), .nothing)
        }
    }

    mutating func subscribe(_ id: ID) {
        guard state.isLive, var conversation = conversations[id] else { return }
        effects.clear(.subscribe(id))
        conversation.phase = .opening
        conversation.subscription += 1
        let have = conversation.holder.resumable()
        conversations[id] = conversation
        var params = RequestParams(conversation: conversation.id)
        params.set("have", have)
        params.set("limit", conversation.limit ?? options.page)
        let refusal = effects.send(
            "subscribeMessages", params,
            .subscribe(
                id, subscription: conversation.subscription, resumed: have != nil,
                epoch: have?.head.epoch))
        // What is held in so many pieces that no frame has room for them begins anew.
        guard let refusal else { return }
        guard have != nil else { return subscriptionRefused(id, refusal) }
        forget(id)
        subscribe(id)
    }

    /// - Parameter epoch: of what it was resumed with; nil if it was with nothing.
    mutating func subscribed(
        _ id: ID, _ result: Result<JSONObject, RequestError>, _ epoch: String?, _ now: Instant
    ) throws(FrameError) {
        let frame: MessagesFrame
        switch result {
        case .success(let answer): frame = try MessagesFrame(answer)
        case .failure(let error): return subscriptionFailed(id, error, now)
        }
        let continues = epoch == frame.head.epoch && !frame.isReset
        let lost = conversations[id]?.holder.subscribed(frame, resumed: epoch != nil) ?? []
        conversations[id]?.phase = .live
        conversations[id]?.backoff.reset()
        if continues { effects.tell(id, .resumed(frame)) } else { begin(id) }
        takeBack(lost, id)
        confirm(frame.messages, in: id)
        conversations[id]?.wasOpen = frame.isOpen
        setOpen(id, frame.isOpen)
        effects.tell(id, .live(true))
        settle(id)
        changesMeet(id)
        sendNext(id)
        changeNext(id)
    }

    /// Tells what is held now, which replaces what was told before.
    private mutating func begin(_ id: ID) {
        guard let holder = conversations[id]?.holder else { return }
        effects.tell(id, .began(ConversationUpdate.Snapshot(holder)))
    }

    /// Tells that values are gone that were only shown, and what stands there instead.
    private mutating func takeBack(_ lost: [Message], _ id: ID) {
        guard !lost.isEmpty, let holder = conversations[id]?.holder else { return }
        effects.tell(
            id,
            .takenBack(
                lost.map { message in
                    .init(message: message, instead: message.seq.flatMap { holder.value(at: $0) })
                }))
    }

    /// Whether a head is of another log than what is held: then the holder forgets, unasked.
    private func isOtherLog(_ head: Head, than id: ID) -> Bool {
        conversations[id]?.holder.head.map { $0.epoch != head.epoch } ?? false
    }

    private mutating func subscriptionFailed(_ id: ID, _ error: RequestError, _ now: Instant) {
        guard error.retry != .never else { return subscriptionRefused(id, error) }
        conversations[id]?.phase = .waiting
        let wait = error.after.map(Int64.init) ?? conversations[id]?.backoff.next(options.random())
        effects.set(.subscribe(id), at: now.monotonic + (wait ?? 0))
        effects.tell(id, .failed(.refused(error)))
    }

    private mutating func subscriptionRefused(_ id: ID, _ error: RequestError) {
        if error.code == .notFound || error.code == .forbidden { forget(id) }
        effects.tell(id, .failed(.refused(error)))
        end(id, Ending(error))
    }

    /// A session began: everything that is wanted is asked for again.
    mutating func resumeAll(_ now: Instant) {
        for id in conversations.keys.sorted(by: { $0.text < $1.text }) {
            tellRead(id)
            // What is subscribed to is changed when it is known whether its log is still the same.
            if conversations[id]?.phase == .waiting {
                subscribe(id)
                continue
            }
            sendNext(id)
            changeNext(id)
        }
        if listing.isWanted { listing.subscribe(&effects) }
    }

    /// The session is over: nothing is live, and nothing is under way.
    mutating func interruptAll() {
        listing.interrupt(&effects)
        for id in conversations.keys.sorted(by: { $0.text < $1.text }) {
            effects.clear(.subscribe(id))
            effects.clear(.outbox(id))
            effects.clear(.changes(id))
            effects.clear(.read(id))
            conversations[id]?.outbox.interrupt()
            conversations[id]?.queue.interrupt()
            guard let phase = conversations[id]?.phase, phase == .live || phase == .opening else {
                continue
            }
            conversations[id]?.phase = .waiting
            conversations[id]?.holder.unsubscribed()
            if phase == .live { effects.tell(id, .live(false)) }
        }
    }

    // MARK: Events

    mutating func take(_ frame: MessagesFrame, of id: ID) {
        guard conversations[id]?.phase == .live else { return }
        let isOtherLog = isOtherLog(frame.head, than: id)
        let lost = conversations[id]?.holder.event(frame) ?? []
        conversations[id]?.wasOpen = frame.isOpen
        if isOtherLog { begin(id) } else { effects.tell(id, .changed(frame)) }
        takeBack(lost, id)
        if isOtherLog { changesMeet(id) }
        confirm(frame.messages, in: id)
        setOpen(id, frame.isOpen)
        settle(id)
    }

    mutating func reset(_ id: ID) {
        guard conversations[id]?.phase == .live else { return }
        forget(id)
        subscribe(id)
    }

    private mutating func end(_ id: ID, _ ending: Ending) {
        conversations[id]?.phase = .ended
        conversations[id]?.ending = ending
        effects.tell(id, .ended(ending))
    }

    mutating func ended(_ id: ID, _ reason: UnsubscribeReason?) {
        guard conversations[id]?.phase == .live else { return }
        // A page that is still under way no longer belongs to a subscription.
        conversations[id]?.subscription += 1
        forget(id)
        let why = reason?.rawValue ?? "for a reason that this client does not know"
        let error = RequestError(.conversationNotFound, "conversation: \(why)")
        effects.tell(id, .failed(.refused(error)))
        end(id, Ending(reason, error))
    }

    mutating func forget(_ id: ID) {
        conversations[id]?.holder.forget()
        effects.tell(id, .forgotten)
        effects.act(.save(id.text))
    }

    mutating func setOpen(_ id: ID, _ isOpen: Bool) {
        guard conversations[id]?.isOpen != isOpen else { return }
        conversations[id]?.isOpen = isOpen
        effects.tell(id, .open(isOpen))
    }

    /// Has what changed stored, and lets go of what is too much.
    private mutating func settle(_ id: ID) {
        guard let kept = conversations[id]?.kept else { return }
        let dropped = conversations[id]?.holder.trim(to: options.retained, keeping: kept)
        if let dropped, !dropped.isEmpty { effects.tell(id, .dropped(dropped)) }
        effects.act(.save(id.text))
    }

    /// Says how many messages the next subscription begins with: somebody listens no more.
    package mutating func setLimit(_ limit: Int, of conversation: String) {
        conversations[conversation.id]?.limit = limit
    }

    /// Says which places somebody looks at: they are kept.
    package mutating func watch(_ places: Coverage, of conversation: String) {
        conversations[conversation.id]?.watched = places
    }

    // MARK: Pages

    /// Asks for a page of a live subscription; it comes as `ConversationUpdate.page`.
    package mutating func fetch(_ conversation: String, _ page: PageRequest, token: Int) {
        let id = conversation.id
        guard state.isLive, let known = conversations[id], known.phase == .live else {
            return effects.tell(id, .page(token, .failure(link.lost)))
        }
        let refusal = effects.send(
            "fetchMessages", RequestParams(page, of: known.id),
            .page(id, subscription: known.subscription, token: token))
        if let refusal { effects.tell(id, .page(token, .failure(.refused(refusal)))) }
    }

    mutating func takeCached(_ answer: JSONObject, _ about: SessionEffects.Pending)
        throws(FrameError)
    {
        guard case .page(let id, let subscription, let token) = about,
            conversations[id]?.subscription == subscription
        else { return }
        var frame = try MessagesFrame(answer)
        frame.isCached = true
        conversations[id]?.holder.show(frame.messages, head: frame.head)
        let holder = conversations[id]?.holder
        // The page as a whole, with what is known better: a part of it would hide what is missing.
        frame.messages = frame.messages.compactMap { message in
            guard holder?.head.map({ $0.epoch == frame.head.epoch }) ?? true else { return nil }
            return message.seq.flatMap { holder?.value(at: $0) }
        }
        effects.tell(id, .page(token, .success(frame)))
    }

    mutating func takePage(
        _ id: ID, _ subscription: Int, _ token: Int, _ result: Result<JSONObject, RequestError>
    ) throws(FrameError) {
        // A page that was asked for before the subscription was renewed is not part of the `have`
        // that it was renewed with, so changes since then would be missed.
        guard conversations[id]?.subscription == subscription else {
            return effects.tell(id, .page(token, .failure(.disconnected)))
        }
        switch result {
        case .failure(let error): effects.tell(id, .page(token, .failure(.refused(error))))
        case .success(let answer):
            let frame = try MessagesFrame(answer)
            let isOtherLog = isOtherLog(frame.head, than: id)
            conversations[id]?.holder.fetched(frame)
            conversations[id]?.noteRecent(frame.covers)
            conversations[id]?.wasOpen = frame.isOpen
            if isOtherLog { begin(id) } else { effects.tell(id, .page(token, .success(frame))) }
            setOpen(id, frame.isOpen)
            settle(id)
        }
    }
}

extension RequestParams {
    /// The params of `fetchMessages`.
    package init(_ page: PageRequest, of conversation: String) {
        self.init(conversation: conversation)
        set("before", page.before)
        set("after", page.after)
        set("around", page.around)
        set("limit", page.limit)
        set("order", page.order.rawValue)
    }
}
