import JSON
import Wire

/// What the values of a log may take: those of `limits.*` that bound what is stored, whoever keeps
/// the log. A value type; the defaults are those of the configuration.
///
/// Each rule looks at the value that a change would *leave*, not at what the call brought: many
/// small changes make a large value too. A value that is above a limit already, because the limit
/// was lowered, stays as it is and may shrink; it may not grow.
package struct LogLimits: Sendable, Hashable {
    /// `limits.message`: the bytes of a message's body, attachment, metadata and unknown fields.
    package var message = 32 << 10
    /// `limits.record`: the bytes of a conversation's title, metadata and unknown fields; and of a
    /// participant's name, metadata and unknown fields.
    package var record = 32 << 10
    /// `limits.unknown_fields`: how many fields that the gateway does not know any value may have.
    package var unknownFields = 100
    /// `limits.participants`: how many may take part in a conversation.
    package var participants = 10_000
    /// `limits.admins`: how many of them may be admins.
    package var admins = 100
    /// `limits.conversations_per_user`: in how many conversations somebody may take part who
    /// creates another; 0: any number.
    package var conversationsPerUser = 10_000

    package init() {}

    /// Whether a message that is sent keeps the limits.
    /// - Parameter prefix: stands before the field's name in the error, as `[3].`.
    /// - Throws: `too_large`, naming field, value and limit.
    package func check(sent content: MessageContent, prefix: String = "") throws(RequestError) {
        try hold(content.size, message) { size, limit in
            "\(prefix)message: \(size) bytes of content, at most \(limit) are accepted"
                + " (limits.message)"
        }
        try hold(unknown: content.unknown.count, prefix: prefix)
    }

    /// Whether a message may become this.
    /// - Throws: `too_large`, naming field, value and limit.
    func check(_ content: MessageContent, insteadOf old: MessageContent) throws(RequestError) {
        try hold(content.stored, message, before: old.stored) { size, limit in
            "message: would be \(size) bytes of content, at most \(limit) are accepted"
                + " (limits.message)"
        }
        try hold(unknown: content.unknown.count, before: old.unknown.count)
    }

    /// Whether the described thing may become this.
    /// - Parameter old: what it is now; nil for a new one.
    /// - Throws: `too_large`, naming field, value and limit.
    package func check(
        _ description: Description, insteadOf old: Description?
    ) throws(RequestError) {
        try hold(description.stored, record, before: old?.stored ?? 0) { size, limit in
            "\(description.kind.rawValue): would be \(size) bytes of"
                + " \(description.kind.parts), at most \(limit) are accepted (limits.record)"
        }
        try hold(unknown: description.unknown.count, before: old?.unknown.count ?? 0)
    }

    /// Whether so many may take part, and be admins.
    /// - Parameters:
    ///   - people: before and after the change.
    ///   - rulers: the same of the admins.
    /// - Throws: `too_large`, naming limit and value.
    package func check(
        people: (before: Int, after: Int), rulers: (before: Int, after: Int)
    ) throws(RequestError) {
        try hold(people.after, participants, before: people.before) { count, limit in
            "participants: would be \(count), at most \(limit) are accepted (limits.participants)"
        }
        try hold(rulers.after, admins, before: rulers.before) { count, limit in
            "admins: would be \(count), at most \(limit) are accepted (limits.admins)"
        }
    }

    /// Whether somebody who takes part in so many conversations may create one more.
    /// - Throws: `too_large`, naming limit and value.
    package func check(conversationsOfCreator count: Int) throws(RequestError) {
        guard conversationsPerUser > 0, count >= conversationsPerUser else { return }
        throw RequestError(
            .tooLarge,
            "createConversation: the user takes part in \(count) conversations, at most"
                + " \(conversationsPerUser) are accepted (limits.conversations_per_user)")
    }

    private func hold(
        unknown count: Int, before: Int = 0, prefix: String = ""
    ) throws(RequestError) {
        try hold(count, unknownFields, before: before) { count, limit in
            "\(prefix)unknown fields: \(count) of them, at most \(limit) are accepted"
                + " (limits.unknown_fields)"
        }
    }

    private func hold(
        _ value: Int, _ limit: Int, before: Int = 0, _ text: (Int, Int) -> String
    ) throws(RequestError) {
        guard value > limit, value > before else { return }
        throw RequestError(.tooLarge, text(value, limit))
    }
}
