/// The methods of `protocol.md` 3 and 4, with their names in a frame.
package enum Method: String, Sendable, CaseIterable {
    case connect, refresh
    case subscribeMessages, unsubscribeMessages
    case subscribeConversations, unsubscribeConversations
    case fetchConversations, fetchConversation, fetchMessages, fetchParticipants, findBoundaries
    case sendMessage, editMessage, deleteMessage
    case react, fetchReactions, fetchOwnReactions, fetchMentions
    case createConversation, updateConversation, deleteConversation, leaveConversation
    case addParticipants, removeParticipants, addAdmins, removeAdmins
    case markRead, typing, setPresence, watchPresence

    /// All names, for the error on an unknown method.
    package static let accepted = allCases.map(\.rawValue).joined(separator: ", ")
}
