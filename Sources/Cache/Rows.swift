import JSON
import Ports
import SQLite
import Wire

/// All reads of the file, and the objects of which replies are made, through one connection. The
/// reader has one, and the writer's log has another.
package final class Rows {
    package let conversations: ConversationRows
    package let messages: MessageRows
    package let members: MemberRows
    package let reactions: ReactionRows
    package let mentions: MentionRows
    package let replica: ReplicaRows
    package let coverage: CoverageRows

    package init(_ connection: Connection) throws(CacheError) {
        conversations = try ConversationRows(connection)
        messages = try MessageRows(connection)
        members = try MemberRows(connection)
        reactions = try ReactionRows(connection)
        mentions = try MentionRows(connection)
        replica = try ReplicaRows(connection)
        coverage = try CoverageRows(connection)
    }

    /// Slot 0, with the participants if a reply lists them.
    /// - Parameter isWhole: whether to list the participants however many there are.
    /// - Complexity: O(1) in the number of participants, unless `isWhole`.
    /// - Throws: `CacheError`, if the file can't be read.
    package func record(_ log: LogRow, isWhole: Bool = false) throws(CacheError) -> Record {
        let row = try conversations.record(log.cid)
        let count = try members.total(log)
        let isNamed = isWhole || count <= Record.listedParticipants
        let (users, admins) =
            isNamed ? try members.everybody(log.cid) : ([], try members.admins(log.cid))
        var record = Record(
            id: log.id, title: row?.title, participants: users, admins: admins,
            metadata: row?.metadata ?? .emptyObject,
            createdAt: row?.createdAt ?? log.activity, updatedAt: row?.updatedAt ?? log.activity,
            rev: log.recordRev, unknown: row?.unknown ?? [])
        if !isNamed { record.unnamed = count }
        return record
    }

    /// The newest message that is not deleted.
    /// - Throws: `CacheError`, if the file can't be read.
    package func lastMessage(_ log: LogRow) throws(CacheError) -> EncodedMessage? {
        log.lastSeq > 0 ? try messages.message(log.cid, at: log.lastSeq) : nil
    }

    /// The user's per-user fields; nil for a user who does not take part.
    ///
    /// A user's own message never lies above their own marker, since sending moves the marker
    /// there. So the unread messages are those above the marker, except the deleted ones.
    /// - Throws: `CacheError`, if the file can't be read.
    package func reader(_ log: LogRow, _ user: String) throws(CacheError) -> ReaderState? {
        guard let member = try members.member(log.cid, user), member.isMember else { return nil }
        let start = max(member.lastRead, log.head.floor - 1)
        let unread = log.head.seq - start
        guard unread > 0 else {
            return ReaderState(lastReadSeq: member.lastRead, unreadCount: 0)
        }
        return ReaderState(
            lastReadSeq: member.lastRead,
            unreadCount: unread - (try messages.deletedCount(log.cid, above: start)),
            unreadMentions: try mentions.count(
                log.cid, of: user, above: max(start, member.joinedSeq)))
    }

    /// A user's unread totals, counted as in `reader`, over all conversations of the list.
    /// - Complexity: O(conversations of the user).
    /// - Throws: `CacheError`, if the file can't be read.
    package func unread(of user: String) throws(CacheError) -> UnreadTotal {
        var total = UnreadTotal(messages: 0, conversations: 0)
        // SQLite takes a negative limit as none.
        for place in try conversations.listed(user, behind: nil, limit: -1) {
            guard let log = try conversations.log(number: place.cid),
                let reader = try reader(log, user)
            else { continue }
            total.add(reader)
        }
        return total
    }

    /// The conversation as a reply shows it, with the per-user fields of `user` if they take part.
    /// - Throws: `CacheError`, if the file can't be read.
    package func view(_ log: LogRow, for user: String?) throws(CacheError) -> ConversationView {
        ConversationView(
            record: try record(log), lastMessage: try lastMessage(log), head: log.head,
            reader: try user.flatMap { user throws(CacheError) in try reader(log, user) })
    }
}
