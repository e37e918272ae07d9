import JSON
import Ports
import Wire

/// What a store shows of a conversation where a message is to mention somebody.
package struct MentionView: Sendable {
    /// Whether the caller is admin of the conversation.
    package var isAdmin: Bool
    /// Whether anybody is.
    package var hasAdmins: Bool
    /// Those of the users to be mentioned who take part.
    package var present: Set<ID>

    package init(isAdmin: Bool, hasAdmins: Bool, present: Set<ID>) {
        self.isAdmin = isAdmin
        self.hasAdmins = hasAdmins
        self.present = present
    }

    /// Those of the users who take part.
    package func among(_ users: [String]) -> [String] {
        users.filter { present.contains($0.id) }
    }

    /// Checks whether the caller may mention everybody.
    /// - Parameter asksAdmin: whether only an admin may, where there are any.
    /// - Throws: `forbidden`.
    package func checkAll(asksAdmin: Bool) throws(RequestError) {
        if asksAdmin, hasAdmins, !isAdmin { throw .adminsMentionAll }
    }
}

extension NewMessage {
    /// The content as a log keeps it.
    /// - Throws: `forbidden`, if the caller may not mention everybody.
    package func addressed(_ view: MentionView) throws(RequestError) -> MessageContent {
        if content.mentionAll { try view.checkAll(asksAdmin: asksAdmin) }
        var kept = content
        kept.mentions = view.among(content.mentions)
        return kept
    }
}

extension MessageContent {
    /// Takes what an edit says of mentions.
    /// - Parameter view: nil if the edit says nothing.
    /// - Throws: `forbidden`, if the caller may not mention everybody.
    mutating func address(by edit: MessageEdit, _ view: MentionView?) throws(RequestError) {
        guard edit.isAddressed else { return }
        guard let view else {
            throw RequestError(.internalFault, "who takes part was not looked up")
        }
        if edit.mentionAll == true, !mentionAll { try view.checkAll(asksAdmin: edit.asksAdmin) }
        // What an earlier version stored under these names.
        var names: Set<String> = []
        if let users = edit.mentions {
            mentions = view.among(users)
            names.insert("mentions")
        }
        if let isToAll = edit.mentionAll {
            mentionAll = isToAll
            names.insert("mentionAll")
        }
        let members = unknown
        if members.contains(where: { names.contains($0.key) }) {
            unknownFields = UnknownFields(members.filter { !names.contains($0.key) })
        }
    }
}
