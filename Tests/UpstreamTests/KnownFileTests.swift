import Cache
import Ports
import SQLite
import Testing
import Wire

@testable import Upstream

/// What the log knows of the file from batch to batch: as long as nobody else writes it, and no
/// longer.
@Suite struct KnownFileTests {
    private let log: DrivenLog
    /// Somebody who writes into the file while the gateway runs, as with `sqlite3`.
    private let other: Connection

    init() throws {
        log = try DrivenLog(tail: 8)
        try log.perform([
            (.put(id: "c1", ConversationFields(participants: ["alice", "bob"])), .server)
        ])
        other = try Connection(path: log.store.options.path, access: .readWrite)
    }

    @discardableResult
    private func send(_ id: String, by user: String = "alice") throws -> Outcome {
        let message = NewMessage(author: user, content: MessageContent(id: id, body: "hello"))
        let told = try log.perform([(.send(conversation: "c1", [message]), .user(user))])
        for case .performed(_, let result) in told { return try result.get() }
        throw Origin.Lost()
    }

    @Test func whoIsOutForSomebodyElseIsOut() throws {
        try send("m1", by: "bob")
        try other.execute(
            """
            UPDATE member SET member = 0 WHERE user = 'bob';
            UPDATE conversation SET members = 1;
            """)
        #expect(refusal { try send("m2", by: "bob") } == .notFound)
        #expect(try log.store.audit() == [])
    }

    @Test func whatSomebodyElseHasSentIsThere() throws {
        try send("m1")
        try other.execute(
            """
            INSERT INTO message SELECT cid, seq + 1, rev + 1, 'm2', author, created_at, deleted,
                sent, json, mark, touched + 5 FROM message;
            UPDATE tail SET seq = seq + 1, rev = rev + 1, touched = touched + 5;
            UPDATE state SET messages = messages + 1, touched = touched + 5;
            """)
        let again = try send("m2")
        #expect(!again.isNew)
        #expect(try send("m3").messages()[0].seq == 3)
        #expect(try log.store.audit() == [])
    }

    @Test func aMessageFromAnOlderVersionIsThere() throws {
        try send("m1")
        try other.execute(
            """
            DELETE FROM tail;
            UPDATE message SET touched = NULL;
            UPDATE conversation SET (seq, rev, last_seq) = (SELECT seq, rev, seq FROM message);
            """)
        #expect(try !send("m1").isNew)
        #expect(try send("m2").messages()[0].seq == 2)
        #expect(try log.store.audit() == [])
    }

    /// In steps of SQLite, which do not depend on the machine's load.
    @Test func whatWeWriteOurselvesIsNotReadAgain() throws {
        func steps(_ id: String) throws -> Int {
            let before = log.connection.steps
            try send(id)
            return log.connection.steps - before
        }
        for number in 1...9 { try send("m\(number)") }
        let known = try steps("n1")
        #expect(try steps("n2") == known)
        #expect(known < 150)
        try other.execute("UPDATE state SET touched = touched + 1")
        #expect(try steps("n3") > known)
        #expect(try steps("n4") == known)
    }
}
