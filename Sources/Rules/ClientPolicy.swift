import Wire

/// What clients may write: `clients.*` of the configuration. The server API is not bound by it. It
/// is checked before any lookup, so that a refusal reveals nothing.
package struct ClientPolicy: Sendable, Hashable {
    /// Which conversations a client may create.
    package enum Creation: String, Sendable, CaseIterable {
        /// Under any free id.
        case any
        /// Under an id that the gateway gives, or one that consists of the user's id, a colon and a
        /// rest.
        case own
        /// None.
        case no
    }

    /// Which clients may mention everybody.
    package enum MentioningAll: String, Sendable, CaseIterable {
        /// Admins; in a conversation that has none, everybody who takes part.
        case admins
        /// Everybody who takes part.
        case yes
        /// None.
        case no
    }

    package var create = Creation.any
    /// Whether `sendMessage` is allowed.
    package var sends = true
    /// Whether `editMessage` and `deleteMessage` are allowed.
    package var edits = true
    /// Whether `react` is allowed.
    package var reacts = true
    /// Whether `setPresence` and `watchPresence` are allowed.
    package var presence = true
    package var mentionsAll = MentioningAll.admins

    package init() {}

    /// Why the user may not create a conversation with this id; nil if the user may.
    /// - Parameter id: nil: the gateway gives one.
    package func refusal(ofCreating id: String?, by user: String) -> RequestError? {
        switch create {
        case .any: return nil
        case .no:
            return RequestError(
                .clientsCreateOff, "createConversation: not for clients here (clients.create: no)")
        case .own:
            guard let id, !Self.isOwn(id, of: user) else { return nil }
            return RequestError(
                .idNotOwn,
                "id: not one's own (accepted with clients.create: own are no id, and the user's id,"
                    + " a colon and a rest without a colon)")
        }
    }

    /// Whether the id is the user's id, a colon, and a rest without a colon. User ids may contain
    /// colons; since the rest may not, an id belongs to at most one user.
    private static func isOwn(_ id: String, of user: String) -> Bool {
        let colon = UInt8(ascii: ":")
        guard id.utf8.starts(with: user.utf8) else { return false }
        let rest = id.utf8.dropFirst(user.utf8.count)
        return rest.first == colon && rest.count > 1 && !rest.dropFirst().contains(colon)
    }

    package static let noSending = RequestError(
        .clientsSendOff, "sendMessage: not for clients here (clients.send: no)")
    package static let noReacting = RequestError(
        .clientsReactOff, "react: not for clients here (clients.react: no)")
    package static let noPresence = RequestError(
        .clientsPresenceOff,
        "setPresence, watchPresence and presence: not for clients here (clients.presence: no)")
    package static let noMentioningAll = RequestError(
        .clientsMentionAllOff, "mentionAll: not for clients here (clients.mention_all: no)")
    package static let noEditing = RequestError(
        .clientsEditOff, "editMessage and deleteMessage: not for clients here (clients.edit: no)")
}
