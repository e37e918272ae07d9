import Chat
import SQLite
import Wire

/// The statements that write the cache of another origin, where those of `LogWrites` don't fit, all
/// inside a transaction of the `ReplicaCache`. They know the tables but no rules.
package final class ReplicaStatements {
    /// A participant, with the position in the order.
    struct Seat {
        var user: String
        var isAdmin: Bool
        var place: Int
    }

    private let update: Statement
    private let insert: Statement
    private let replace: Statement
    private let mark: Statement
    private let seats: Statement
    private let seat: Statement
    private let lastPlace: Statement
    private let rule: Statement
    private let count: Statement

    package init(_ connection: Connection) throws(CacheError) {
        update = try connection.prepare(
            """
            UPDATE conversation SET seq = ?, rev = ?, mark = ?, floor = ?, record_rev = ?,
                last_seq = ?, activity = ?, touched = ?, changes_from = ?, held = ?,
                record_mark = ?, seen_seq = ?, seen_rev = ?, seen_mark = ?, members = ?,
                rest_up_to = ?
            WHERE cid = ?
            """)
        insert = try connection.prepare(
            """
            INSERT INTO message
                (cid, seq, rev, id, author, created_at, deleted, json, mark, content_rev,
                    address)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        replace = try connection.prepare(
            """
            UPDATE message SET rev = ?, deleted = ?, json = ?, mark = ?, content_rev = ?,
                address = ?
            WHERE cid = ? AND seq = ?
            """)
        mark = try connection.prepare("UPDATE message SET mark = ? WHERE cid = ? AND seq = ?")
        seats = try connection.prepare(
            "SELECT user, admin, place FROM member WHERE cid = ? AND member = 1 ORDER BY place")
        seat = try connection.prepare(
            """
            INSERT INTO member VALUES (?1, ?2, 1, ?3, ?4, 0, ?5, ?6, ?6, NULL, NULL, NULL,
                NULL, 0)
            ON CONFLICT (cid, user) DO UPDATE SET member = 1, admin = excluded.admin,
                place = excluded.place, touched = excluded.touched,
                created_at = iif(member = 1, created_at, excluded.created_at),
                updated_at = excluded.updated_at
            """)
        lastPlace = try connection.prepare(
            "SELECT max(place) FROM member WHERE cid = ? AND member = 1")
        rule = try connection.prepare(
            """
            UPDATE member SET admin = ?, touched = ?, updated_at = ?
            WHERE cid = ? AND user = ? AND member = 1
            """)
        count = try connection.prepare("UPDATE state SET messages = messages + ? WHERE id = 0")
    }

    // MARK: conversations

    /// Writes the log's head, and how far the cache of it may be believed.
    /// - Throws: `CacheError`, if the file can't be written.
    func update(_ log: LogRow, _ replica: ReplicaRow) throws(CacheError) {
        update.bind(1, log.head.seq)
        update.bind(2, log.head.rev)
        update.bind(3, log.head.mark)
        update.bind(4, log.head.floor)
        update.bind(5, log.recordRev)
        update.bind(6, log.lastSeq)
        update.bind(7, log.activity.milliseconds)
        update.bind(8, log.touched)
        update.bind(9, replica.changesFrom)
        update.bind(10, replica.held)
        update.bind(11, replica.recordMark)
        update.bind(12, replica.seen?.seq)
        update.bind(13, replica.seen?.rev)
        update.bind(14, replica.seen?.mark)
        update.bind(15, log.members)
        update.bind(16, log.restUpTo)
        update.bind(17, log.cid)
        try update.run()
    }

    // MARK: messages

    /// Adds a message.
    /// - Throws: `CacheError`: `contradiction` if another message has its seq or id.
    func insert(_ message: EncodedMessage, mark: String?, into cid: Int) throws(CacheError) {
        insert.bind(1, cid)
        insert.bind(2, message.seq)
        insert.bind(3, message.rev)
        insert.bind(4, message.id)
        insert.bind(5, message.author)
        insert.bind(6, message.createdAt.milliseconds)
        insert.bind(7, message.isDeleted)
        insert.bind(8, message.json)
        insert.bind(9, mark)
        insert.bind(10, message.contentRev)
        insert.bind(11, message.address.stored)
        try insert.run()
    }

    /// Gives a message a new value.
    /// - Throws: `CacheError`, if the file can't be written.
    func replace(_ message: EncodedMessage, mark: String?, in cid: Int) throws(CacheError) {
        replace.bind(1, message.rev)
        replace.bind(2, message.isDeleted)
        replace.bind(3, message.json)
        replace.bind(4, mark)
        replace.bind(5, message.contentRev)
        replace.bind(6, message.address.stored)
        replace.bind(7, cid)
        replace.bind(8, message.seq)
        try replace.run()
    }

    /// Records the mark at the rev of the message at a place.
    /// - Throws: `CacheError`, if the file can't be written.
    func note(mark text: String, at seq: Int, in cid: Int) throws(CacheError) {
        mark.bind(1, text)
        mark.bind(2, cid)
        mark.bind(3, seq)
        try mark.run()
    }

    /// Adds to the number of messages in the file.
    /// - Throws: `CacheError`, if the file can't be written.
    func count(_ messages: Int) throws(CacheError) {
        count.bind(1, messages)
        try count.run()
    }

    // MARK: participants

    /// The participants, in order.
    /// - Throws: `CacheError`, if the file can't be read.
    func seats(_ cid: Int) throws(CacheError) -> [Seat] {
        seats.bind(1, cid)
        return try seats.all {
            Seat(user: $0.text(0), isAdmin: $0.bool(1), place: $0.int(2))
        }
    }

    /// The position of the last participant to join; 0 if there is none.
    /// - Throws: `CacheError`, if the file can't be read.
    func lastPlace(_ cid: Int) throws(CacheError) -> Int {
        lastPlace.bind(1, cid)
        return try lastPlace.first { $0.int(0) } ?? 0
    }

    /// Makes a participant an admin, or revokes that.
    /// - Throws: `CacheError`, if the file can't be written.
    func set(
        admin isAdmin: Bool, _ user: String, _ log: LogRow, at moment: Timestamp
    ) throws(CacheError) {
        rule.bind(1, isAdmin)
        rule.bind(2, log.touched)
        rule.bind(3, moment.milliseconds)
        rule.bind(4, log.cid)
        rule.bind(5, user)
        try rule.run()
    }

    /// Adds a participant at a position in the order.
    /// - Throws: `CacheError`, if the file can't be written.
    func take(_ seat: Seat, _ log: LogRow, at moment: Timestamp) throws(CacheError) {
        self.seat.bind(1, log.cid)
        self.seat.bind(2, seat.user)
        self.seat.bind(3, seat.isAdmin)
        self.seat.bind(4, seat.place)
        self.seat.bind(5, log.touched)
        self.seat.bind(6, moment.milliseconds)
        try self.seat.run()
    }
}
