import Cache
import SQLite
import Testing

/// What is removed goes in small pieces, and is not remembered for ever.
@Suite struct PurgeTests {
    private let scratch: Scratch
    private let store: Store
    private let connection: Connection

    init() throws {
        scratch = try Scratch()
        store = try scratch.store()
        connection = try Connection(path: scratch.file(), access: .readWrite)
    }

    /// Removed conversations with one member each; the change of the list that removed it is `cid`.
    private func insertRemoved(_ count: Int, state: Int) throws {
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO conversation (cid, id, removed, epoch, seq, rev, mark, floor, record_rev,
                last_seq, activity, touched, metadata, created_at, updated_at)
            SELECT i, 'c' || i, \(state), 'e', 0, 1, 'm', 1, 1, 0, 0, i, '{}', 0, 0 FROM n;
            INSERT INTO member SELECT cid, 'a', 0, 0, 1, 0, touched, 0, 0, NULL, NULL, NULL, 0, 0
            FROM conversation;
            UPDATE state SET touched = \(count);
            """)
    }

    private func count(_ table: String) throws -> Int {
        try connection.integer("SELECT count(*) FROM \(table)") ?? 0
    }

    @Test func theOldestRemovalsAreForgottenAndTheListSaysSo() throws {
        try connection.execute("BEGIN")
        try insertRemoved(Purge.removedLimit + 3, state: 2)
        let purge = try Purge(connection)
        var steps = 0
        while try purge.step() { steps += 1 }
        try connection.execute("COMMIT")
        #expect(steps == 3)
        #expect(try count("conversation") == Purge.removedLimit)
        #expect(try count("member") == Purge.removedLimit)
        let list = try ConversationRows(connection).list()
        #expect(list.floor == 3, "a list read before that can no longer be brought up to date")
    }

    @Test func messagesGoInPiecesAndAreCounted() throws {
        try insertRemoved(1, state: 1)
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
            INSERT INTO message
                SELECT 1, i, i, 'm' || i, 'a', 0, 0, NULL, '{}', NULL, i, NULL, NULL FROM n;
            INSERT INTO place_by_id SELECT cid, id, seq FROM message;
            INSERT INTO place_by_rev SELECT cid, rev, seq FROM message;
            INSERT INTO reaction SELECT cid, 1, 'u' || seq, 'k', seq, 0 FROM message;
            INSERT INTO mention SELECT cid, 'u', seq, 'a' FROM message;
            UPDATE state SET messages = 1200;
            INSERT INTO incarnation VALUES (1, 1, 'm');
            INSERT INTO coverage VALUES (1, 1, 5, 1);
            """)
        let purge = try Purge(connection)
        var left: [Int] = []
        repeat {
            left.append(try ConversationRows(connection).list().messages)
        } while try purge.step()
        // The places by id and by rev, the reactions and the mentions are three pieces each.
        #expect(left == [1200, 700, 200] + [Int](repeating: 0, count: 2 + 4 * 3))
        for table in [
            "message", "place_by_id", "place_by_rev", "reaction", "mention", "incarnation",
            "coverage",
        ] {
            #expect(try count(table) == 0, "\(table)")
        }
        #expect(try count("member") == 1, "the list still says that it is gone")
    }

    @Test func manyParticipantsGoInPiecesAndNoListHasTheConversation() throws {
        try insertRemoved(1, state: 0)
        let members = 2 * Purge.chunk + 200
        try connection.execute(
            """
            UPDATE member SET member = 1, place = \(members), touched = 0;
            WITH RECURSIVE n (i) AS (
                SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(members) - 1)
            INSERT INTO member SELECT 1, 'user-' || i, 1, 0, i, 0, 0, 0, 0, NULL, NULL, NULL, 0,
                0
            FROM n;
            UPDATE conversation SET members = \(members);
            """)
        let rows = try ConversationRows(connection)
        #expect(try rows.listed("a", behind: nil, limit: 10).count == 1)
        var log = try #require(try rows.log("c1"))
        log.touched = 2
        try connection.execute("UPDATE state SET touched = 2")
        try LogWrites(connection).remove(log)
        let purge = try Purge(connection)
        var pieces: [Int] = []
        var present = members
        while present > 0 {
            for user in ["a", "user-1", "user-700"] {
                #expect(try rows.listed(user, behind: nil, limit: 10).isEmpty)
                #expect(try rows.changed(user, since: 0).isEmpty)
                #expect(try rows.total(user) == 0)
                #expect(try rows.gone(user, since: 1) == ["c1"])
                #expect(try rows.gone(user, since: 2).isEmpty)
            }
            #expect(try store.audit() == [])
            #expect(try purge.step())
            let left = try connection.integer("SELECT count(*) FROM member WHERE member = 1") ?? 0
            pieces.append(present - left)
            present = left
        }
        #expect(pieces == [Purge.chunk, Purge.chunk, 200])
        while try purge.step() {}
        #expect(try store.audit() == [])
        #expect(try rows.gone("a", since: 1) == ["c1"])

        // A day later and 10,000 removals on, its members are forgotten in pieces too.
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (
                SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < \(Purge.removedLimit) + 1)
            INSERT INTO conversation (cid, id, removed, epoch, seq, rev, mark, floor, record_rev,
                last_seq, activity, touched, metadata, created_at, updated_at)
            SELECT i, 'c' || i, 2, 'e', 0, 1, 'm', 1, 1, 0, 0, i + 1, '{}', 0, 0 FROM n;
            UPDATE conversation SET updated_at = 0;
            """)
        var kept: [Int] = []
        while try purge.step() { kept.append(try count("member")) }
        #expect(kept == [members - Purge.chunk, members - 2 * Purge.chunk, 0])
        #expect(try rows.list().floor == 2)
    }
}
