import Cache
import Chat
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

    /// A call that sends one message, under an id that the log makes where none is given.
    private func call(_ id: String?, by user: String = "alice") -> DrivenLog.Call {
        let message = NewMessage(author: user, content: MessageContent(id: id, body: "hello"))
        return (.send(conversation: "c1", [message]), .user(user))
    }

    @discardableResult
    private func send(_ id: String?, by user: String = "alice") throws -> Outcome {
        let told = try log.perform([call(id, by: user)])
        for case .performed(_, let result) in told { return try result.get() }
        throw Origin.Lost()
    }

    /// The ids that the log will be proposed next: a copy of its source goes on alike.
    private func proposed(_ count: Int) -> [String] {
        var source = log.log.identifiers
        return (0..<count).map { _ in source.next(at: Timestamp(milliseconds: log.now)) }
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

    /// Where a message may be whose id the log is proposed for another one.
    enum Place: CaseIterable { case tail, tailReadAgain, file, batch, batchUndone }

    @Test(arguments: Place.allCases) func anIDIsMadeUpThatNoMessageHas(_ place: Place) throws {
        // From here on the source has the random numbers that its copies go on with.
        try send(nil)
        let ids = proposed(2)
        #expect(ids[0] != ids[1])
        switch place {
        case .tail: try send(ids[0])
        case .tailReadAgain:
            try send(ids[0])
            try other.execute("UPDATE state SET touched = touched + 1")
        case .file:
            try send(ids[0])
            for number in 1...6 { try send("m\(number)") }
            #expect(try other.integer("SELECT count(*) FROM tail") == 0)
        case .batch:
            let told = try log.perform([call(ids[0]), call(nil)])
            let sent = try told.compactMap { output -> String? in
                guard case .performed(_, let result) = output else { return nil }
                return try result.get().messages()[0].id
            }
            #expect(sent == [ids[0], ids[1]])
            return #expect(try log.store.audit() == [])
        case .batchUndone: try log.lose([call(ids[0])])
        }
        #expect(try send(nil).messages()[0].id == (place == .batchUndone ? ids[0] : ids[1]))
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
