import Chat
import JSON

/// A message as the gateway handles it: the few fields that decide, and the whole object as the
/// JSON text that is stored and sent. The code that makes the change encodes the text once; pages,
/// events and the server API all carry the same bytes.
package struct EncodedMessage: Sendable, Hashable {
    package var seq: Int
    package var rev: Int
    package var id: String
    package var author: String
    package var isDeleted: Bool
    package var createdAt: Timestamp
    /// The rev of the last change that was no reaction; nil if nobody ever reacted. What a message
    /// without it has under the names of reactions was stored by an earlier version.
    package var contentRev: Int?
    /// Which of these fields it has; what it has under their names beside was stored by an earlier
    /// version, and means nothing.
    package var address: Address
    /// The message object of `protocol.md` 6, UTF-8, no white space around it.
    package var json: [UInt8]

    package init(
        seq: Int, rev: Int, id: String, author: String, isDeleted: Bool, createdAt: Timestamp,
        contentRev: Int? = nil, address: Address = [], json: [UInt8]
    ) {
        self.seq = seq
        self.rev = rev
        self.id = id
        self.author = author
        self.isDeleted = isDeleted
        self.createdAt = createdAt
        self.contentRev = contentRev
        self.address = address
        self.json = json
    }

    /// The fields that say to what a message replies and whom it mentions.
    package struct Address: OptionSet, Sendable, Hashable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let replyTo = Address(rawValue: 1)
        package static let mentions = Address(rawValue: 2)
        package static let mentionAll = Address(rawValue: 4)

        /// The name of each.
        package static let names: [(field: Address, name: String)] = [
            (.replyTo, "replyTo"), (.mentions, "mentions"), (.mentionAll, "mentionAll"),
        ]

        /// Those that a message has.
        package init(_ reply: Reply?, _ mentions: [String], all isToAll: Bool) {
            self = []
            if reply != nil { insert(.replyTo) }
            if !mentions.isEmpty { insert(.mentions) }
            if isToAll { insert(.mentionAll) }
        }

        /// The names of the fields in it.
        package var names: [String] {
            isEmpty ? [] : Self.names.filter { contains($0.field) }.map(\.name)
        }
    }
}

/// Slot 0 of a conversation: its record, without per-user fields.
package struct Record: Sendable, Hashable {
    package var id: String
    package var title: String?
    /// The participants in the order in which they joined; empty if there are more than a reply
    /// lists, and then `unnamed` counts them. So the size of a reply does not grow with their
    /// number.
    package var participants: [String]
    /// The number of participants that are not listed.
    package var unnamed = 0
    package var admins: [String]
    package var metadata: RawJSON
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// The number of the change that gave the record its present value.
    package var rev: Int
    /// Fields that the gateway does not know, passed on unchanged.
    package var unknown: [JSONMember]

    package init(
        id: String, title: String?, participants: [String], admins: [String], metadata: RawJSON,
        createdAt: Timestamp, updatedAt: Timestamp, rev: Int, unknown: [JSONMember]
    ) {
        self.id = id
        self.title = title
        self.participants = participants
        self.admins = admins
        self.metadata = metadata
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.rev = rev
        self.unknown = unknown
    }

    /// The number of participants.
    package var participantCount: Int { participants.count + unnamed }

    /// Whether the participants are listed.
    package var namesEverybody: Bool { unnamed == 0 }

    /// The record as a reply or an event shows it: with the participants, if they are few.
    package var brief: Record {
        guard participants.count > Self.listedParticipants else { return self }
        var brief = self
        brief.unnamed = participantCount
        brief.participants = []
        return brief
    }
}

/// How a change of a message reached its sender: `protocol.md` 5.
package enum Via: String, Sendable, Hashable, CaseIterable {
    case live, fill, replay, cache
}

/// The type of a change of a message.
package enum DeltaType: String, Sendable, Hashable, CaseIterable {
    case inserted, updated, deleted
}

/// One change of a message, on its way to the subscribers.
package struct EncodedDelta: Sendable, Hashable {
    package var type: DeltaType
    package var via: Via
    package var message: EncodedMessage

    package init(_ type: DeltaType, _ via: Via, _ message: EncodedMessage) {
        self.type = type
        self.via = via
        self.message = message
    }
}

/// A user's unread totals over all conversations of their list.
package struct UnreadTotal: Sendable, Hashable {
    /// The unread messages of others, counted as in `unreadCount`.
    package var messages: Int
    /// The conversations with at least one unread message.
    package var conversations: Int
    /// The unread messages that mention the user, counted as in `unreadMentions`.
    package var mentions: Int

    package init(messages: Int, conversations: Int, mentions: Int = 0) {
        self.messages = messages
        self.conversations = conversations
        self.mentions = mentions
    }

    package init(_ readers: some Sequence<ReaderState>) {
        self.init(messages: 0, conversations: 0)
        for reader in readers { add(reader) }
    }

    /// Adds the unread messages of one conversation.
    package mutating func add(_ reader: ReaderState) {
        guard reader.unreadCount > 0 else { return }
        messages += reader.unreadCount
        conversations += 1
        mentions += reader.unreadMentions
    }

    /// Removes what was added.
    package mutating func remove(_ reader: ReaderState) {
        guard reader.unreadCount > 0 else { return }
        messages -= reader.unreadCount
        conversations -= 1
        mentions -= reader.unreadMentions
    }
}

/// The per-user fields of a conversation, in replies only.
package struct ReaderState: Sendable, Hashable {
    package var lastReadSeq: Int
    package var unreadCount: Int
    /// Those of the unread messages that mention the user and came after the user had joined.
    package var unreadMentions: Int

    package init(lastReadSeq: Int, unreadCount: Int, unreadMentions: Int = 0) {
        self.lastReadSeq = lastReadSeq
        self.unreadCount = unreadCount
        self.unreadMentions = unreadMentions
    }
}
