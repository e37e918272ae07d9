import Cache
import Chat
import Ports
import SQLite
import Testing
import Wire

@testable import Upstream

/// What the log knows of the file from batch to batch. Nobody else writes it: `FileWatch` has what
/// `sqlite3` is told that tries to.
@Suite struct KnownFileTests {
    private let log: DrivenLog
    /// Somebody who reads the file.
    private let other: Connection

    init() throws {
        log = try DrivenLog(tail: 8)
        try log.perform([
            (.put(id: "c1", ConversationFields(participants: ["alice", "bob"])), .server)
        ])
        other = try Connection(path: log.store.options.path, access: .readOnly)
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

    @Test func aMessageFromAnOlderVersionIsThere() throws {
        try send("m1")
        try log.connection.execute(
            """
            DELETE FROM tail;
            UPDATE message SET touched = NULL;
            UPDATE conversation SET (seq, rev, last_seq) = (SELECT seq, rev, seq FROM message);
            """)
        log.log.known.drop()
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
            log.log.known.drop()
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
        log.log.known.drop()
        #expect(try steps("n3") > known)
        #expect(try steps("n4") == known)
    }
}
