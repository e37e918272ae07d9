import JSON

/// A conversation as `protocol.md` 6 writes it: its record, what happened in it last, and, in
/// replies, the caller's own reading of it.
///
/// A plain value with three parts that grow old separately. The *record* (title, participants,
/// admins, metadata) has the number `rev`; the *activity* (`lastMessage`) is as of `head`; the
/// *reader's part* (`unreadCount`, `lastReadSeq`) is one user's own and never in events. Merging
/// keeps the newest of each. Fields that this library does not know are kept, with the record.
///
/// It has more properties than a type of this house should, because the protocol's object has them
/// side by side.
public struct Conversation: Sendable, Hashable, Identifiable {
    /// Which conversation it is.
    public var id: String
    /// The title, if it has one.
    public var title: String?
    /// The ids of those who take part, in the order in which they joined; nil where the object
    /// does not list them (events, and above 100 of them): fetch the participants instead.
    public var participants: [String]?
    /// How many take part.
    public var participantCount: Int?
    /// The ids of those who may change the record.
    public var admins: [String]
    /// The application's own object; `{}` if there is none.
    public var metadata: RawJSON
    /// When it was created; nil only in the bare object of a removal.
    public var createdAt: Timestamp?
    /// When the record last changed; nil only in the bare object of a removal.
    public var updatedAt: Timestamp?
    /// The number of the change that gave the record its value; nil where the origin has none.
    public var rev: Int?
    /// The newest message that is not deleted, if any.
    public var lastMessage: Message?
    /// The newest change of its log, as of which `lastMessage` is.
    public var head: Head?
    /// How many undeleted messages of others lie above `lastReadSeq`.
    public var unreadCount: Int?
    /// The place up to which the caller has read, from 0.
    public var lastReadSeq: Int?
    /// Whether it was removed and is kept only so that older news of it is known to be old. Set by
    /// merging; not part of the JSON.
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

    /// The latest thing that is known to have happened in it: its last message or a change of its
    /// record. Lists stand in this order, latest first.
    public var activityAt: Timestamp? {
        [lastMessage?.createdAt, updatedAt ?? createdAt].compactMap { $0 }.max()
    }

    /// The number of the newest change that this value knows of.
    var newestRev: Int? {
        [rev, head?.rev].compactMap { $0 }.max()
    }

    /// What is kept of a removed conversation: its id and the number of the newest change.
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
        /// Changes when the log was recreated, restored or rewound: then nothing compares.
        public var epoch: String
        /// The highest place given, 0 in an empty conversation.
        public var seq: Int
        /// The number of the newest change.
        public var rev: Int
        /// What this log alone has at `rev`.
        public var mark: String
        /// The oldest place that the origin still has, from 1.
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
