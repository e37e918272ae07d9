import Postgres
import TestSupport
import Testing

/// Writers beside each other, and what becomes of what is rolled back.
@Suite(.serialized) final class TransactionTests {
    let database: Database
    let one: SchemaSession
    let two: SchemaSession

    init() throws {
        database = try Database()
        one = try database.session()
        two = try database.session()
        try one.run(
            "select gapless.put_conversation('c', '{\"participants\": [\"a\"]}');"
                + "select gapless.put_conversation('d', '{}')")
    }

    private static func post(_ conversation: String, _ body: String = "x") -> String {
        "select gapless.post_message('\(conversation)', 'a', '{\"body\": \"\(body)\"}');"
    }

    /// The seqs, revs and marks of a conversation, as they lie in the tables.
    private func log(_ conversation: String = "c") throws -> String? {
        try one.value(
            """
            select (select string_agg(seq || ':' || rev, ' ' order by seq)
              from gapless.messages where conversation = '\(conversation)') || ' | '
              || (select string_agg(rev::text, ' ' order by rev)
                from gapless.changes where conversation = '\(conversation)')
            """)
    }

    @Test("uses no number for what is rolled back, nor for a savepoint that is")
    func rollback() throws {
        try one.run("begin; \(Self.post("c")) rollback")
        try one.run(
            "begin; \(Self.post("c", "1")) savepoint s; \(Self.post("c")) rollback to s;"
                + " \(Self.post("c", "2")) commit")
        #expect(try log() == "1:2 2:3 | 1 2 3")
        try one.run("begin; select gapless.delete_conversation('c'); rollback")
        #expect(try log() == "1:2 2:3 | 1 2 3")
    }

    @Test(
        "keeps a conversation's writers waiting, others not, and dates after the lock",
        arguments: ["read committed", "repeatable read", "serializable"])
    func waiting(level: String) throws {
        try one.run("begin; \(Self.post("c", "first"))")
        try two.run("begin isolation level \(level); select 1; \(Self.post("d"))")
        try two.begin(Self.post("c", "second"))
        try database.session().waitForAnother(two)
        // A reader waits for nobody.
        #expect(try database.session().holds("gapless.head('c') ->> 'seq' = '0'"))
        try one.run("commit")
        guard level == "read committed" else {
            let refusal = #expect(throws: SchemaSession.Refusal.self) { try two.finish() }
            #expect(refusal?.state == "40001")
            try two.run("rollback")
            #expect(try log() == "1:2 | 1 2")
            return
        }
        _ = try two.finish()
        try two.run("commit")
        #expect(try log() == "1:2 2:3 | 1 2 3")
        #expect(
            try one.holds(
                "(select m2.created_at >= m1.created_at from gapless.messages m1, gapless.messages"
                    + " m2 where m1.conversation = 'c' and m2.conversation = 'c' and m1.seq = 1"
                    + " and m2.seq = 2 and m2.created_at > (select min(at) from gapless.changes"
                    + " where conversation = 'd' and slot = 1))"))
    }

    @Test("meets a deadlock where two write to two conversations in another order")
    func deadlock() throws {
        try one.run("begin; \(Self.post("c"))")
        try two.run("begin; \(Self.post("d"))")
        try two.begin(Self.post("c"))
        try database.session().waitForAnother(two)
        let refusal = one.refusal(of: Self.post("d"))
        if refusal == nil {
            let other = #expect(throws: SchemaSession.Refusal.self) { try two.finish() }
            #expect(other?.state == "40P01")
        } else {
            #expect(refusal?.state == "40P01")
            _ = try two.finish()
        }
    }

    @Test("writes to the new one, who waited for one that was deleted and created again")
    func recreated() throws {
        try one.run(
            "begin; select gapless.delete_conversation('c'); select gapless.put_conversation("
                + "'c', '{\"title\": \"new\"}')")
        try two.begin(Self.post("c"))
        try database.session().waitForAnother(two)
        try one.run("commit")
        _ = try two.finish()
        #expect(try log() == "1:2 | 1 2")
        #expect(try one.holds("gapless.put_conversation('c', '{}') ->> 'title' = 'new'"))
    }

    @Test("creates one conversation for two who put it at a time")
    func created() throws {
        try one.run("begin; select gapless.put_conversation('n', '{\"x\": 1}')")
        try two.begin("select gapless.put_conversation('n', '{\"y\": 2}')")
        try database.session().waitForAnother(two)
        try one.run("commit")
        _ = try two.finish()
        #expect(
            try one.holds(
                #"gapless.put_conversation('n', '{}') @> '{"x": 1, "y": 2, "rev": 2}'"#))
    }

    @Test("numbers without a hole, however many write and roll back at a time")
    func dense() throws {
        let sessions = try (0..<6).map { _ in try database.session() }
        for round in 0..<40 {
            for (n, session) in sessions.enumerated() {
                let script =
                    (round + n) % 3 == 0
                    ? "begin; \(Self.post("c")) rollback"
                    : "begin; \(Self.post("c")) savepoint s; \(Self.post("c")) "
                        + ((round + n) % 3 == 1 ? "rollback to s; commit" : "commit")
                try session.begin(script)
            }
            for session in sessions { _ = try session.finish() }
        }
        #expect(
            try one.holds(
                """
                (select count(*) = max(seq) and max(seq) = 240 from gapless.messages
                 where conversation = 'c')
                """))
        #expect(
            try one.holds(
                """
                (select count(*) = max(rev) and count(distinct mark) = max(rev)
                   and max(rev) = (gapless.head('c') ->> 'rev')::bigint
                 from gapless.changes where conversation = 'c')
                """))
        #expect(
            try one.holds(
                """
                not exists (select from gapless.messages a join gapless.messages b
                  on b.conversation = a.conversation and b.seq = a.seq + 1
                  where b.created_at < a.created_at or b.rev <> a.rev + 1)
                """))
    }

    @Test("notifies once a transaction, with the conversation's id alone")
    func notifications() throws {
        let channel = try one.value("select 'gapless_' || id from gapless.installation") ?? ""
        #expect(channel.count == 40)
        try two.run("listen \(channel)")
        try one.run(
            "begin; \(Self.post("c")) savepoint s; \(Self.post("d")) rollback to s;"
                + " \(Self.post("c")) \(Self.post("c")) commit")
        try one.run("begin; \(Self.post("d")) rollback")
        // Each kind of change, and no other call.
        for call in [
            "add_participants('d', array['b'])", "put_conversation('d', '{\"title\": \"D\"}')",
            "put_conversation('d', '{\"title\": \"D\"}')", "mark_read('c', 'a', 1)",
            "post_message('d', 'a', '{\"id\": \"m\", \"body\": \"x\"}')",
            "post_message('d', 'a', '{\"id\": \"m\", \"body\": \"x\"}')",
            "edit_message('d', 'm', '{\"body\": \"y\"}')", "delete_message('d', 'm')",
            "delete_message('d', 'm')", "remove_participants('d', array['b'])",
            "delete_conversation('d')", "delete_conversation('d')",
        ] { try one.run("select gapless.\(call)") }
        try two.run("select 1")
        let heard = two.notifications()
        #expect(heard.map(\.payload) == ["c"] + Array(repeating: "d", count: 7))
        #expect(Set(heard.map(\.channel)) == [channel])
    }

    @Test("tells a read marker on a second channel, if it rose")
    func readMarkers() throws {
        try one.run(Self.post("c"))
        let signals = try one.value("select 'gapless_' || id || '_s' from gapless.installation")
        try two.run("listen \(signals ?? "")")
        try one.run("select gapless.add_participants('c', array['b'])")
        try one.run("select gapless.mark_read('c', 'b', 1); select gapless.mark_read('c', 'b', 0)")
        try two.run("select 1")
        #expect(
            two.notifications().map(\.payload) == [#"[{"c" : "c", "u" : "b", "seq" : 1}]"#])
    }

    @Test("can't be prepared")
    func prepared() throws {
        try one.run("begin; \(Self.post("c"))")
        #expect(one.refusal(of: "prepare transaction 'p'")?.state == "0A000")
        #expect(try log() == nil)
    }

    @Test("reads what the statement's snapshot has")
    func snapshot() throws {
        #expect(
            try one.run(
                "with sent as (\(Self.post("c").dropLast())) select gapless.head('c') ->> 'seq'"
                    + " from sent") == [["0"]])
        #expect(try one.holds("gapless.head('c') ->> 'seq' = '1'"))
    }
}
