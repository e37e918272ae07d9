import JSON

/// A conversation as in `protocol.md` 6: its record, its latest activity and, in replies, the
/// caller's own read state.
///
/// A plain value with three parts that age separately. The *record* (title, participants, admins,
/// metadata) has the number `rev`; the *activity* (`lastMessage`) is as of `head`; the *reader's
/// part* (`unreadCount`, `unreadMentions`, `lastReadSeq`) belongs to one user and is never in
/// events. Merging keeps the newest of each. Unknown fields are kept with the record.
public struct Conversation: Sendable, Hashable, Identifiable {
    /// The conversation's id.
    public var id: String
    /// The title, if it has one.
    public var title: String?
    /// The ids of the participants, in the order in which they joined; nil where the object does
    /// not list them (events, and above 100 participants): use `fetchParticipants` instead.
    public var participants: [String]?
    /// The number of participants.
    public var participantCount: Int?
    /// The ids of those who may change the record.
    public var admins: [String]
    /// The application's own object; `{}` if there is none.
    public var metadata: RawJSON
    /// When it was created; nil only in the bare object of a removal.
    public var createdAt: Timestamp?
    /// When the record last changed; nil only in the bare object of a removal.
    public var updatedAt: Timestamp?
    /// The number of the change that gave the record its value; nil if the origin has no revs.
    public var rev: Int?
    /// The newest message that is not deleted.
    public var lastMessage: Message?
    /// The newest change of its log; `lastMessage` is as of this change.
    public var head: Head?
    /// How many messages of others, not deleted, lie above `lastReadSeq`.
    public var unreadCount: Int?
    /// How many of those mention the caller, or all, since the caller joined.
    public var unreadMentions: Int?
    /// The seq up to which the caller has read; 0 for nothing.
    public var lastReadSeq: Int?
    /// Whether the conversation was removed. It is then kept as a tombstone, so that older changes
    /// that arrive late are recognized as old. Set by merging; not part of the JSON.
    public private(set) var isDeleted = false
    /// The fields that this library does not know.
    public var unknown: [JSONMember]

    /// A conversation of which only the id is known.
    public init(id: String) {
        self.init(id: id, createdAt: nil, updatedAt: nil)
    }

    /// A conversation's record; set the other parts where they are known.
    public init(
        id: String, title: String? = nil, participants: [String]? = nil, admins: [String] = [],
        metadata: RawJSON = .emptyObject, createdAt: Timestamp?, updatedAt: Timestamp?,
        rev: Int? = nil, unknown: [JSONMember] = []
    ) {
        self.id = id
        self.title = title
        self.participants = participants
        self.participantCount = participants?.count
        self.admins = admins
        self.metadata = metadata
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.rev = rev
        self.unknown = unknown
    }

    /// The time of the latest known activity: the last message or a change of the record. Lists
    /// have the latest first.
    public var activityAt: Timestamp? {
        [lastMessage?.createdAt, updatedAt ?? createdAt].compactMap { $0 }.max()
    }

    /// The number of the newest change that this value knows of.
    var newestRev: Int? {
        [rev, head?.rev].compactMap { $0 }.max()
    }

    /// The tombstone of a removed conversation: its id, its times and the number of its newest
    /// change.
    var tombstone: Conversation {
        var conversation = Conversation(id: id, createdAt: createdAt, updatedAt: updatedAt)
        conversation.rev = rev
        conversation.head = head
        conversation.isDeleted = true
        return conversation
    }
}

extension Conversation {
    /// The newest change of a conversation's log: `protocol.md` 1.
    public struct Head: Sendable, Hashable {
        /// Changes when the log was recreated, restored or rewound; then no values compare.
        public var epoch: String
        /// The highest seq given; 0 in an empty conversation.
        public var seq: Int
        /// The number of the newest change.
        public var rev: Int
        /// An opaque mark that this log alone has at `rev`.
        public var mark: String
        /// The oldest seq that the origin still has, from 1.
        public var floor: Int
        /// The fields that this library does not know.
        public var unknown: [JSONMember]

        /// A head.
        public init(
            epoch: String, seq: Int, rev: Int, mark: String, floor: Int = 1,
            unknown: [JSONMember] = []
        ) {
            self.epoch = epoch
            self.seq = seq
            self.rev = rev
            self.mark = mark
            self.floor = floor
            self.unknown = unknown
        }
    }
}
