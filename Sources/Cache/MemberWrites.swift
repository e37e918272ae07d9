import Chat
import JSON
import SQLite
import Wire

/// The statements that write the participants of a log and their read markers, all inside a
/// transaction of the writer. They know the table but no rules.
package final class MemberWrites {
    private let joinAll: Statement
    private let join: Statement
    private let updateMember: Statement
    private let leave: Statement
    private let leaveAll: Statement
    private let raise: Statement

    init(_ connection: Connection) throws(CacheError) {
        joinAll = try connection.prepare(
            "INSERT INTO member VALUES (?1, ?2, 1, ?3, ?4, 0, ?5, ?6, ?6, NULL, NULL, NULL, 0, 0)")
        // A user who rejoins has read up to their own newest message, and no further.
        join = try connection.prepare(
            """
            INSERT INTO member VALUES (?1, ?2, 1, ?3, (SELECT coalesce(max(place), 0) + 1
                FROM member WHERE cid = ?1 AND member = 1), 0, ?4, ?5, ?5, ?6, ?7, ?8, 0, ?9)
            ON CONFLICT (cid, user) DO UPDATE SET member = 1, admin = excluded.admin,
                last_read = coalesce(sent, last_read),
                place = excluded.place, touched = excluded.touched,
                created_at = excluded.created_at, updated_at = excluded.updated_at,
                name = excluded.name, metadata = excluded.metadata, unknown = excluded.unknown,
                joined_seq = excluded.joined_seq
            """)
        updateMember = try connection.prepare(
            """
            UPDATE member SET admin = ?, name = ?, metadata = ?, unknown = ?, updated_at = ?
            WHERE cid = ? AND user = ?
            """)
        leave = try connection.prepare(
            "UPDATE member SET member = 0, admin = 0, touched = ? WHERE cid = ? AND user = ?")
        leaveAll = try connection.prepare(
            "UPDATE member SET member = 0, admin = 0, touched = ? WHERE cid = ? AND member = 1")
        raise = try connection.prepare(
            """
            UPDATE member SET last_read = max(last_read, ?), sent = coalesce(sent, last_read),
                touched = max(touched, ?)
            WHERE cid = ? AND user = ?
            """)
    }

    /// Adds all participants of a new log, whose places are those in `users`. The rows are written
    /// in the order of the table and of its index by user, so that most go to a page that is at
    /// hand.
    /// - Throws: `CacheError`, if the file can't be written.
    package func joinAll(
        _ users: [String], admins: Set<ID>, _ log: LogRow, at: Timestamp
    ) throws(CacheError) {
        joinAll.bind(1, log.cid)
        joinAll.bind(5, log.touched)
        joinAll.bind(6, at.milliseconds)
        for (place, user) in users.enumerated().sorted(by: { $0.element < $1.element }) {
            joinAll.bind(2, user)
            joinAll.bind(3, admins.contains(user.id))
            joinAll.bind(4, place + 1)
            try joinAll.run()
        }
    }

    /// Adds a participant, after all others.
    /// - Throws: `CacheError`, if the file can't be written.
    package func join(_ member: MemberRow, _ log: LogRow) throws(CacheError) {
        join.bind(1, log.cid)
        join.bind(2, member.user)
        join.bind(3, member.isAdmin)
        join.bind(4, log.touched)
        join.bind(5, member.createdAt.milliseconds)
        join.bind(6, member.name)
        join.bind(7, member.metadata?.bytes)
        join.bind(8, member.unknown.stored)
        join.bind(9, member.joinedSeq)
        try join.run()
    }

    /// Writes a participant's fields.
    /// - Throws: `CacheError`, if the file can't be written.
    package func update(_ member: MemberRow, _ log: LogRow) throws(CacheError) {
        updateMember.bind(1, member.isAdmin)
        updateMember.bind(2, member.name)
        updateMember.bind(3, member.metadata?.bytes)
        updateMember.bind(4, member.unknown.stored)
        updateMember.bind(5, member.updatedAt.milliseconds)
        updateMember.bind(6, log.cid)
        updateMember.bind(7, member.user)
        try updateMember.run()
    }

    /// Removes a participant.
    /// - Throws: `CacheError`, if the file can't be written.
    package func leave(_ user: String, _ log: LogRow) throws(CacheError) {
        leave.bind(1, log.touched)
        leave.bind(2, log.cid)
        leave.bind(3, user)
        try leave.run()
    }

    /// Removes all participants.
    /// - Throws: `CacheError`, if the file can't be written.
    func leaveAll(_ log: LogRow) throws(CacheError) {
        leaveAll.bind(1, log.touched)
        leaveAll.bind(2, log.cid)
        try leaveAll.run()
    }

    /// Moves a participant's read marker up to a seq, as a change of that user's list alone.
    /// - Parameter touched: the list's rev.
    /// - Throws: `CacheError`, if the file can't be written.
    package func raise(
        _ user: String, to seq: Int, touched: Int, in log: LogRow
    ) throws(CacheError) {
        raise.bind(1, seq)
        raise.bind(2, touched)
        raise.bind(3, log.cid)
        raise.bind(4, user)
        try raise.run()
    }
}
