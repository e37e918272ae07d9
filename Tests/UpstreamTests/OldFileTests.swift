import Cache
import Chat
import Ports
import SQLite
import Testing
import Wire

/// A log of the seventh version of the file, as 0.1 and later programs left it, goes on: what was
/// in it is found as before, and what is written from then on lies behind it.
@Suite struct OldFileTests {
    /// The file as the seventh version had it. Nothing in it was left to a tail.
    private static let back = """
        DROP INDEX message_reacted;
        DROP TABLE reaction;
        DROP TABLE presence;
        DROP TABLE presence_lease;
        DROP TABLE mention;
        ALTER TABLE message DROP COLUMN content_rev;
        ALTER TABLE message DROP COLUMN address;
        ALTER TABLE member DROP COLUMN joined_seq;
        DROP INDEX conversation_by_creator;
        DROP VIEW log;
        DROP TABLE tail;
        DROP TABLE place_by_id;
        DROP TABLE place_by_rev;
        DROP INDEX message_id;
        DROP INDEX message_rev;
        ALTER TABLE message DROP COLUMN touched;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        CREATE INDEX message_rev ON message (cid, rev);
        PRAGMA user_version = 7;
        """

    private static func places(_ changes: Changes) -> [[Int]] {
        changes.messages.map { [$0.seq, $0.rev] }
    }

    private static func changes(_ origin: Origin, since: Int, limit: Int) throws -> Changes {
        guard
            case .changes(let changes) = try origin.ask(
                .changes(conversation: "c1", since: since, mark: nil, limit: limit))
        else { throw Origin.Lost() }
        return changes
    }

    @Test func aLogOfTheSeventhVersionGoesOn() throws {
        let origin = try Origin(tail: 1)
        try origin.conversation(of: ["alice", "bob"])
        for number in 1...9 { try origin.send("old", id: "m\(number)") }
        try origin.perform(
            .edit(conversation: "c1", id: "m4", MessageEdit(body: "edited")), by: .user("alice"))
        try origin.perform(.delete(conversation: "c1", id: "m7", ifRev: nil), by: .user("alice"))
        let old = try (0...12).map { try Self.places(Self.changes(origin, since: $0, limit: 5)) }
        let page = try origin.page(PageRequest(limit: 20))
        try origin.restart { directory in
            try Connection(path: directory + "/gapless.db", access: .readWrite).execute(Self.back)
        }
        #expect(try origin.store.audit() == [])
        #expect(try origin.page(PageRequest(limit: 20)).messages == page.messages)
        #expect(
            try (0...12).map { try Self.places(Self.changes(origin, since: $0, limit: 5)) } == old)

        // The same message again is none, and an id that was taken is taken.
        #expect(try origin.send("old", id: "m9").seq == 9)
        #expect(refusal { try origin.send("other", id: "m9") } == .conflict)
        for number in 10...12 { try origin.send("new", id: "m\(number)") }
        try origin.perform(
            .edit(conversation: "c1", id: "m2", MessageEdit(body: "edited")), by: .user("alice"))
        try origin.perform(
            .edit(conversation: "c1", id: "m11", MessageEdit(body: "edited")), by: .user("alice"))
        try origin.perform(.delete(conversation: "c1", id: "m4", ifRev: nil), by: .user("alice"))
        try origin.send("new", id: "m13")
        let new = [[10, 13], [12, 15], [2, 16], [11, 17], [4, 18], [13, 19]]
        #expect(try Self.places(Self.changes(origin, since: 11, limit: 50)) == [[7, 12]] + new)
        #expect(try Self.places(Self.changes(origin, since: 14, limit: 3)) == Array(new[1...3]))
        #expect(refusal { try origin.send("again", id: "m11") } == .conflict)
        #expect(try origin.store.audit() == [])
        let connection = try Connection(
            path: origin.directory + "/gapless.db", access: .readOnly)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }
}
