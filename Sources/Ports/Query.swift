import Chat
import JSON
import Wire

/// A question to the store that holds the cache. Each is answered from one moment (one read
/// transaction), and an answer about one conversation names the `head` of its log at that moment,
/// so that the engine can lay over it what was decided since.
package enum Query: Sendable, Hashable {
    /// The record, head and last message of a conversation.
    case load(conversation: String)
    /// One page of messages. `around` and ids are resolved in the same moment.
    case page(conversation: String, PageRequest)
    /// What a holder lacks: see `CatchUp`. `bytes` is what its answer may take; the store needs it
    /// to know, by `Resume`, at which places the runs of the holder will end.
    case catchUp(conversation: String, have: Have, limit: Int, bytes: Int)
    /// A conversation as a reply shows it, with the user's own fields if the user takes part.
    case view(conversation: String, user: String)
    /// The ids of the messages at these places; places that hold none are left out.
    case ids(conversation: String, places: [Int])
    /// A user's conversations, latest activity first; `cursor` is an earlier answer's `next`. With
    /// `unread` what the user has not read is counted too, over the whole list.
    case conversations(user: String, limit: Int, cursor: String?, unread: Bool = false)
    /// What changed in a user's list since `token`.
    case conversationsSince(user: String, token: String?, limit: Int, unread: Bool = false)
    case participants(conversation: String, ParticipantsRequest)
    /// Where all conversations of a user's list stand, and how the user reads them.
    case listed(user: String)
    /// Where the message with this id is.
    case place(conversation: String, id: String)
    /// Whether the log has this mark at this rev, as far as the store saw it itself.
    case confirm(conversation: String, Head)
}

extension Query {
    /// Whether the answer takes long: each run of a holder is looked up, and has two ends. With as
    /// many as this it takes about what a page does, and with a thousand some milliseconds. So it
    /// is with what is unread: each conversation of the user is looked up. And a page of a thousand
    /// messages takes as long as what a hundred others ask for.
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

    /// Reading them takes about as long as a turn has for all its reads.
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
    /// nil if the store can't tell.
    case confirmation(Bool?)
}

/// A conversation as the store has it.
package struct Loaded: Sendable, Hashable {
    package var record: Record
    package var head: Head
    package var lastMessage: EncodedMessage?
    /// What is held of it, where the store is the cache of another origin.
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
    /// Does the conversation hold messages beyond the older / newer end of the page (of an empty
    /// page: beyond the anchor on that side)?
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

/// What a holder lacks: first the changes above its `asOf` inside its runs, then what lies above
/// its highest run, each newest first.
package struct CatchUp: Sendable, Equatable {
    /// Whether the log still has the holder's (epoch, rev, mark). If not, nothing else is read but
    /// the latest `limit` messages, in `tail`.
    package var isConfirmed: Bool
    /// Messages inside the runs that changed above `asOf`, highest rev first, at most `limit`.
    package var changed: [EncodedMessage]
    /// Places inside the runs that changed above `asOf` beyond those in `changed`. A superset where
    /// counting them all would cost too much.
    package var outdated: Coverage
    /// Messages above the highest run (0 if there is none), newest first, at most what `limit`
    /// leaves after `changed`.
    package var tail: [EncodedMessage]
    /// The head of the log at the moment of reading.
    package var head: Head
    /// The ids of the messages at the ends of what the holder then holds (`Resume.held`), as far as
    /// they are in neither `changed` nor `tail`.
    package private(set) var ids: [Int: String]
    /// What the holder is told where all is known up to `head`, since `placesToIdentify`.
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

    /// The plan follows from the rest.
    package static func == (one: CatchUp, other: CatchUp) -> Bool {
        (one.isConfirmed, one.changed, one.outdated, one.tail, one.head, one.ids)
            == (
                other.isConfirmed, other.changed, other.outdated, other.tail, other.head, other.ids
            )
    }

    /// What the holder is told, given what was read.
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

    /// What the holder is told where everything is known up to `head`.
    package func resume(_ have: Have, bytes: Int, at now: Timestamp) -> Resume {
        resume(have, position: StreamPosition(head: head, asOf: head.rev, now: now), bytes: bytes)
    }

    /// The places whose ids `identify` must be told, ascending. To know them is to know what the
    /// holder is told, which is kept for `resume`: with a thousand runs that is not worked out
    /// twice.
    package mutating func placesToIdentify(_ have: Have, bytes: Int) -> [Int] {
        plan = nil
        let resume = resume(have, bytes: bytes, at: Timestamp(milliseconds: 0))
        if isConfirmed { plan = resume }
        let known = Set(changed.map(\.seq)).union(tail.map(\.seq))
        var places: [Int] = []
        places.reserveCapacity(2 * resume.held.runs.count)
        for run in resume.held.runs {
            if !known.contains(run.low) { places.append(run.low) }
            if run.high > run.low, !known.contains(run.high) { places.append(run.high) }
        }
        // What the holder has above this head was never seen here.
        places.removeAll { $0 > head.seq }
        return places
    }

    /// The ids of the messages at `placesToIdentify`. They make the longest part of what a holder
    /// of many runs is told, which is written here, where the question is answered: the loop need
    /// not.
    package mutating func identify(_ ids: [Int: String]) {
        self.ids = ids
        guard let plan else { return }
        var json = JSONWriter(capacity: 128 * plan.held.runs.count)
        json.boundaries(of: plan, ids)
        self.plan?.boundaries = json.bytes
    }
}

/// A part of a user's list of conversations.
package struct ConversationList: Sendable, Hashable {
    package var conversations: [ConversationView]
    /// The cursor of what follows, nil at the end.
    package var next: String?
    package var total: Int
    /// Of the whole list, where it was counted.
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

/// What changed in a user's list of conversations.
package struct ConversationChanges: Sendable, Hashable {
    package var conversations: [ConversationView]
    /// Ids of conversations that are not the user's any more.
    package var removed: [String]
    package var total: Int
    /// What to ask with the next time.
    package var token: String
    /// False where the token was absent, unknown or too old: then `conversations` is the beginning
    /// of the list as it is.
    package var complete: Bool
    /// Of the whole list, where it was counted.
    package var unread: UnreadTotal?
    /// Where all conversations of the list stand, from an origin elsewhere.
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

/// Where the conversations of a user's list stand.
package struct ListedHeads: Sendable, Hashable {
    package var heads: [ID: Head]
    /// How the user reads them, at the same moment.
    package var readers: [ID: ReaderState]
    /// When they were active last, from an origin elsewhere, in milliseconds.
    package var activity: [ID: Int64]
    /// Up to where the log of the list's departures is known with them; nil where that can't be
    /// told.
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

/// Participants as JSON objects of `protocol.md` 6, in the order asked for.
package struct ParticipantList: Sendable, Hashable {
    package var participants: [[UInt8]]
    package var total: Int

    package init(participants: [[UInt8]], total: Int) {
        self.participants = participants
        self.total = total
    }
}
