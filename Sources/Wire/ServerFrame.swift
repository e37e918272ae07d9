import Chat
import JSON

/// The payloads of the gateway's frames: replies, errors and the events of `protocol.md` 5, with
/// the fields in the order of that page.
///
/// An event has no per-receiver field, so all receivers get the same payload. The caller writes the
/// content of a reply directly into the frame.
package enum ServerFrame {
    /// The answer to a request.
    /// - Parameters:
    ///   - cached: for a two-phase method, whether this is the first answer; nil for the others.
    ///   - capacity: the estimated size of the frame in bytes.
    ///   - result: writes the result, one value.
    package static func reply(
        id: Int, cached: Bool? = nil, capacity: Int = 256, result: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter(capacity: capacity)
        json.beginObject()
        json.member("id", int: id)
        if let cached { json.member("cached", bool: cached) }
        json.key("result")
        result(&json)
        json.endObject()
        return json.bytes
    }

    /// The error reply to a request; `id` is 0 for a frame without a usable one.
    package static func error(id: Int, _ error: RequestError) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", int: id)
        json.member("error", error: error)
        json.endObject()
        return json.bytes
    }

    /// `{"event": "ping"}`, for a client that was sent nothing else.
    package static let ping = event(.ping) { _ in }

    // MARK: Messages

    /// Changes of messages, and what they prove. `prev` is the stream's position before them,
    /// `asOf` the one after.
    package static func messages(
        conversation: String, deltas: [EncodedDelta], covers: Coverage, prev: Int, asOf: Int,
        head: Head, open: Bool
    ) -> [UInt8] {
        let size = deltas.reduce(320) { $0 + $1.message.json.count + 64 }
        return event(.messages, capacity: size) {
            $0.member("conversation", string: conversation)
            $0.key("deltas")
            $0.deltas(deltas)
            $0.member("covers", coverage: covers)
            $0.stream(prev: prev, asOf: asOf, head: head, open: open)
        }
    }

    /// Places that the receiver no longer holds.
    package static func gap(
        conversation: String, gaps: [Gap], prev: Int, asOf: Int, head: Head, open: Bool
    ) -> [UInt8] {
        event(.gap) {
            $0.member("conversation", string: conversation)
            $0.key("gaps")
            $0.gaps(gaps)
            $0.stream(prev: prev, asOf: asOf, head: head, open: open)
        }
    }

    /// Slot 0 changed, for subscribers of the conversation's messages.
    package static func conversation(
        _ record: Record, prev: Int, asOf: Int, head: Head, open: Bool
    ) -> [UInt8] {
        event(.conversation) {
            $0.key("conversation")
            $0.record(record, isEvent: true)
            $0.stream(prev: prev, asOf: asOf, head: head, open: open)
        }
    }

    /// The log was recreated or rewound: the subscription has ended.
    package static func reset(conversation: String, head: Head) -> [UInt8] {
        event(.reset) {
            $0.member("conversation", string: conversation)
            $0.member("head", head: head)
        }
    }

    /// The subscription has ended, for this reason.
    package static func unsubscribed(
        conversation: String, reason: UnsubscribeReason
    ) -> [UInt8] {
        event(.unsubscribed) {
            $0.member("conversation", string: conversation)
            $0.member("reason", string: reason.rawValue)
        }
    }

    // MARK: Conversations

    /// A conversation is new in the lists of its participants, or has changed there.
    package static func conversations(
        _ type: DeltaType, _ record: Record, lastMessage: EncodedMessage?, head: Head
    ) -> [UInt8] {
        event(.conversations, capacity: 512 + (lastMessage?.json.count ?? 0)) {
            $0.conversationDelta(type) {
                $0.conversation(record, lastMessage: lastMessage, head: head, isEvent: true)
            }
        }
    }

    /// A conversation has left the receiver's list.
    package static func conversationRemoved(_ id: String) -> [UInt8] {
        event(.conversations) {
            $0.conversationDelta(.deleted) {
                $0.beginObject()
                $0.member("id", string: id)
                $0.endObject()
            }
        }
    }

    // MARK: The rest

    /// A read marker moved.
    package static func read(conversation: String, user: String, seq: Int) -> [UInt8] {
        event(.read) {
            $0.member("conversation", string: conversation)
            $0.member("user", string: user)
            $0.member("seq", int: seq)
        }
    }

    /// The gateway's own connection to the backend changed.
    package static func upstream(state: UpstreamState, since: Timestamp) -> [UInt8] {
        event(.upstream) {
            $0.member("state", string: state.rawValue)
            $0.member("since", moment: since)
        }
    }

    /// The user's unread totals.
    /// - Parameters:
    ///   - of: the conversations whose numbers are told with it.
    ///   - open: there may be changes that are not counted.
    package static func unread(
        _ total: UnreadTotal, of readers: [(conversation: ID, state: ReaderState)] = [],
        open isOpen: Bool
    ) -> [UInt8] {
        event(.unread) {
            $0.member("messages", int: total.messages)
            $0.member("conversations", int: total.conversations)
            $0.member("mentions", int: total.mentions)
            $0.key("of")
            $0.beginArray()
            for reader in readers {
                $0.beginObject()
                $0.member("conversation", string: reader.conversation.text)
                $0.member("lastReadSeq", int: reader.state.lastReadSeq)
                $0.member("unreadCount", int: reader.state.unreadCount)
                $0.member("unreadMentions", int: reader.state.unreadMentions)
                $0.endObject()
            }
            $0.endArray()
            $0.open(isOpen)
        }
    }

    /// A user's typing state changed.
    package static func typing(
        conversation: String, user: String, state: TypingState, at: Timestamp
    ) -> [UInt8] {
        event(.typing) {
            $0.member("conversation", string: conversation)
            $0.member("user", string: user)
            $0.member("state", string: state.rawValue)
            $0.member("at", moment: at)
        }
    }

    /// Users came, left, or are no longer known.
    package static func presence(_ changes: [UserPresence]) -> [UInt8] {
        event(.presence, capacity: 64 + 96 * changes.count) {
            $0.key("changes")
            $0.presence(changes)
        }
    }

    /// The connection is about to be closed.
    /// - Parameter reconnectIn: the client's own slot, in milliseconds.
    package static func goaway(reconnectIn: Int, reason: String) -> [UInt8] {
        event(.goaway) {
            $0.member("reconnectIn", int: reconnectIn)
            $0.member("reason", string: reason)
        }
    }

    private static func event(
        _ name: EventName, capacity: Int = 256, _ fields: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter(capacity: capacity)
        json.beginObject()
        json.member("event", string: name.rawValue)
        fields(&json)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// The fields that place an event in a conversation's stream.
    fileprivate mutating func stream(prev: Int, asOf: Int, head: Head, open isOpen: Bool) {
        member("prev", int: prev)
        member("asOf", int: asOf)
        member("head", head: head)
        open(isOpen)
    }

    fileprivate mutating func conversationDelta(
        _ type: DeltaType, _ conversation: (inout JSONWriter) -> Void
    ) {
        key("deltas")
        beginArray()
        beginObject()
        member("type", string: type.rawValue)
        key("conversation")
        conversation(&self)
        endObject()
        endArray()
    }
}

extension JSONWriter {
    /// A member with an error, as frames and the server API carry it.
    package mutating func member(_ name: String, error: RequestError) {
        key(name)
        beginObject()
        member("code", string: error.code.rawValue)
        if let reason = error.reason { member("reason", string: reason.rawValue) }
        member("message", string: error.message)
        member("retry", string: error.retry.rawValue)
        if let after = error.after { member("after", int: after) }
        if let current = error.current { member("current", raw: current) }
        endObject()
    }
}

/// The events of `protocol.md` 5, with their names in a frame.
package enum EventName: String, Sendable, CaseIterable {
    case messages, gap, conversation, reset, unsubscribed, conversations
    case read, upstream, unread, typing, presence, goaway, ping
}

/// Why a subscription has ended, other than by the client's request.
public enum UnsubscribeReason: String, Sendable, Hashable, CaseIterable {
    case removed, deleted, forbidden
}

/// The state of the gateway's connection to the backend.
public enum UpstreamState: String, Sendable, Hashable, CaseIterable {
    case online, syncing, offline
}
