import Chat
import JSON
import Ports
import Wire

/// The results of the methods, as `protocol.md` 3 writes them.
extension JSONWriter {
    package mutating func emptyObject() {
        beginObject()
        endObject()
    }

    /// Whether the log lacks what the caller holds.
    mutating func reset(_ isReset: Bool) {
        if isReset { member("reset", bool: true) }
    }

    /// The result of `subscribeMessages`.
    /// - Parameter ids: of the messages at the ends of the held runs, unless a delta has them.
    mutating func resume(
        _ resume: Resume, _ position: StreamPosition, _ record: Record, _ ids: [Int: String]
    ) {
        beginObject()
        reset(resume.isReset)
        key("deltas")
        deltas(resume.deltas)
        key("covers")
        coverage(resume.covers)
        key("gaps")
        gaps(resume.gaps)
        member("asOf", int: resume.asOf)
        key("head")
        head(position.head)
        if position.isOpen { member("open", bool: true) }
        key("boundaries")
        if let text = resume.boundaries { raw(text) } else { boundaries(of: resume, ids) }
        key("conversation")
        self.record(record, isEvent: false)
        endObject()
    }

    /// The result of `fetchMessages`.
    /// - Parameters:
    ///   - reachesBelow: whether the asked range begins below the floor.
    ///   - isReset: whether the log lacks what the caller must not miss.
    package mutating func page(
        _ page: Page, _ position: StreamPosition, reachesBelow: Bool = false, isReset: Bool = false
    ) {
        let covers = page.covers.intersection(position.held ?? page.covers)
        var ids: [Int: String] = [:]
        for end in covers.runs.flatMap({ [$0.low, $0.high] }) {
            ids[end] = page.message(at: end)?.id
        }
        beginObject()
        reset(isReset)
        key("messages")
        beginArray()
        for message in page.messages { raw(message.json) }
        endArray()
        key("hasMore")
        hasMore(page)
        key("covers")
        coverage(covers)
        key("gaps")
        let trimmed = reachesBelow ? Coverage.closed(1, position.head.floor - 1) : Coverage()
        gaps(
            position.gaps(trimmed, .trimmed)
                + position.gaps(page.covers.subtracting(covers), .upstream))
        member("asOf", int: position.asOf)
        key("head")
        head(position.head)
        if position.isOpen { member("open", bool: true) }
        key("boundaries")
        boundaries(covers, ids)
        endObject()
    }

    package mutating func hasMore(_ page: Page) {
        beginObject()
        member("before", bool: page.hasMoreBefore)
        member("after", bool: page.hasMoreAfter)
        endObject()
    }

    /// The result of `fetchConversations`.
    /// - Parameter unread: the unread totals, if the connection asked for them.
    package mutating func conversations(
        _ list: ConversationList, _ unread: UnreadTotal? = nil, isOpen: Bool = false
    ) {
        beginObject()
        key("conversations")
        views(list.conversations)
        if let next = list.next { member("next", string: next) }
        member("total", int: list.total)
        if let unread { member("unreadTotal", unread) }
        open(isOpen)
        endObject()
    }

    /// The result of `subscribeConversations`.
    mutating func conversations(
        _ changes: ConversationChanges, _ unread: UnreadTotal?, isOpen: Bool = false
    ) {
        beginObject()
        key("conversations")
        views(changes.conversations)
        key("removed")
        beginArray()
        for id in changes.removed { string(id) }
        endArray()
        member("total", int: changes.total)
        member("token", string: changes.token)
        member("complete", bool: changes.complete)
        if let unread { member("unreadTotal", unread) }
        open(isOpen)
        endObject()
    }

    private mutating func member(_ name: String, _ unread: UnreadTotal) {
        key(name)
        beginObject()
        member("messages", int: unread.messages)
        member("conversations", int: unread.conversations)
        member("mentions", int: unread.mentions)
        endObject()
    }

    private mutating func views(_ views: [ConversationView]) {
        beginArray()
        for view in views { self.view(view) }
        endArray()
    }

    /// A conversation in a reply.
    package mutating func view(_ view: ConversationView) {
        conversation(
            view.record, lastMessage: view.lastMessage, head: view.head, reader: view.reader,
            isEvent: false)
    }

    /// The result of `fetchParticipants`.
    package mutating func participants(
        _ list: ParticipantList, _ range: ParticipantsRequest, isOpen: Bool = false,
        isReset: Bool = false
    ) {
        beginObject()
        reset(isReset)
        key("participants")
        beginArray()
        for participant in list.participants { raw(participant) }
        endArray()
        member("total", int: list.total)
        member("limit", int: range.limit)
        member("offset", int: range.limit <= 0 ? 0 : range.offset)
        open(isOpen)
        endObject()
    }

    /// The result of `fetchReactions`.
    mutating func reactions(_ list: ReactionList) {
        beginObject()
        key("reactions")
        beginArray()
        for entry in list.entries {
            beginObject()
            member("user", string: entry.user)
            member("key", string: entry.key)
            member("at", string: entry.at.description)
            endObject()
        }
        endArray()
        member("total", int: list.total)
        if list.hasMore, let last = list.entries.last { member("next", string: String(last.rev)) }
        endObject()
    }

    /// The result of `fetchOwnReactions`.
    mutating func own(_ reactions: [OwnReactions]) {
        beginObject()
        key("own")
        beginArray()
        for own in reactions {
            beginObject()
            member("seq", int: own.seq)
            member("keys", strings: own.keys)
            endObject()
        }
        endArray()
        endObject()
    }

    /// The result of `fetchMentions`.
    mutating func mentions(_ list: MentionList) {
        beginObject()
        key("places")
        beginArray()
        for place in list.places {
            beginObject()
            member("id", string: place.id)
            member("seq", int: place.seq)
            endObject()
        }
        endArray()
        member("total", int: list.total)
        endObject()
    }

    /// The result of a method that writes.
    mutating func outcome(_ outcome: Outcome, of request: Request) {
        beginObject()
        switch outcome {
        case .messages(let messages, let written, _):
            key("message")
            if let message = messages.first { raw(message.json) } else { null() }
            key("head")
            head(written.head)
        case .reacted(let message, let own, let written):
            key("message")
            raw(message.json)
            member("own", strings: own)
            key("head")
            head(written.head)
        case .conversation(let view, _):
            key("conversation")
            self.view(view)
        case .read(let reader):
            member("lastReadSeq", int: reader.lastReadSeq)
            member("unreadCount", int: reader.unreadCount)
            member("unreadMentions", int: reader.unreadMentions)
        case .removed, .done:
            break
        }
        endObject()
    }
}
