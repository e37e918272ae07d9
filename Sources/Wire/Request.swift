import Chat
import JSON

/// The place in a conversation from which a page is requested.
public enum Anchor: Sendable, Hashable {
    case seq(Int)
    case id(String)
    /// The place just before the first message that is not older than the moment.
    case time(Timestamp)
}

/// A request for a page of messages: `protocol.md` 3.
public struct PageRequest: Sendable, Hashable {
    /// Newest or oldest first.
    public enum Order: String, Sendable, Hashable, CaseIterable { case desc, asc }
    /// The page ends before this place.
    public var before: Anchor?
    /// The page begins after this place.
    public var after: Anchor?
    /// The page has this place in its middle.
    public var around: Anchor?
    /// The number of messages, from 1 to 1,000; with `around`, on each side.
    public var limit: Int
    /// The order of the answer, whatever the direction.
    public var order: Order

    /// A page; without an anchor, the latest messages.
    public init(
        before: Anchor? = nil, after: Anchor? = nil, around: Anchor? = nil, limit: Int = 100,
        order: Order = .desc
    ) {
        self.before = before
        self.after = after
        self.around = around
        self.limit = limit
        self.order = order
    }
}

/// What an author writes.
package struct MessageContent: Sendable, Hashable {
    package var id: String?
    package var body: String?
    package var attachment: RawJSON?
    package var metadata: RawJSON?
    /// The message to which it replies. The log finds its place.
    package var replyTo: Reply?
    /// The users whom it mentions, each once. In a log, those who took part.
    package var mentions: [String]
    /// Whether it mentions everybody.
    package var mentionAll: Bool
    package var unknownFields: UnknownFields

    package init(
        id: String? = nil, body: String? = nil, attachment: RawJSON? = nil,
        metadata: RawJSON? = nil, replyTo: Reply? = nil, mentions: [String] = [],
        mentionAll: Bool = false, unknown: [JSONMember] = []
    ) {
        self.id = id
        self.body = body
        self.attachment = attachment
        self.metadata = metadata
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionAll = mentionAll
        unknownFields = UnknownFields(unknown)
    }

    /// The unknown fields, built.
    package var unknown: [JSONMember] { unknownFields.members }

    /// Whom it mentions.
    package var mentioned: Mentioned { Mentioned(users: mentions, all: mentionAll) }

    /// Whether it has a field that an earlier version would lose.
    package var isAddressed: Bool { replyTo != nil || !mentioned.isEmpty }
}

/// The fields that an edit changes; nil leaves a field as it is. (`body: null` removes the body.)
package struct MessageEdit: Sendable, Hashable {
    package var body: String??
    package var metadata: RawJSON?
    /// The users whom the message mentions then, each once.
    package var mentions: [String]?
    package var mentionAll: Bool?
    /// Whether, if the message is to mention everybody, only an admin may edit it so, where there
    /// are any.
    package var asksAdmin = false
    package var unknownFields: UnknownFields
    /// A precondition: the message has this `rev`, or only reactions came after it.
    package var ifRev: Int?

    package init(
        body: String?? = nil, metadata: RawJSON? = nil, mentions: [String]? = nil,
        mentionAll: Bool? = nil, unknown: [JSONMember] = [], ifRev: Int? = nil
    ) {
        self.body = body
        self.metadata = metadata
        self.mentions = mentions
        self.mentionAll = mentionAll
        unknownFields = UnknownFields(unknown)
        self.ifRev = ifRev
    }

    /// Whether it sets a field that an earlier version would lose.
    package var isAddressed: Bool { mentions != nil || mentionAll != nil }
}

/// The record's fields that a call sets; nil leaves a field as it is.
package struct ConversationFields: Sendable, Hashable {
    package var title: String??
    package var metadata: RawJSON?
    package var participants: [String]?
    package var admins: [String]?
    package var unknownFields: UnknownFields
    /// A precondition: slot 0 has this `rev`.
    package var ifRev: Int?

    package init(
        title: String?? = nil, metadata: RawJSON? = nil, participants: [String]? = nil,
        admins: [String]? = nil, unknown: [JSONMember] = [], ifRev: Int? = nil
    ) {
        self.title = title
        self.metadata = metadata
        self.participants = participants
        self.admins = admins
        unknownFields = UnknownFields(unknown)
        self.ifRev = ifRev
    }
}

/// A request for participants; `limit <= 0` means all and ignores `offset`.
package struct ParticipantsRequest: Sendable, Hashable {
    package var limit: Int
    package var offset: Int
    package var order: PageRequest.Order

    package init(limit: Int = 0, offset: Int = 0, order: PageRequest.Order = .desc) {
        self.limit = limit
        self.offset = offset
        self.order = order
    }
}

/// A request for the reactions to one message, oldest first.
package struct ReactionsRequest: Sendable, Hashable {
    /// The key; nil for all.
    package var key: String?
    package var limit: Int
    /// The rev of the last reaction of the page before; 0 for the first page.
    package var after: Int

    package init(key: String? = nil, limit: Int = 100, after: Int = 0) {
        self.key = key
        self.limit = limit
        self.after = after
    }
}

/// A user's typing state.
public enum TypingState: String, Sendable, Hashable, CaseIterable { case begin, pause, finished }

/// One method call of a client, with checked params: `protocol.md` 3.
package enum Request: Sendable, Hashable {
    /// `unread`: whether the connection gets the user's unread totals. `trace`: its `traceparent`.
    case connect(
        token: String?, user: String?, client: String?, unread: Bool = false,
        presence: ConnectionPresence = .present, trace: String? = nil)
    case refresh(token: String)
    case subscribeMessages(conversation: String, have: Have?, limit: Int)
    case unsubscribeMessages(conversation: String)
    case subscribeConversations(since: String?, limit: Int)
    case unsubscribeConversations
    case fetchConversations(limit: Int, cursor: String?)
    case fetchConversation(String)
    case fetchMessages(conversation: String, PageRequest)
    case fetchParticipants(conversation: String, ParticipantsRequest)
    case findBoundaries(conversation: String, have: Have?)
    case sendMessage(conversation: String, MessageContent)
    case editMessage(conversation: String, id: String, MessageEdit)
    case deleteMessage(conversation: String, id: String, ifRev: Int? = nil)
    /// `user`: whose reaction an admin takes back; nil: one's own.
    case react(conversation: String, id: String, key: String, on: Bool, user: String? = nil)
    case fetchReactions(conversation: String, id: String, ReactionsRequest)
    case fetchOwnReactions(conversation: String, after: Int, before: Int)
    case fetchMentions(conversation: String, after: Int, limit: Int)
    case createConversation(id: String?, ConversationFields, distinct: Bool)
    case updateConversation(conversation: String, ConversationFields)
    case addParticipants(conversation: String, users: [String])
    case removeParticipants(conversation: String, users: [String])
    case addAdmins(conversation: String, users: [String])
    case removeAdmins(conversation: String, users: [String])
    case deleteConversation(String)
    case leaveConversation(String)
    case markRead(conversation: String, seq: Int)
    case typing(conversation: String, TypingState)
    case setPresence(ConnectionPresence)
    case watchPresence([PresenceWatch])
}
