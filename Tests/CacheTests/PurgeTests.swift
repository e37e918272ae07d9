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
            INSERT INTO member SELECT cid, 'a', 0, 0, 1, 0, touched, 0, 0, NULL, NULL, NULL, 0
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
        #expect(list.floor == 3, "a list read before that can't be brought up to date any more")
    }

    @Test func messagesGoInPiecesAndAreCounted() throws {
        try insertRemoved(1, state: 1)
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
            INSERT INTO message SELECT 1, i, i, 'm' || i, 'a', 0, 0, NULL, '{}', NULL FROM n;
            UPDATE state SET messages = 1200;
            INSERT INTO incarnation VALUES (1, 1, 'm');
            INSERT INTO coverage VALUES (1, 1, 5, 1);
            """)
        let purge = try Purge(connection)
        var left: [Int] = []
        repeat {
            left.append(try ConversationRows(connection).list().messages)
        } while try purge.step()
        #expect(left == [1200, 700, 200, 0, 0])
        for table in ["message", "incarnation", "coverage"] { #expect(try count(table) == 0) }
        #expect(try count("member") == 1, "the list still says that it is gone")
    }
}
