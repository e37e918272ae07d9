import JSON

/// The message to which another one replies, as in `protocol.md` 6.
public struct Reply: Sendable, Hashable {
    /// The id of that message.
    public var id: String
    /// Its place in the conversation; nil if the log did not know the id.
    public var seq: Int?

    /// A reply to this message.
    public init(id: String, seq: Int? = nil) {
        self.id = id
        self.seq = seq
    }
}

extension Reply {
    /// The reply in a message's `replyTo`; nil if the value is something else, which an earlier
    /// version may have stored under that name.
    package init?(_ value: RawJSON) {
        guard let object = value.object, let id = object["id"]?.string else { return nil }
        let seq = object["seq"]
        guard seq == nil || (seq?.int ?? 0) > 0 else { return nil }
        self.init(id: id, seq: seq?.int)
    }
}

extension JSONWriter {
    /// Writes the members of a message that say to what it replies and whom it mentions, as far as
    /// there are any.
    package mutating func address(_ reply: Reply?, _ mentions: [String], all isToAll: Bool) {
        if let reply {
            key("replyTo")
            beginObject()
            member("id", string: reply.id)
            if let seq = reply.seq { member("seq", int: seq) }
            endObject()
        }
        if !mentions.isEmpty { member("mentions", strings: mentions) }
        if isToAll { member("mentionAll", bool: true) }
    }
}
