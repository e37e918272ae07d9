import Chat
import JSON
import Wire

/// A question to the store of the cache. Each is answered from one moment (one read transaction),
/// and an answer about one conversation has the log's `head` at that moment, so that the engine can
/// relate it to later changes.
package enum Query: Sendable, Hashable {
    /// The record, head and last message of a conversation.
    case load(conversation: String)
    /// A page of messages. `around` and ids are resolved at the same moment.
    case page(conversation: String, PageRequest)
    /// What a holder is missing: see `CatchUp`. `bytes` is the limit for the answer, from which the
    /// store works out, by `Resume`, where the holder's runs will end.
    case catchUp(conversation: String, have: Have, limit: Int, bytes: Int)
    /// A conversation as replies show it, with the user's own fields if the user takes part.
    case view(conversation: String, user: String)
    /// The ids of the messages at these seqs, as far as there are messages.
    case ids(conversation: String, places: [Int])
    /// A user's conversations, latest activity first; `cursor` is an earlier answer's `next`. With
    /// `unread`, unread messages are counted too, over the whole list.
    case conversations(user: String, limit: Int, cursor: String?, unread: Bool = false)
    /// The changes in a user's list since `token`.
    case conversationsSince(user: String, token: String?, limit: Int, unread: Bool = false)
    case participants(conversation: String, ParticipantsRequest)
    /// The heads of all conversations in a user's list, and the user's reading state of each.
    case listed(user: String)
    /// The seq of the message with this id.
    case place(conversation: String, id: String)
    /// Whether the log has this mark at this rev, as far as the store saw that itself.
    case confirm(conversation: String, Head)
}

extension Query {
    /// Whether the answer takes long. Each run of a holder is looked up and has two ends: this many
    /// take about as long as a page, a thousand some milliseconds. Unread counts look up each
    /// conversation of the user. A page of a thousand messages takes as long as the requests of a
    /// hundred other clients.
    package var isLong: Bool {
        switch self {
        case .page(_, let request):
            request.limit > (request.around == nil ? Self.manyRows : Self.manyRows / 2)
        case .participants(_, let request): request.limit <= 0 || request.limit > Self.manyRows
        case .catchUp(_, let have, _, _): have.runs.runs.count > 50
        case .ids(_, let places): places.count > 100
        case .conversations(_, let limit, _, let unread),
            .conversationsSince(_, _, let limit, let unread):
            unread || limit > Self.manyRows
        case .listed: true
        case .load, .view, .place, .confirm: false
        }
    }

    /// Reading these takes about as long as a turn has for all its reads.
    private static let manyRows = 200
}

/// The answer to a `Query`.
package enum Answer: Sendable {
    case loaded(Loaded)
    case page(Page)
    case catchUp(CatchUp)
    case view(ConversationView)
    case ids([Int: String])
    case conversations(ConversationList)
    case conversationsSince(ConversationChanges)
    case participants(ParticipantList)
    case listed(ListedHeads)
    /// nil if it is not there.
    case place(Int?)
    /// nil if the store does not know.
    case confirmation(Bool?)
}

/// A conversation as the store has it.
package struct Loaded: Sendable, Hashable {
    package var record: Record
    package var head: Head
    package var lastMessage: EncodedMessage?
    /// The coverage of it, if the store is the cache of another origin.
    package var cached: Cached?

    package init(
        record: Record, head: Head, lastMessage: EncodedMessage?, cached: Cached? = nil
    ) {
        self.record = record
        self.head = head
        self.lastMessage = lastMessage
        self.cached = cached
    }
}

/// One page of messages, in the order that was asked for.
package struct Page: Sendable, Hashable {
    package var messages: [EncodedMessage]
    /// Whether the conversation has messages beyond the older / newer end of the page (for an empty
    /// page: beyond the anchor on that side).
    package var hasMoreBefore: Bool
    package var hasMoreAfter: Bool
    /// The head of the log at the moment of reading.
    package var head: Head

    /// The message at this place, if the page has it.
    /// - Complexity: O(log n).
    package func message(at seq: Int) -> EncodedMessage? {
        let isAscending = (messages.first?.seq ?? 0) < (messages.last?.seq ?? 0)
        var rest = messages.indices
        while !rest.isEmpty {
            let middle = rest.lowerBound + rest.count / 2
            let found = messages[middle].seq
            if found == seq { return messages[middle] }
            rest =
                (found < seq) == isAscending
                ? middle + 1..<rest.upperBound
                : rest.lowerBound..<middle
        }
        return nil
    }

    package init(messages: [EncodedMessage], hasMoreBefore: Bool, hasMoreAfter: Bool, head: Head) {
        self.messages = messages
        self.hasMoreBefore = hasMoreBefore
        self.hasMoreAfter = hasMoreAfter
        self.head = head
    }
}

/// What a holder is missing: first the changes above its `asOf` inside its runs, then the messages
/// above its highest run, each newest first.
package struct CatchUp: Sendable, Equatable {
    /// Whether the log still has the holder's (epoch, rev, mark). If not, `tail` has the latest
    /// `limit` messages, and nothing else is read.
    package var isConfirmed: Bool
    /// Messages inside the runs that changed above `asOf`, highest rev first, at most `limit`.
    package var changed: [EncodedMessage]
    /// Seqs inside the runs that changed above `asOf` and are not in `changed`. A superset if
    /// counting them all would cost too much.
    package var outdated: Coverage
    /// Messages above the highest run (0 if there is none), newest first, at most what `limit`
    /// leaves after `changed`.
    package var tail: [EncodedMessage]
    /// The head of the log at the moment of reading.
    package var head: Head
    /// The ids of the messages at the ends of what the holder then holds (`Resume.held`), unless
    /// they are in `changed` or `tail`.
    package private(set) var ids: [Int: String]
    /// The resume if everything is known up to `head`; set by `placesToIdentify`.
    private var plan: Resume?

    package init(
        isConfirmed: Bool, changed: [EncodedMessage] = [], outdated: Coverage = Coverage(),
        tail: [EncodedMessage] = [], head: Head, ids: [Int: String] = [:]
    ) {
        self.isConfirmed = isConfirmed
        self.changed = changed
        self.outdated = outdated
        self.tail = tail
        self.head = head
        self.ids = ids
    }

    /// `plan` is ignored: it follows from the rest.
    package static func == (one: CatchUp, other: CatchUp) -> Bool {
        (one.isConfirmed, one.changed, one.outdated, one.tail, one.head, one.ids)
            == (
                other.isConfirmed, other.changed, other.outdated, other.tail, other.head, other.ids
            )
    }

    /// The resume that follows from what was read.
    /// - Parameters:
    ///   - position: what the stream knows.
    ///   - bytes: what the messages may take together.
    package func resume(_ have: Have, position: StreamPosition, bytes: Int) -> Resume {
        guard isConfirmed else {
            return Resume(
                latest: tail, position: position, bytes: bytes, isReset: true,
                limit: max(1, tail.count))
        }
        if let plan, position.knowsAll(upTo: head) { return plan.found(at: position.now) }
        return Resume(have: have, read: self, position: position, bytes: bytes)
    }

    /// The resume if everything is known up to `head`.
    package func resume(_ have: Have, bytes: Int, at now: Timestamp) -> Resume {
        resume(have, position: StreamPosition(head: head, asOf: head.rev, now: now), bytes: bytes)
    }

    /// The seqs whose ids `identify` needs, ascending. Finding them means computing the resume,
    /// which is kept: with a thousand runs that should not be done twice.
    package mutating func placesToIdentify(_ have: Have, bytes: Int) -> [Int] {
        plan = nil
        let resume = resume(have, bytes: bytes, at: Timestamp(milliseconds: 0))
        if isConfirmed { plan = resume }
        var places: [Int] = []
        places.reserveCapacity(2 * resume.held.runs.count)
        for run in resume.held.runs {
            places.append(run.low)
            if run.high > run.low { places.append(run.high) }
        }
        // Messages that the holder has above this head were never seen here.
        places.removeAll { $0 > head.seq }
        // A set of all messages costs more than to look for the ends of the usual one run in them.
        if places.count <= 4 {
            let known = [changed, tail]
            places.removeAll { place in
                known.contains { $0.contains { $0.seq == place } }
            }
        } else {
            let known = Set(changed.map(\.seq)).union(tail.map(\.seq))
            places.removeAll { known.contains($0) }
        }
        return places
    }

    /// Takes the ids of the messages at `placesToIdentify`. With many runs the boundaries are the
    /// longest part of the answer. They are encoded here, on the thread that reads, to save the
    /// loop that work.
    package mutating func identify(_ ids: [Int: String]) {
        self.ids = ids
        guard let plan else { return }
        var json = JSONWriter(capacity: 128 * plan.held.runs.count)
        json.boundaries(of: plan, ids)
        self.plan?.boundaries = json.bytes
    }
}

/// A page of a user's list of conversations.
package struct ConversationList: Sendable, Hashable {
    package var conversations: [ConversationView]
    /// The cursor of the next page; nil at the end.
    package var next: String?
    package var total: Int
    /// Of the whole list, if it was counted.
    package var unread: UnreadTotal?

    package init(
        conversations: [ConversationView], next: String?, total: Int, unread: UnreadTotal? = nil
    ) {
        self.conversations = conversations
        self.next = next
        self.total = total
        self.unread = unread
    }
}

/// The changes in a user's list of conversations.
package struct ConversationChanges: Sendable, Hashable {
    package var conversations: [ConversationView]
    /// Ids of conversations that left the list.
    package var removed: [String]
    package var total: Int
    /// The token for the next question.
    package var token: String
    /// False if the token was absent, unknown or too old: then `conversations` is the beginning of
    /// the present list.
    package var complete: Bool
    /// Of the whole list, if it was counted.
    package var unread: UnreadTotal?
    /// The heads of all conversations in the list, from an origin elsewhere.
    package var heads: [ID: Head]

    package init(
        conversations: [ConversationView], removed: [String], total: Int, token: String,
        complete: Bool, unread: UnreadTotal? = nil, heads: [ID: Head] = [:]
    ) {
        self.unread = unread
        self.heads = heads
        self.conversations = conversations
        self.removed = removed
        self.total = total
        self.token = token
        self.complete = complete
    }
}

/// The heads of the conversations in a user's list.
package struct ListedHeads: Sendable, Hashable {
    package var heads: [ID: Head]
    /// The user's reading state of each, at the same moment.
    package var readers: [ID: ReaderState]
    /// The times of their last activity in milliseconds, from an origin elsewhere.
    package var activity: [ID: Int64]
    /// The matching position in the log of departures; nil if it is unknown.
    package var place: ListPlace?

    package init(
        heads: [ID: Head], readers: [ID: ReaderState], activity: [ID: Int64] = [:],
        place: ListPlace? = nil
    ) {
        self.heads = heads
        self.readers = readers
        self.activity = activity
        self.place = place
    }
}

/// Participants as JSON objects of `protocol.md` 6, in the requested order.
package struct ParticipantList: Sendable, Hashable {
    package var participants: [[UInt8]]
    package var total: Int

    package init(participants: [[UInt8]], total: Int) {
        self.participants = participants
        self.total = total
    }

    /// The ids of those in it.
    package var users: [String] {
        participants.compactMap { (try? RawJSON($0))?.object?["id"]?.string }
    }
}
