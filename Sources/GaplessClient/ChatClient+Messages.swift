import ClientCore
import ClientSystem
import Wire

/// Messages: subscribing, reading, writing.
extension ChatClient {
    /// Subscribes to a conversation's messages, now and whenever a session begins, for as long as
    /// somebody holds what this returns. The first elements are what is held, if anything is, and
    /// what is not sent yet.
    /// - Parameter limit: With how many messages it begins, and how many it gets at once of what
    ///   it missed in an outage, from 1 to 1,000; of several subscriptions to one conversation the
    ///   largest counts.
    public func subscribeMessages(
        conversation: String, limit: Int = 100
    ) -> Updates<ConversationUpdate> {
        listen(
            { $0.present.presentAgain(of: conversation) },
            { $0.listen($1, to: conversation, limit: PageLimit.nearest(limit)) },
            { $0.endListening($1, to: conversation) })
    }

    /// Every message behind a place, however many were missed, and then each as it comes.
    /// - Parameter place: 0 for the beginning of the log; the `lastReadSeq` of the conversation for
    ///   what was not read.
    public func everyMessage(in conversation: String, after place: Int) -> EveryMessage {
        EveryMessage(client: self, conversation: conversation, place: place)
    }

    /// Fetches a page of messages.
    ///
    /// - Parameters:
    ///   - page: Where it lies; the latest messages if nothing is said.
    ///   - cached: Called before this returns, with what the store knows (without a connection
    ///     too), and with what the gateway's cache has, if that is not certain to be all. Each
    ///     replaces the one before, and is for display only.
    /// - Throws: `ClientError`; `disconnected` while there is no session.
    public func fetchMessages(
        conversation: String, _ page: PageRequest = PageRequest(),
        @_inheritActorContext cached: CachedHandler<MessagesFrame>? = nil
    ) async throws -> MessagesFrame {
        try await fetch(.messages(conversation, page), cached) { try MessagesFrame($0) }
    }

    /// Fetches the messages before one, or the latest.
    /// - Throws: `ClientError`.
    public func fetchMessages(
        conversation: String, beforeMessage: Message?, limit: Int = 100,
        order: PageRequest.Order = .desc,
        @_inheritActorContext cached: CachedHandler<[Message]>? = nil
    ) async throws -> [Message] {
        let page = PageRequest(
            before: beforeMessage.map(Anchor.init), limit: limit, order: order)
        return try await messages(conversation, page, cached)
    }

    /// Fetches the messages after one: the next ones, whatever the order.
    /// - Throws: `ClientError`.
    public func fetchMessages(
        conversation: String, afterMessage: Message, limit: Int = 100,
        order: PageRequest.Order = .desc,
        @_inheritActorContext cached: CachedHandler<[Message]>? = nil
    ) async throws -> [Message] {
        let page = PageRequest(after: Anchor(afterMessage), limit: limit, order: order)
        return try await messages(conversation, page, cached)
    }

    private func messages(
        _ conversation: String, _ page: PageRequest, _ cached: CachedHandler<[Message]>?
    ) async throws -> [Message] {
        let first = cached.map { cached -> CachedHandler<MessagesFrame> in
            { @Sendable page in await cached(page.messages) }
        }
        return try await fetchMessages(conversation: conversation, page, cached: first).messages
    }

    /// The ends of the runs of what the gateway has of a conversation, newest first, and its gaps.
    /// - Throws: `ClientError`.
    public func findBoundaries(
        conversation: String
    ) async throws -> (boundaries: [Boundary], gaps: [Gap], head: Head) {
        try await call("findBoundaries", RequestParams(conversation: conversation)) {
            (
                try $0.records("boundaries", Boundary.init), try $0.gaps("gaps"),
                try $0.head("head")
            )
        }
    }

    // MARK: Writing

    /// Sends a message, at once or as soon as there is a session: it is kept until it has arrived
    /// or was refused. Subscribers see it as a draft, then as the message, under one id.
    ///
    /// - Parameters:
    ///   - id: The same for the same message, so that one that was sent before is not sent again;
    ///     left out, it is a new one.
    ///   - message: The id of the message to which it replies.
    ///   - mentions: The ids of the users whom it mentions. Who does not take part is left out.
    ///   - mentionAll: Whether it mentions everybody, which may be for admins only.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func send(
        _ body: String?, to conversation: String, id: String? = nil, attachment: RawJSON? = nil,
        metadata: RawJSON? = nil, replyTo message: String? = nil, mentions: [String] = [],
        mentionAll: Bool = false
    ) -> String {
        let draft = Draft(
            id: id ?? MessageID.make(), body: body, attachment: attachment, metadata: metadata,
            replyTo: message, mentions: mentions, mentionAll: mentionAll,
            createdAt: runner.now.clock)
        runner.post { runner in
            runner.restore(conversation)
            runner.perform { session, _ in session.send(draft, to: conversation) }
        }
        return draft.id
    }

    /// The same, with the names of the objects for views.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func send(
        conversation: String, body: String?, metadata: RawJSON? = nil,
        replyTo message: String? = nil, mentions: [String] = [], mentionAll: Bool = false
    ) -> String {
        send(
            body, to: conversation, metadata: metadata, replyTo: message, mentions: mentions,
            mentionAll: mentionAll)
    }

    /// Sends a message as `send` does, and waits until it has arrived, over outages too.
    /// - Returns: The message as it is in the log.
    /// - Throws: As `delivery(of:in:)`.
    @discardableResult
    public func deliver(
        _ body: String?, to conversation: String, id: String? = nil, attachment: RawJSON? = nil,
        metadata: RawJSON? = nil, replyTo message: String? = nil, mentions: [String] = [],
        mentionAll: Bool = false
    ) async throws -> Message {
        let draft = send(
            body, to: conversation, id: id, attachment: attachment, metadata: metadata,
            replyTo: message, mentions: mentions, mentionAll: mentionAll)
        return try await delivery(of: draft, in: conversation)
    }

    /// Waits until a draft has arrived.
    /// - Returns: The message as it is in the log.
    /// - Throws: `ClientError`: `refused` where the draft failed (it stays, to be tried again or
    ///   given up) or there is none, `discarded`, or `closed`; `CancellationError`.
    @discardableResult
    public func delivery(of draft: String, in conversation: String) async throws -> Message {
        let number = PageToken.next()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                runner.post { $0.wait(for: draft, in: conversation, as: number, waiter) }
            }
        } onCancel: {
            runner.post { $0.endWaiting(number, for: draft) }
        }
        if case .failure(.closed) = result { try Task.checkCancellation() }
        return try result.get()
    }

    /// Gives a draft that failed another text, such as a shorter one, and sends it under another
    /// id, behind what was written since. It does nothing of a draft that did not fail.
    /// - Returns: The id under which it is sent.
    @discardableResult
    public func rewrite(_ draft: String, in conversation: String, body: String?) -> String {
        let id = MessageID.make()
        runner.post { runner in
            runner.perform { session, now in
                session.rewrite(draft, as: id, body: body, in: conversation, now)
            }
        }
        return id
    }

    /// Tries a draft again that failed.
    public func retry(_ draft: String, in conversation: String) {
        runner.post { $0.perform { session, _ in session.retry(draft, of: conversation) } }
    }

    /// Gives a draft up. One that is under way may still arrive.
    public func discard(_ draft: String, in conversation: String) {
        runner.post { $0.perform { session, _ in session.discard(draft, of: conversation) } }
    }

    /// What is not sent yet, oldest first.
    public func drafts(in conversation: String) async -> [Draft] {
        await runner.run { runner in
            runner.restore(conversation)
            return runner.present.drafts(of: conversation)
        }
    }

    /// Changes the text of one's own message; nil takes it away.
    /// - Parameters:
    ///   - mentions: The ids of the users whom it mentions then; nil leaves them as they are.
    ///   - mentionAll: Whether it mentions everybody then; nil leaves that as it is.
    ///   - rev: given, only if the message has this `rev` still.
    /// - Throws: `ClientError`; a `conflict` has the message as it is in `current`.
    @discardableResult
    public func edit(
        _ message: String, in conversation: String, body: String?, metadata: RawJSON? = nil,
        mentions: [String]? = nil, mentionAll: Bool? = nil, ifRev rev: Int? = nil
    ) async throws -> Message {
        var params = RequestParams(conversation: conversation)
        params.set("id", message)
        params.set("body", body.map(RawJSON.init(string:)) ?? .null)
        params.set("metadata", metadata)
        params.set("mentions", mentions)
        params.set("mentionAll", mentionAll)
        params.set("ifRev", rev)
        return try await change("editMessage", params, conversation)
    }

    /// Deletes a message: one's own, or as an admin any. It stays as a tombstone.
    /// - Parameter rev: given, only if the message has this `rev` still.
    /// - Throws: `ClientError`; a `conflict` has the message as it is in `current`.
    @discardableResult
    public func delete(
        _ message: String, in conversation: String, ifRev rev: Int? = nil
    ) async throws -> Message {
        var params = RequestParams(conversation: conversation)
        params.set("id", message)
        params.set("ifRev", rev)
        return try await change("deleteMessage", params, conversation)
    }

    /// Reacts to a message, or takes that back.
    /// - Parameters:
    ///   - key: what to react with, 1 to 64 bytes.
    ///   - isOn: whether the reaction begins or ends.
    ///   - user: whose reaction an admin takes back; nil for one's own.
    /// - Returns: The message, and the keys with which one reacts to it now, oldest first.
    /// - Throws: `ClientError`: `conflict` for a deleted message, `too_large` beyond a limit,
    ///   `forbidden` where clients may not react.
    @discardableResult
    public func react(
        _ key: String, to message: String, in conversation: String, isOn: Bool = true,
        of user: String? = nil
    ) async throws -> (message: Message, own: [String]) {
        var params = RequestParams(conversation: conversation)
        params.set("id", message)
        params.set("key", key)
        params.set("on", isOn)
        params.set("user", user)
        let answer = try await call("react", params) { answer in
            (
                try JSONObject.record(answer.object("message"), Message.init),
                answer["own"]?.array?.compactMap(\.string) ?? []
            )
        }
        runner.post { $0.perform { session, _ in session.show([answer.0], in: conversation) } }
        return answer
    }

    /// Fetches who reacts to a message, oldest first.
    /// - Parameters:
    ///   - key: nil for all.
    ///   - limit: at most so many, 1 to 1,000.
    ///   - cursor: `next` of the page before.
    /// - Throws: `ClientError`.
    public func fetchReactions(
        to message: String, in conversation: String, key: String? = nil, limit: Int = 100,
        cursor: String? = nil
    ) async throws -> ReactionsResponse {
        var params = RequestParams(conversation: conversation)
        params.set("id", message)
        params.set("key", key)
        params.set("limit", PageLimit.nearest(limit))
        params.set("cursor", cursor)
        return try await call("fetchReactions", params) { try ReactionsResponse($0) }
    }

    /// Fetches with which keys one reacts to messages: needed where a message counts users of a key
    /// whom it does not name.
    /// - Parameters:
    ///   - after: a seq, exclusive.
    ///   - before: a seq, exclusive, at most 1,000 places further.
    /// - Returns: The keys by seq, oldest first.
    /// - Throws: `ClientError`.
    public func fetchOwnReactions(
        in conversation: String, after: Int, before: Int
    ) async throws -> [Int: [String]] {
        var params = RequestParams(conversation: conversation)
        params.set("after", after)
        params.set("before", before)
        return try await call("fetchOwnReactions", params) { answer in
            var own: [Int: [String]] = [:]
            for entry in answer["own"]?.array ?? [] {
                guard let entry = entry.object, let seq = entry["seq"]?.int else { continue }
                own[seq] = entry["keys"]?.array?.compactMap(\.string) ?? []
            }
            return own
        }
    }

    /// Fetches where others mention one, or all, oldest first.
    /// - Parameters:
    ///   - after: a seq, exclusive; the `lastReadSeq` of the conversation for what is unread.
    ///   - limit: at most so many, 1 to 1,000.
    /// - Throws: `ClientError`.
    public func fetchMentions(
        in conversation: String, after: Int = 0, limit: Int = 100
    ) async throws -> MentionsResponse {
        var params = RequestParams(conversation: conversation)
        params.set("after", after)
        params.set("limit", PageLimit.nearest(limit))
        return try await call("fetchMentions", params) { try MentionsResponse($0) }
    }

    private func change(
        _ method: String, _ params: RequestParams, _ conversation: String
    ) async throws -> Message {
        let message = try await call(method, params) { answer in
            try JSONObject.record(answer.object("message"), Message.init)
        }
        runner.post { $0.perform { session, _ in session.show([message], in: conversation) } }
        return message
    }

    /// Says that everything up to a place was read. The marker never moves back.
    /// - Returns: Where the marker stands, how many messages above it are unread, and how many of
    ///   these mention one.
    /// - Throws: `ClientError`.
    @discardableResult
    public func markRead(
        conversation: String, upTo seq: Int
    ) async throws -> (lastReadSeq: Int, unreadCount: Int, unreadMentions: Int) {
        var params = RequestParams(conversation: conversation)
        params.set("seq", seq)
        let read = try await call("markRead", params) {
            (
                try $0.integer("lastReadSeq"), try $0.integer("unreadCount"),
                $0["unreadMentions"]?.int ?? 0
            )
        }
        runner.post { runner in
            runner.perform { session, _ in
                session.marked(conversation, upTo: read.0, unread: read.1, mentions: read.2)
            }
        }
        return read
    }

    /// Tells the others that one types, or has stopped. Say `begin` again every few seconds.
    /// - Throws: `ClientError`.
    public func typing(conversation: String, _ state: TypingState) async throws {
        var params = RequestParams(conversation: conversation)
        params.set("state", state.rawValue)
        try await call("typing", params) { _ in }
    }
}

/// How many messages may be asked for at once.
enum PageLimit {
    /// What the gateway takes that is nearest to what an app said: it refuses all else.
    static func nearest(_ limit: Int) -> Int { min(max(limit, 1), 1_000) }
}

extension Anchor {
    /// The place of a message, or where it has none, its id.
    init(_ message: Message) { self = message.seq.map(Anchor.seq) ?? .id(message.id) }
}

/// Ids for messages: in the order of time, so that stores keep them well, and never the same.
enum MessageID {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")

    /// 48 bits of milliseconds and 80 random ones, in 26 digits (a ULID).
    static func make() -> String {
        var text = ""
        let time = UInt64(max(0, SystemClock.now().clock.milliseconds))
        for shift in stride(from: 45, through: 0, by: -5) {
            text.append(digits[Int(time >> UInt64(shift)) & 31])
        }
        for _ in 0..<16 { text.append(digits[Int.random(in: 0..<32)]) }
        return text
    }
}
