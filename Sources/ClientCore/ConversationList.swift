import Chat
import Wire

/// Something that changed in the list of the user's conversations.
public enum ConversationsUpdate: Sendable {
    /// The whole list was read, latest activity first: it replaces what was there.
    case all([Conversation])
    /// These changes came; the list, latest activity first, has them already, with the reader's own
    /// counts.
    case changed([ConversationDelta], [Conversation])
    /// Whether the gateway has doubts of its own about the list.
    case open(Bool)
    /// Whether there are more conversations behind those in the list: `loadMoreConversations` reads
    /// on.
    case hasMore(Bool)
    /// The list can't be had now.
    case failed(ClientError)
}

/// The conversations of the user, as far as they are known. Events carry no field of the user's
/// own, so unread messages are counted here from them; where an event can't tell (an edit, a
/// deletion, several at once), the gateway is asked, and what it says counts.
package struct ConversationList: Sendable {
    /// How many conversations one answer holds.
    static let page = 100
    /// So many are walked without being asked, unless somebody wants the whole list.
    static let walkLimit = 300

    /// How a list is walked that one answer does not hold.
    struct Walk: Sendable {
        /// Where it goes on; nil at the beginning.
        var cursor: String?
        /// A page is asked for.
        var isUnderWay = false
    }

    /// Somebody watches it.
    var isWanted = false
    /// Somebody wants all of it, however long it is.
    var isWhole = false
    /// Nil when the list was walked to its end.
    var walk: Walk?
    /// Whether there are more conversations behind those that are known.
    package var hasMore: Bool { walk != nil }
    /// Whether the next page is asked for by itself.
    var walksOn: Bool { isWhole || !unmet.isEmpty || records.count < Self.walkLimit }
    /// Whether an answer came, so that an empty list is an empty list.
    package internal(set) var isLoaded = false
    /// Whether the gateway has doubts of its own about the list.
    package internal(set) var isOpen = false
    /// What the subscription is resumed with.
    package internal(set) var token: String?
    var backoff = Backoff()
    /// Why it was refused for good.
    var refusal: ClientError?
    private(set) var records: [ID: Conversation] = [:]
    /// Known before a walk began, and not met on it yet.
    private var unmet: Set<ID> = []
    /// What was known at the token's answer of conversations that were shown otherwise since. The
    /// origin may lose what was shown since, and still confirm the token.
    package private(set) var atToken: [ID: AtToken] = [:]

    /// A conversation at the token's answer.
    package struct AtToken: Sendable {
        /// Nil if it was not known.
        package var conversation: Conversation?
        /// A walk that had begun had not met it.
        var isUnmet = false

        package init(_ conversation: Conversation?, isUnmet: Bool = false) {
            self.conversation = conversation
            self.isUnmet = isUnmet
        }
    }
    /// Those whose counts are to be asked for.
    var doubtful: Set<ID> = []
    /// Those of which the gateway told a count that no event of the list followed.
    private var counted: Set<ID> = []

    package init() {}

    /// What a store has kept.
    package init(
        token: String?, _ conversations: [Conversation], atToken: [ID: AtToken] = [:]
    ) {
        self.token = token
        self.atToken = atToken
        for conversation in conversations { records[conversation.id.id] = conversation }
        isLoaded = token != nil || !conversations.isEmpty
    }

    /// The list, latest activity first.
    package var conversations: [Conversation] {
        merge(conversations: Array(records.values), toList: [])
    }

    /// What is known of a conversation.
    package func record(_ conversation: String) -> Conversation? { records[conversation.id] }

    /// Takes an answer's word for a conversation.
    mutating func put(_ conversation: Conversation) { show(conversation, conversation.id.id) }

    /// Shows a conversation otherwise than at the token's answer.
    /// - Parameter conversation: nil if it is not in the list.
    private mutating func show(_ conversation: Conversation?, _ id: ID) {
        let isUnmet = unmet.remove(id) != nil
        if atToken[id] == nil { atToken[id] = AtToken(records[id], isUnmet: isUnmet) }
        records[id] = conversation
    }

    /// Takes the answer that the new token stands for.
    /// - Parameter isComplete: It has all that changed since the token before.
    mutating func take(
        _ token: String?, _ conversations: [Conversation], removed: [String], isComplete: Bool
    ) {
        if isComplete { goBack() } else { beginWalk() }
        for conversation in conversations { put(conversation) }
        for id in removed { show(nil, id.id) }
        atToken = [:]
        self.token = token
    }

    /// Takes a page of a walk, which counts as of the token.
    mutating func take(page conversations: [Conversation]) {
        for conversation in conversations {
            put(conversation)
            atToken[conversation.id.id] = nil
        }
    }

    /// What was shown since the token's answer counts no more.
    private mutating func goBack() {
        for (id, known) in atToken {
            records[id] = known.conversation
            if known.isUnmet { unmet.insert(id) }
        }
        atToken = [:]
    }

    /// An answer that is the top of the list only: what it does not name is unknown until a walk
    /// met it or ended.
    private mutating func beginWalk() {
        unmet = Set(records.keys)
        walk = Walk()
    }

    mutating func endWalk() {
        for id in unmet { records[id] = nil }
        unmet = []
        walk = nil
    }

    mutating func markRead(
        _ conversation: String, upTo seq: Int, unread: Int?, mentions: Int? = nil
    ) {
        let id = conversation.id
        guard var record = records[id] else { return }
        let known = record.lastReadSeq ?? 0
        guard seq > known || unread != nil else { return }
        record.lastReadSeq = max(seq, known)
        if let unread {
            record.unreadCount = unread
            record.unreadMentions = unread == 0 ? 0 : mentions ?? record.unreadMentions
        } else if let head = record.head, seq >= head.seq {
            record.unreadCount = 0
            record.unreadMentions = 0
        } else {
            doubtful.insert(id)
        }
        // A walk that has not met it goes on looking for it.
        let isUnmet = unmet.contains(id)
        show(record, id)
        if isUnmet { unmet.insert(id) }
    }

    /// Takes what the gateway told of one conversation.
    /// - Returns: whether it differs from what was known.
    mutating func take(_ part: UnreadSum.Part, of id: ID) -> Bool {
        guard var record = records[id], part.lastReadSeq >= record.lastReadSeq ?? 0 else {
            return false
        }
        let before = record
        record.lastReadSeq = part.lastReadSeq
        record.unreadCount = part.messages
        record.unreadMentions = part.mentions
        doubtful.remove(id)
        guard record != before else { return false }
        counted.insert(id)
        let isUnmet = unmet.contains(id)
        show(record, id)
        if isUnmet { unmet.insert(id) }
        return true
    }

    /// Takes a change of an event, and counts what is new in it.
    mutating func apply(_ delta: ConversationDelta, user: String?) {
        var record = delta.conversation
        let id = record.id.id
        if delta.type == .deleted { return show(nil, id) }
        let known = records[id]
        if let known, known.head?.epoch == record.head?.epoch,
            known.head?.rev ?? 0 > record.head?.rev ?? 0
        {
            return
        }
        let isNewLog = known?.head.map { $0.epoch != record.head?.epoch } ?? false
        let arrived = (record.head?.seq ?? 0) - (known?.head?.seq ?? 0)
        let changes = (record.head?.rev ?? 0) - (known?.head?.rev ?? 0)
        let wasCounted = counted.remove(id) != nil
        var unread = known?.unreadCount ?? 0
        var lastRead = known?.lastReadSeq ?? 0
        if let last = record.lastMessage, let seq = last.seq, seq == record.head?.seq,
            user.map(last.author.isSameID) ?? false
        {
            // To write is to have read.
            unread = 0
            lastRead = max(lastRead, seq)
        } else if wasCounted, known != nil, !isNewLog {
            // What the gateway told may count this already.
            doubtful.insert(id)
        } else if known != nil, !isNewLog, arrived == 1, changes == 1 {
            unread += 1
        } else if known == nil || isNewLog || changes > 0 {
            unread = max(0, unread + arrived)
            if arrived > 0 || unread > 0 { doubtful.insert(id) }
        }
        record.unreadCount = unread
        // Nobody counts mentions from such events.
        record.unreadMentions = unread == 0 ? 0 : known?.unreadMentions
        record.lastReadSeq = lastRead
        // Events never list the participants; the same record still has those that a reply gave.
        if record.participants == nil, known?.rev == record.rev, !isNewLog {
            record.participants = known?.participants
        }
        put(record)
    }
}
