import Chat
import JSON
import SQLite
import Wire

/// Reads participants, through the statements of one connection.
package final class MemberRows {
    private static let columns =
        "user, member, admin, last_read, name, metadata, unknown, created_at, updated_at,"
        + " joined_seq"

    /// The condition of the messages in the tail of the conversation ?1.
    private static let tail = "cid = ?1 AND seq > (SELECT above FROM tail WHERE cid = ?1)"

    private let one: Statement
    private let authors: Statement
    private let everybody: Statement
    private let admins: Statement
    private let newestFirst: Statement
    private let oldestFirst: Statement
    private let total: Statement

    package init(_ connection: Connection) throws(CacheError) {
        let columns = Self.columns
        // Messages below the marker change nothing: for a user who has read all, none is looked at.
        one = try connection.prepare(
            """
            SELECT \(columns),
                (SELECT max(seq) FROM message WHERE cid = ?1 AND author = ?2 AND seq >
                    max((SELECT above FROM tail WHERE cid = ?1), member.last_read))
            FROM member WHERE cid = ?1 AND user = ?2
            """)
        authors = try connection.prepare(
            "SELECT author, seq FROM message WHERE \(Self.tail) ORDER BY seq")
        let present = "FROM member WHERE cid = ? AND member = 1"
        everybody = try connection.prepare("SELECT user, admin \(present) ORDER BY place")
        let page = "LIMIT ? OFFSET ?"
        newestFirst = try connection.prepare(
            "SELECT \(columns) \(present) ORDER BY place DESC \(page)")
        oldestFirst = try connection.prepare("SELECT \(columns) \(present) ORDER BY place \(page)")
        total = try connection.prepare("SELECT count(*) \(present)")
        // Names its index: with any other SQLite may scan all participants.
        let ruling = "FROM member INDEXED BY member_admin WHERE cid = ? AND admin = 1"
        admins = try connection.prepare("SELECT user, place \(ruling)")
    }

    private static func member(_ row: borrowing Statement) -> MemberRow {
        MemberRow(
            user: row.text(0), isMember: row.bool(1), isAdmin: row.bool(2), lastRead: row.int(3),
            name: row.optionalText(4),
            metadata: row.optionalBlob(5).map { RawJSON(unchecked: $0) },
            unknown: [JSONMember](stored: row.optionalBlob(6)),
            createdAt: Timestamp(milliseconds: row.int64(7)),
            updatedAt: Timestamp(milliseconds: row.int64(8)), joinedSeq: row.int(9))
    }

    /// One user's row, whether or not the user takes part.
    /// - Throws: `CacheError`, if the file can't be read.
    package func member(_ cid: Int, _ user: String) throws(CacheError) -> MemberRow? {
        one.bind(1, cid)
        one.bind(2, user)
        return try one.first { row in
            var member = Self.member(row)
            // NULL is 0: nothing of the user's is in the tail.
            member.lastRead = max(member.lastRead, row.int(10))
            return member
        }
    }

    /// The participants in the order in which they joined, and the admins among them.
    /// - Throws: `CacheError`, if the file can't be read.
    package func everybody(_ cid: Int) throws(CacheError) -> (users: [String], admins: [String]) {
        everybody.bind(1, cid)
        defer { everybody.reset() }
        var users: [String] = []
        var admins: [String] = []
        while try everybody.step() {
            let user = everybody.text(0)
            users.append(user)
            if everybody.bool(1) { admins.append(user) }
        }
        return (users, admins)
    }

    /// The admins, in the order in which they joined.
    /// - Throws: `CacheError`, if the file can't be read.
    package func admins(_ cid: Int) throws(CacheError) -> [String] {
        admins.bind(1, cid)
        let ruling = try admins.all { (user: $0.text(0), place: $0.int(1)) }
        return ruling.sorted { $0.place < $1.place }.map(\.user)
    }

    /// A page of the participants, by when they joined.
    /// - Throws: `CacheError`, if the file can't be read.
    package func page(
        _ cid: Int, _ request: ParticipantsRequest
    ) throws(CacheError) -> [MemberRow] {
        // SQLite takes a negative limit as none.
        let limit = request.limit > 0 ? request.limit : -1
        let offset = request.limit > 0 ? max(0, request.offset) : 0
        var members =
            switch request.order {
            case .asc: try page(oldestFirst, cid, limit, offset)
            case .desc: try page(newestFirst, cid, limit, offset)
            }
        let own = try lastOfTail(cid)
        guard !own.isEmpty else { return members }
        for at in members.indices {
            guard let seq = own[members[at].user.id] else { continue }
            members[at].lastRead = max(members[at].lastRead, seq)
        }
        return members
    }

    /// The place of each author's last message in the tail.
    private func lastOfTail(_ cid: Int) throws(CacheError) -> [ID: Int] {
        authors.bind(1, cid)
        defer { authors.reset() }
        var places: [ID: Int] = [:]
        while try authors.step() { places[authors.text(0).id] = authors.int(1) }
        return places
    }

    private func page(
        _ statement: borrowing Statement, _ cid: Int, _ limit: Int, _ offset: Int
    ) throws(CacheError) -> [MemberRow] {
        statement.bind(1, cid)
        statement.bind(2, limit)
        statement.bind(3, offset)
        return try statement.all(Self.member)
    }

    /// The number of participants.
    /// - Throws: `CacheError`, if the file can't be read.
    package func total(_ log: LogRow) throws(CacheError) -> Int {
        if let members = log.members { return members }
        return try total(log.cid)
    }

    private func total(_ cid: Int) throws(CacheError) -> Int {
        total.bind(1, cid)
        return try total.first { $0.int(0) } ?? 0
    }
}
