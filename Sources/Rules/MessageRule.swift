import Chat
import JSON
import Ports
import Wire

/// What becomes of a message that is there.
package enum MessageRule: Sendable {
    case edit(MessageEdit)
    case delete(ifRev: Int?)
    case react(Reacting)

    /// The change of the message; nil if nothing changes.
    /// - Parameters:
    ///   - view: nil if there is no such message.
    ///   - user: the caller, who takes part; nil: the server API.
    package func decide(
        on view: MessageView?, by user: String?, within limits: LogLimits
    ) throws(RequestError) -> MessageChange? {
        guard let view else { throw .noMessage }
        let message = view.message
        let isOwn = user?.isSameID(message.author) ?? true
        switch self {
        case .edit(let edit):
            guard isOwn else { throw .editsOthers }
            if message.isDeleted { throw message.refusedAsDeleted(ifRev: edit.ifRev) }
            let content = try view.content()
            return try content.edited(by: edit, of: message, view.mentions, within: limits)
                .map { .edited($0) }
        case .delete(let ifRev):
            guard isOwn || view.isAdmin else { throw .deletesOthers }
            if message.isDeleted { return nil }
            try message.check(ifRev: ifRev)
            return .deleted
        case .react(let reacting):
            return try reacting.decide(
                on: view, isOwn: user?.isSameID(reacting.user) ?? true, isServer: user == nil,
                within: limits
            ).map { .reacted($0) }
        }
    }
}

/// What a store shows of a message.
package struct MessageView {
    package var message: EncodedMessage
    /// Whether the caller is admin of the conversation.
    package var isAdmin: Bool
    /// What the message says; not every rule looks.
    package var content: () throws(RequestError) -> MessageContent
    /// Who reacts to the message; only the rule of reactions looks.
    package var reactions: ReactionView?
    /// Who may be mentioned; only the rule of an edit that names mentions looks.
    package var mentions: MentionView?

    package init(
        _ message: EncodedMessage, isAdmin: Bool, reactions: ReactionView? = nil,
        mentions: MentionView? = nil,
        content: @escaping () throws(RequestError) -> MessageContent
    ) {
        self.message = message
        self.isAdmin = isAdmin
        self.content = content
        self.reactions = reactions
        self.mentions = mentions
    }
}

/// A decided change of a message.
package enum MessageChange: Sendable {
    case edited(MessageContent)
    /// To a tombstone.
    case deleted
    case reacted(Reacted)
}

extension MessageChange {
    /// The message's `contentRev` after a reaction; nil for another change.
    /// - Parameter message: as it is before.
    package func contentRev(of message: EncodedMessage) -> Int? {
        guard case .reacted = self else { return nil }
        return message.contentRev ?? message.rev
    }
}

extension Message {
    /// The value that a change leaves, with the numbers of this one.
    /// - Parameter now: the log's clock.
    package func changed(by change: MessageChange, at now: Timestamp) -> Message {
        var after = self
        switch change {
        case .edited(let content):
            after.body = content.body
            after.attachment = content.attachment
            after.metadata = content.metadata ?? .emptyObject
            (after.mentions, after.mentionAll) = (content.mentions, content.mentionAll)
            after.unknown = content.unknown
            after.editedAt = max(now, createdAt)
        case .deleted: return tombstone
        case .reacted(let reacted):
            after.reactions = reacted.shown
            // What an earlier version stored under these names.
            after.unknown.removeAll { EncodedMessage.namesOfReactions.contains($0.key) }
        }
        return after
    }
}

extension NewMessage {
    /// The id is there already: this is a repeat, or it is refused.
    package func checkRepeat(of author: String, isSame: Bool) throws(RequestError) {
        guard self.author.isSameID(author), isSame else { throw .idTaken }
    }
}

extension [NewMessage] {
    /// Why no log takes these messages; nil if one may.
    /// - Parameter user: the caller; nil: the server API, which may send for any user.
    package func refusal(ofSendingBy user: String?) -> RequestError? {
        guard !isEmpty else {
            return .invalid("messages: empty (accepted: at least one message)")
        }
        guard let user, !allSatisfy({ $0.author.isSameID(user) }) else { return nil }
        return .othersAuthor
    }
}

/// Where a user's read marker goes.
package enum ReadRule {
    /// Whether the marker rises.
    /// - Parameter place: where it is.
    package static func rises(
        from place: Int, to seq: Int, head: Int
    ) throws(RequestError) -> Bool {
        guard (0...head).contains(seq) else { throw .beyondLog(seq, head: head) }
        return seq > place
    }
}

extension EncodedMessage {
    /// Whether a change is allowed.
    /// - Parameter ifRev: the `rev` that the caller has seen, after which only reactions may have
    ///   come; nil: any.
    /// - Throws: `conflict`, with the message as it is.
    fileprivate func check(ifRev: Int?) throws(RequestError) {
        guard let ifRev, !((contentRev ?? rev)...rev).contains(ifRev) else { return }
        throw conflict(.revChanged, "ifRev: \(ifRev), but the message has rev \(rev)")
    }

    /// The error for an edit of a tombstone.
    /// - Parameter ifRev: if given, the error includes the tombstone.
    func refusedAsDeleted(ifRev: Int?) -> RequestError {
        let text = "id: the message is deleted"
        return ifRev == nil ? RequestError(.messageDeleted, text) : conflict(.messageDeleted, text)
    }

    private func conflict(_ reason: RequestError.Reason, _ text: String) -> RequestError {
        .conflict(reason, text) { $0.member("message", raw: RawJSON(unchecked: json)) }
    }
}

extension MessageContent {
    /// The content after the edit. Nil if nothing changes, whatever `ifRev` says, so that a
    /// repeated call does not conflict with itself.
    /// - Parameters:
    ///   - stored: the message as it is.
    ///   - view: who may be mentioned, if the edit says anything of that.
    /// - Throws: `conflict` if the edit is of another `rev`, `too_large` if the result would be
    ///   above a limit, `forbidden` if the caller may not mention everybody.
    package func edited(
        by edit: MessageEdit, of stored: EncodedMessage, _ view: MentionView? = nil,
        within limits: LogLimits
    ) throws(RequestError) -> MessageContent? {
        var after = self
        if let body = edit.body { after.body = body }
        if let metadata = edit.metadata { after.metadata = metadata }
        if let mentions = edit.mentions {
            try limits.check(mentions: mentions.count, before: self.mentions.count)
        }
        try after.address(by: edit, view)
        after.unknownFields = after.unknownFields.merged(with: edit.unknownFields)
        // Other numbers of fields are other contents, and need not be built to be compared.
        guard
            after.unknownFields.count != unknownFields.count || after.canonical() != canonical()
        else { return nil }
        try stored.check(ifRev: edit.ifRev)
        try limits.check(after, insteadOf: self)
        after.unknownFields = after.unknownFields.built
        return after
    }

    /// The bytes that `limits.message` bounds. Logs don't distinguish absent metadata from empty
    /// metadata.
    var stored: Int { size - (metadata?.bytes.count ?? 0) + (metadata?.stored ?? 0) }
}

extension RawJSON {
    /// The bytes that count as metadata: 0 for empty metadata.
    var stored: Int { self == .emptyObject ? 0 : bytes.count }
}
