import Chat
import JSON
import Wire

/// Limits of stored values: the keys of `limits.*` that apply to every log, with
/// their defaults.
///
/// Each rule checks the value *after* a change, not the size of the call: many small changes add up
/// to a large value. A value that is above a limit already, because the limit was lowered, may stay
/// or shrink, but not grow.
package struct LogLimits: Sendable, Hashable {
    /// `limits.message`: the bytes of a message's body, attachment, metadata and unknown fields.
    package var message = 32 << 10
    /// `limits.record`: the bytes of a conversation's title, metadata and unknown fields, and of a
    /// participant's name, metadata and unknown fields.
    package var record = 32 << 10
    /// `limits.unknown_fields`: how many fields that the gateway does not know a value may have.
    package var unknownFields = 100
    /// `limits.participants`: of a conversation.
    package var participants = 10_000
    /// `limits.admins`: how many participants may be admins.
    package var admins = 100
    /// `limits.conversations_per_user`: how many of the conversations that a user created there may
    /// be; 0: no limit. It charges who causes the cost: neither does being put into conversations
    /// of others count, nor does leaving one's own make room.
    package var conversationsPerUser = 10_000

    /// `limits.reaction_keys`: with how many keys users may react to one message.
    package var reactionKeys = 32
    /// `limits.reactions`: how many reactions one message may have.
    package var reactions = 100_000
    /// `limits.mentions`: how many users one message may mention.
    package var mentions = 50
    /// With how many keys one user may react to one message.
    package static let reactionsOfUser = 8

    package init() {}

    /// Checks a message that is sent.
    /// - Parameter prefix: of the field's name in the error, as `[3].`.
    /// - Throws: `too_large`, naming field, value and limit.
    package func check(sent content: MessageContent, prefix: String = "") throws(RequestError) {
        try hold(.limitMessage, content.size, message) { size, limit in
            "\(prefix)message: \(size) bytes of content, at most \(limit) are accepted"
                + " (limits.message)"
        }
        try hold(unknown: content.unknownFields.count, prefix: prefix)
        try check(mentions: content.mentions.count, prefix: prefix)
    }

    /// Checks how many users a message is to mention, whether or not they take part.
    /// - Throws: `too_large`, naming field, value and limit.
    func check(
        mentions count: Int, before: Int = 0, prefix: String = ""
    ) throws(RequestError) {
        try hold(.limitMentions, count, mentions, before: before) { count, limit in
            "\(prefix)mentions: \(count) users, at most \(limit) are accepted (limits.mentions)"
        }
    }

    /// Checks the content of a message after a change.
    /// - Throws: `too_large`, naming field, value and limit.
    func check(_ content: MessageContent, insteadOf old: MessageContent) throws(RequestError) {
        try hold(.limitMessage, content.stored, message, before: old.stored) { size, limit in
            "message: would be \(size) bytes of content, at most \(limit) are accepted"
                + " (limits.message)"
        }
        try hold(unknown: content.unknownFields.count, before: old.unknownFields.count)
    }

    /// Checks a description after a change.
    /// - Parameter old: the present one; nil for something new.
    /// - Throws: `too_large`, naming field, value and limit.
    package func check(
        _ description: Description, insteadOf old: Description?
    ) throws(RequestError) {
        try hold(
            .limitRecord, description.stored, record, before: old?.stored ?? 0
        ) { size, limit in
            "\(description.kind.rawValue): would be \(size) bytes of"
                + " \(description.kind.parts), at most \(limit) are accepted (limits.record)"
        }
        try hold(
            unknown: description.unknownFields.count, before: old?.unknownFields.count ?? 0)
    }

    /// Checks the numbers of participants and admins.
    /// - Parameters:
    ///   - people: before and after the change.
    ///   - rulers: the same of the admins.
    /// - Throws: `too_large`, naming limit and value.
    package func check(
        people: (before: Int, after: Int), rulers: (before: Int, after: Int)
    ) throws(RequestError) {
        try hold(
            .limitParticipants, people.after, participants, before: people.before
        ) { count, limit in
            "participants: would be \(count), at most \(limit) are accepted (limits.participants)"
        }
        try hold(.limitAdmins, rulers.after, admins, before: rulers.before) { count, limit in
            "admins: would be \(count), at most \(limit) are accepted (limits.admins)"
        }
    }

    /// Checks how many of the creator's conversations there are.
    /// - Throws: `too_large`, naming limit and value.
    package func check(conversationsOfCreator count: Int) throws(RequestError) {
        guard conversationsPerUser > 0, count >= conversationsPerUser else { return }
        throw RequestError(
            .limitConversationsPerUser,
            "createConversation: there are \(count) conversations that the user created, at most"
                + " \(conversationsPerUser) are accepted (limits.conversations_per_user)")
    }

    /// Checks a reaction that begins.
    /// - Parameters:
    ///   - isNewKey: whether nobody reacts with its key yet.
    ///   - present: what the message has without it.
    ///   - own: with how many keys its user reacts to the message without it.
    /// - Throws: `too_large`, naming limit and value.
    func check(
        reactionWithNewKey isNewKey: Bool, to present: [Reaction], own: Int
    ) throws(RequestError) {
        if isNewKey {
            try hold(.limitReactionKeys, present.count + 1, reactionKeys) { count, limit in
                "key: would be the message's \(count)th, at most \(limit) are accepted"
                    + " (limits.reaction_keys)"
            }
        }
        try hold(.limitReactionsOfUser, own + 1, Self.reactionsOfUser) { count, limit in
            "key: would be the user's \(count)th on this message, at most \(limit) are accepted"
        }
        let count = present.reduce(1) { $0 + $1.count }
        try hold(.limitReactions, count, reactions) { count, limit in
            "key: would be the message's reaction \(count), at most \(limit) are accepted"
                + " (limits.reactions)"
        }
    }

    private func hold(
        unknown count: Int, before: Int = 0, prefix: String = ""
    ) throws(RequestError) {
        try hold(.limitUnknownFields, count, unknownFields, before: before) { count, limit in
            "\(prefix)unknown fields: \(count) of them, at most \(limit) are accepted"
                + " (limits.unknown_fields)"
        }
    }

    private func hold(
        _ reason: RequestError.Reason, _ value: Int, _ limit: Int, before: Int = 0,
        _ text: (Int, Int) -> String
    ) throws(RequestError) {
        guard value > limit, value > before else { return }
        throw RequestError(reason, text(value, limit))
    }
}
