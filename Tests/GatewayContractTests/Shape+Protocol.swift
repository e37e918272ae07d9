import TestSupport

/// The objects, results and events of `protocol.md`, field by field.
extension Shape {
    // MARK: Words and objects (1 and 6)

    static let head = Shape([
        "epoch": .string, "seq": .integer(from: 0), "rev": .integer(from: 1), "mark": .string,
        "floor": .integer(from: 1),
    ])

    static let gap = Shape([
        "after": .integer(from: 0), "before": .integer(from: 2),
        "missing": .orNull(.integer(from: 1)),
        "cause": .word(["upstream", "cache", "slow", "limit", "cold", "trimmed"]),
        "since": .moment,
    ])

    static let boundary = Shape([
        "newest": .shape(Shape(["id": .id, "seq": .integer(from: 1)])),
        "oldest": .shape(Shape(["id": .id, "seq": .integer(from: 1)])),
    ])

    static let message = Shape(
        [
            "id": .id, "conversation": .id, "seq": .integer(from: 1), "rev": .integer(from: 1),
            "author": .id, "body": .orNull(.string), "attachment": .any, "metadata": .object,
            "createdAt": .moment, "editedAt": .orNull(.moment), "deleted": .exactly(false),
        ],
        optional: [
            "replyTo": .shape(Shape(["id": .id], optional: ["seq": .integer(from: 1)])),
            "mentions": .array(.id), "mentionAll": .exactly(true),
            "reactions": .array(.shape(reaction)), "contentRev": .integer(from: 1),
        ])

    static let reaction = Shape([
        "key": .string, "count": .integer(from: 1), "users": .array(.id),
    ])

    static let tombstone = message.without(
        "body", "attachment", "metadata", "replyTo", "mentions", "mentionAll", "reactions",
        "contentRev"
    )
    .with(["deleted": .exactly(true)])

    /// Slot 0 of a conversation of at most 100.
    static let record = Shape([
        "id": .id, "title": .orNull(.string), "participants": .array(.id),
        "participantCount": .integer(from: 0), "admins": .array(.id), "metadata": .object,
        "createdAt": .moment, "updatedAt": .moment, "rev": .integer(from: 1),
    ])

    /// As the server API shows it, which asks for nobody.
    static let plainConversation = record.with([
        "lastMessage": .orNull(.shape(message)), "head": .shape(head),
    ])

    /// As a reply shows it to one who takes part.
    static let conversation = plainConversation.with([
        "unreadCount": .integer(from: 0), "lastReadSeq": .integer(from: 0),
        "unreadMentions": .integer(from: 0),
    ])

    static let participant = Shape(
        [
            "id": .id, "lastReadSeq": .integer(from: 0), "joinedSeq": .integer(from: 0),
            "createdAt": .moment, "updatedAt": .moment, "metadata": .object,
        ], optional: ["name": .string])

    static let error = Shape(
        [
            "code": .word([
                "bad_request", "unknown_method", "unauthorized", "forbidden", "not_found",
                "conflict", "too_large", "rate_limited", "origin_unavailable", "internal",
            ]), "reason": .string, "message": .string, "retry": .word(["never", "later", "now"]),
        ], optional: ["after": .integer(from: 0)])

    // MARK: Results (3)

    static let welcome = Shape([
        "session": .string, "user": .id,
        "server": .shape(Shape(["name": .string, "version": .string, "commit": .string])),
        "pingInterval": .number, "limits": .object,
        "upstream": .shape(
            Shape(["state": .word(["online", "syncing", "offline"]), "since": .moment])),
    ])

    static let subscription = Shape(
        [
            "deltas": .array(.shape(delta)), "covers": .coverage, "gaps": .array(.shape(gap)),
            "asOf": .integer(from: 1), "head": .shape(head),
            "boundaries": .array(.shape(boundary)), "conversation": .shape(record),
        ], optional: ["open": .exactly(true), "reset": .exactly(true)])

    static let page = Shape(
        [
            "messages": .array(.shape(anyMessage)), "hasMore": .shape(hasMore),
            "covers": .coverage, "gaps": .array(.shape(gap)), "asOf": .integer(from: 1),
            "head": .shape(head), "boundaries": .array(.shape(boundary)),
        ], optional: ["open": .exactly(true), "reset": .exactly(true)])

    static let hasMore = Shape(["before": .bool, "after": .bool])

    static let conversationList = Shape(
        ["conversations": .array(.shape(conversation)), "total": .integer(from: 0)],
        optional: ["next": .string])

    static let unreadTotal = Shape([
        "messages": .integer(from: 0), "conversations": .integer(from: 0),
        "mentions": .integer(from: 0),
    ])

    static let unread = unreadTotal.with(
        [
            "event": .exactly("unread"),
            "of": .array(.shape(readState.with(["conversation": .id]))),
        ], optional: ["open": .exactly(true)])

    static let conversationChanges = Shape(
        [
            "conversations": .array(.shape(conversation)), "removed": .array(.id),
            "total": .integer(from: 0), "token": .string, "complete": .bool,
        ], optional: ["open": .exactly(true)])

    static let participantList = Shape([
        "participants": .array(.shape(participant)), "total": .integer(from: 0),
        "limit": .integer(from: .min), "offset": .integer(from: 0),
    ])

    static let boundaries = Shape([
        "boundaries": .array(.shape(boundary)), "gaps": .array(.shape(gap)), "head": .shape(head),
    ])

    static let readState = Shape([
        "lastReadSeq": .integer(from: 0), "unreadCount": .integer(from: 0),
        "unreadMentions": .integer(from: 0),
    ])

    // MARK: Events (5)

    /// A message or a tombstone.
    static let anyMessage = tombstone.with(
        ["deleted": .bool], optional: ["body": .any, "attachment": .any, "metadata": .object])

    static let delta = Shape([
        "type": .word(["inserted", "updated", "deleted"]),
        "via": .word(["live", "fill", "replay", "cache"]), "message": .shape(anyMessage),
    ])

    /// A part of a conversation's stream.
    private static func stream(_ name: String, _ more: [String: Kind]) -> Shape {
        Shape(
            [
                "event": .exactly(.string(name)), "prev": .integer(from: 0),
                "asOf": .integer(from: 1), "head": .shape(head),
            ], optional: ["open": .exactly(true)]
        ).with(more)
    }

    static let messagesEvent = stream(
        "messages",
        ["conversation": .id, "deltas": .array(.shape(delta)), "covers": .coverage])
    static let gapEvent = stream("gap", ["conversation": .id, "gaps": .array(.shape(gap))])
    static let conversationEvent = stream(
        "conversation", ["conversation": .shape(record.without("participants"))])

    static let unsubscribedEvent = Shape([
        "event": .exactly("unsubscribed"), "conversation": .id,
        "reason": .word(["removed", "deleted", "forbidden"]),
    ])
    static let readEvent = Shape([
        "event": .exactly("read"), "conversation": .id, "user": .id, "seq": .integer(from: 0),
    ])
    static let typingEvent = Shape([
        "event": .exactly("typing"), "conversation": .id, "user": .id,
        "state": .word(["begin", "pause", "finished"]), "at": .moment,
    ])
    static let goawayEvent = Shape([
        "event": .exactly("goaway"), "reconnectIn": .integer(from: 0), "reason": .string,
    ])

    /// To those who watch their list of conversations.
    static let listEvent = Shape([
        "event": .exactly("conversations"),
        "deltas": .array(
            .shape(
                Shape([
                    "type": .word(["inserted", "updated"]),
                    "conversation": .shape(plainConversation.without("participants")),
                ]))),
    ])

    /// To one who was removed, or whose conversation was deleted.
    static func removalEvent(of conversation: String) -> Shape {
        Shape([
            "event": .exactly("conversations"),
            "deltas": .exactly([
                ["type": "deleted", "conversation": ["id": .string(conversation)]]
            ]),
        ])
    }
}
