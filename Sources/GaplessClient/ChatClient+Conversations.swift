import ClientCore
import JSON
import Wire

/// A page of the list of conversations.
public struct ConversationsPage: Sendable {
    /// The conversations, latest activity first.
    public var conversations: [Conversation]
    /// What the next page is asked for with; nil at the end.
    public var next: String?
    /// How many conversations the user has.
    public var total: Int

    init(_ object: JSONObject) throws {
        conversations = try object.records("conversations", Conversation.init)
        next = object["next"]?.string
        total = try object.integer("total")
    }
}

/// What a handler is told beside the changes of the list of conversations.
public struct ConversationsNews: Sendable {
    /// The whole list, latest activity first.
    public internal(set) var list: [Conversation] = []
    /// Why the list was refused for good: then this was the last call.
    public internal(set) var ending: Ending?

    /// - Returns: The changes; nil if there is nothing to be told.
    mutating func take(_ update: ConversationsUpdate) -> [ConversationDelta]? {
        switch update {
        case .all(let list):
            self.list = list
            return []
        case .changed(let deltas, let list):
            self.list = list
            return deltas
        case .failed(.refused(let error)) where error.retry == .never:
            ending = Ending(error)
            return []
        case .open, .hasMore, .failed: return nil
        }
    }
}

/// What is asked for by `fetchParticipants`.
public struct ParticipantsOptions: Sendable, Hashable {
    /// How many to leave out at the beginning; ignored where `limit` is not above 0.
    public var offset = 0
    /// How many at most; 0 or less for all.
    public var limit = 0
    /// `desc`: who joined last comes first.
    public var order = PageRequest.Order.desc
    /// Only `created_at`.
    public var orderBy = "created_at"

    /// All participants, who joined last first.
    public init() {}
}

/// The answer of `fetchParticipants`.
public struct ParticipantsResponse: Sendable {
    /// The participants.
    public var participants: [Participant]
    /// How many there are in all.
    public var total: Int
    /// How many were asked for.
    public var limit: Int
    /// How many were left out at the beginning.
    public var offset: Int

    init(_ object: JSONObject) throws {
        participants = try object.records("participants", Participant.init)
        total = try object.integer("total")
        limit = try object.integer("limit")
        offset = try object.integer("offset")
    }
}

/// Conversations: the list, one of them, who takes part, and changing them.
extension ChatClient {
    /// Subscribes to the list of the user's conversations, now and whenever a session begins, for
    /// as long as somebody holds what this returns.
    /// - Parameter isWhole: The list is read to its end, however long it is. If not, the newest 300
    ///   are read; then `hasMore` says whether there are more, and `loadMoreConversations` goes on.
    public func subscribeConversations(isWhole: Bool = true) -> Updates<ConversationsUpdate> {
        listen(
            { $0.present.presentList }, { $0.listenToList($1, isWhole: isWhole) },
            { $0.endListeningToList($1) })
    }

    /// Reads the next 100 of a list that was not subscribed to as a whole; they come as an update
    /// `all`. It does nothing while a page is being read, without a session, or at the end.
    public func loadMoreConversations() {
        runner.post { $0.perform { session, _ in session.loadMoreOfList() } }
    }

    /// Subscribes to the list, and has a handler called with its changes, one call after the other.
    /// Where the list was read as a whole, there are no deltas, only the list of the news.
    /// - Returns: The subscription; cancel it to end it.
    @discardableResult
    public func subscribeConversations(
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (
                _ conversationDeltas: [ConversationDelta], _ news: ConversationsNews
            ) async -> Void
    ) -> Task<Void, Never> {
        let updates = subscribeConversations()
        return Task {
            var news = ConversationsNews()
            for await update in updates {
                if let deltas = news.take(update) { await handler(deltas, news) }
            }
        }
    }

    /// Fetches a page of the list of conversations.
    /// - Parameters:
    ///   - cursor: `next` of the page before; nil for the first.
    ///   - cached: Called before this returns, with what the store knows (without a connection
    ///     too) and with what the gateway's cache has.
    /// - Throws: `ClientError`; `disconnected` while there is no session.
    public func fetchConversations(
        limit: Int = 100, cursor: String? = nil,
        @_inheritActorContext cached: CachedHandler<ConversationsPage>? = nil
    ) async throws -> ConversationsPage {
        try await fetch(.conversations(limit: limit, cursor: cursor), cached) {
            try ConversationsPage($0)
        }
    }

    /// The same, each answer as it comes: perhaps some from caches, then the one that counts.
    public func conversations(
        limit: Int = 100, cursor: String? = nil
    ) -> AsyncThrowingStream<Phase<ConversationsPage>, any Error> {
        phases(.conversations(limit: limit, cursor: cursor)) { try ConversationsPage($0) }
    }

    /// Fetches one conversation.
    /// - Throws: `ClientError`.
    public func fetchConversation(
        _ conversation: String, @_inheritActorContext cached: CachedHandler<Conversation>? = nil
    ) async throws -> Conversation {
        try await fetch(.conversation(conversation), cached) { try Self.conversation($0) }
    }

    /// The same, each answer as it comes: perhaps some from caches, then the one that counts.
    public func conversation(
        _ conversation: String
    ) -> AsyncThrowingStream<Phase<Conversation>, any Error> {
        phases(.conversation(conversation)) { try Self.conversation($0) }
    }

    /// Each answer to `fetchMessages` as it comes: perhaps one from the cache, then the one that
    /// counts.
    public func messages(
        conversation: String, _ page: PageRequest = PageRequest()
    ) -> AsyncThrowingStream<Phase<MessagesFrame>, any Error> {
        phases(.messages(conversation, page)) { try MessagesFrame($0) }
    }

    /// Fetches who takes part in a conversation.
    /// - Throws: `ClientError`.
    public func fetchParticipants(
        conversationID: String, options: ParticipantsOptions = ParticipantsOptions(),
        @_inheritActorContext cached: CachedHandler<ParticipantsResponse>? = nil
    ) async throws -> ParticipantsResponse {
        try await fetch(.participants(conversationID, options), cached) {
            try ParticipantsResponse($0)
        }
    }

    /// The same, each answer as it comes: perhaps some from caches, then the one that counts.
    public func participants(
        conversationID: String, options: ParticipantsOptions = ParticipantsOptions()
    ) -> AsyncThrowingStream<Phase<ParticipantsResponse>, any Error> {
        phases(.participants(conversationID, options)) { try ParticipantsResponse($0) }
    }

    // MARK: Changing

    /// Creates a conversation; the caller takes part and is admin.
    /// - Parameter isDistinct: One of the same people that exists is given instead.
    /// - Throws: `ClientError`.
    public func createConversation(
        id: String? = nil, title: String? = nil, participants: [String],
        metadata: RawJSON? = nil, isDistinct: Bool = false
    ) async throws -> Conversation {
        var params = RequestParams()
        params.set("id", id)
        params.set("title", title)
        params.set("participants", participants)
        params.set("metadata", metadata)
        params.set("distinct", isDistinct)
        return try await call("createConversation", params) { try Self.conversation($0) }
    }

    /// Changes the title or the metadata of a conversation; nil leaves it as it is.
    /// - Parameter rev: given, only if the conversation has this `rev` still.
    /// - Throws: `ClientError`; a `conflict` has the conversation as it is in `current`.
    @discardableResult
    public func updateConversation(
        _ conversation: String, title: String? = nil, metadata: RawJSON? = nil,
        ifRev rev: Int? = nil
    ) async throws -> Conversation {
        var params = RequestParams(conversation: conversation)
        params.set("title", title)
        params.set("metadata", metadata)
        params.set("ifRev", rev)
        return try await call("updateConversation", params) { try Self.conversation($0) }
    }

    /// Who takes part in a conversation, or is admin of it, and how that is changed.
    public enum MembersChange: String, Sendable {
        /// Lets users take part.
        case addParticipants
        /// Lets users take part no more.
        case removeParticipants
        /// Makes users admins.
        case addAdmins
        /// Makes users admins no more.
        case removeAdmins
    }

    /// Changes who takes part in a conversation, or is admin of it.
    /// - Throws: `ClientError`.
    @discardableResult
    public func changeMembers(
        of conversation: String, _ change: MembersChange, users: [String]
    ) async throws -> Conversation {
        var params = RequestParams(conversation: conversation)
        params.set("users", users)
        return try await call(change.rawValue, params) { try Self.conversation($0) }
    }

    /// Takes part in a conversation no more.
    /// - Throws: `ClientError`.
    public func leaveConversation(_ conversation: String) async throws {
        try await call("leaveConversation", RequestParams(conversation: conversation)) { _ in }
    }

    /// Deletes a conversation for all.
    /// - Throws: `ClientError`.
    public func deleteConversation(_ conversation: String) async throws {
        try await call("deleteConversation", RequestParams(conversation: conversation)) { _ in }
    }

    private static func conversation(_ answer: JSONObject) throws -> Conversation {
        try JSONObject.record(answer.object("conversation"), Conversation.init)
    }
}

extension ChatClient: FeedLink {
    func follow(
        _ conversation: String, limit: Int,
        _ take: @escaping @MainActor (ConversationUpdate) -> Void
    ) -> any Following {
        LiveFollowing(self, conversation, limit, take)
    }
}
