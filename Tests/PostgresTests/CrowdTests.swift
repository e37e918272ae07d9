import Postgres
import Testing

/// What concerns one of those who take part, or none of them, costs the same however many they are.
/// Counted are the rows that Postgres reads, and the bytes that it answers: no clock is asked.
@Suite(.serialized) final class CrowdTests {
    let database: Database
    let session: SchemaSession

    init() throws {
        database = try Database()
        session = try database.session()
        try session.run(
            "update gapless.settings set value = 100000 where name = 'limits.participants'")
    }

    /// A conversation of so many people, who lie where they would in a table that is in use.
    private func gather(_ count: Int) throws {
        try session.run(
            """
            select gapless.put_conversation('c\(count)', jsonb_build_object('participants', (
                select jsonb_agg('user-' || n) from generate_series(1, \(count)) n),
              'admins', '["user-5"]'::jsonb));
            select gapless.post_message('c\(count)', 'user-7', '{"id": "m", "body": "hello"}')
            """)
        try session.run("vacuum analyze gapless.members")
        try session.run("analyze gapless.changes")
    }

    /// Rows and entries of indexes that this transaction has read so far, in the schema.
    private func rows() throws -> Int {
        let text = try session.value(
            """
            select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))
            from pg_class where relnamespace = 'gapless'::regnamespace and relkind in ('r', 'i')
            """)
        return text.flatMap { Int($0) } ?? .max
    }

    /// Everything that is about one, a title, or a message, by name: what it reads, and how much it
    /// answers.
    private func costs(_ conversation: String) throws -> [String: (rows: Int, bytes: Int)] {
        let name = "\"\(conversation)\""
        let asked = [
            "view": #""c":"C","q":"view","reader":"user-3","named":["user-9"]"#,
            "look": #""c":"C","q":"look","user":"user-3","id":"m""#,
            "page of people": #""c":"C","q":"people","limit":10,"offset":0,"order":"desc""#,
            "list": #""q":"list","user":"user-3","limit":20,"bytes":100000,"cursor":null"#,
            "views": #""q":"views","user":"user-3","conversations":["C"]"#,
        ].mapValues { "gapless.gateway_read('{\($0.replacing("\"C\"", with: name))}')" }
        let record = """
            gapless.gateway_write(json_build_array(jsonb_build_object('op', 'record', 'c', id,
              'epoch', epoch, 'recordRev', record_rev, 'viewer', 'user-5') || '%'), false)
            from gapless.conversations where id = '\(conversation)'
            """
        let written = [
            "title": #"{"title": "t"}"#,
            "join": #"{"write": [{"user": "one", "admin": false}]}"#,
            "promote": #"{"write": [{"user": "user-6", "admin": true}]}"#,
            "leave": #"{"leave": ["user-8", "user-6"]}"#,
        ].mapValues { record.replacing("%", with: $0) }
        let told = """
            gapless.gateway_read(json_build_object('q', 'chain', 'c', c.id, 'epoch', c.epoch,
              'rev', c.rev - 1, 'mark', b.mark, 'limit', 500, 'bytes', 100000))
            from gapless.conversations c join gapless.changes b
              on b.conversation = c.id and b.rev = c.rev - 1 where c.id = '\(conversation)'
            """
        let called = [
            "title in SQL": #"put_conversation('C', '{"title": "u"}')"#,
            "join in SQL": "add_participants('C', '{two}')",
            "leave in SQL": "remove_participants('C', '{user-2}')",
            "promote in SQL": #"put_conversation('C', '{"admins": ["user-5", "user-4"]}')"#,
            "post": #"post_message('C', 'user-7', '{"body": "hi"}')"#,
            "edit": #"edit_message('C', 'm', '{"body": "hi"}')"#,
            "read": "mark_read('C', 'user-3', 1)",
        ].mapValues { "gapless." + $0.replacing("'C'", with: "'\(conversation)'") }
        var costs: [String: (rows: Int, bytes: Int)] = [:]
        for (name, call) in Array(asked) + Array(written) + Array(called) {
            try session.run("begin")
            let before = try rows()
            let answer = try session.value("select \(call)") ?? ""
            costs[name] = (try rows() - before, answer.utf8.count)
            guard written[name] != nil else {
                try session.run("rollback")
                continue
            }
            let reading = try rows()
            let event = try session.value("select \(told)") ?? ""
            costs["event of a \(name)"] = (try rows() - reading, event.utf8.count)
            try session.run("rollback")
        }
        return costs
    }

    @Test("costs the same with many who take part")
    func costs() throws {
        try gather(200)
        let few = try costs("c200")
        // A list is to have one of them.
        try session.run("select gapless.delete_conversation('c200')")
        try gather(10_000)
        let many = try costs("c10000")
        #expect(few.count == 20)
        for (name, cost) in few {
            let found = many[name] ?? (.max, .max)
            #expect(found.rows <= cost.rows + cost.rows / 4 + 40, "\(name): \(cost), \(found)")
            #expect(found.bytes <= cost.bytes + cost.bytes / 4 + 40, "\(name): \(cost), \(found)")
        }
    }

    /// One log of so many messages, which the planner knows.
    private func fill(_ count: Int) throws {
        try session.run(
            """
            select gapless.put_conversation('long', '{"participants": ["a", "b"]}');
            insert into gapless.messages (
                conversation, seq, rev, id, author, content, created_at, first_rev, hash)
              select 'long', n, n + 1, 'm' || n, 'a', '{"body": "hello"}', clock_timestamp(),
                n + 1, gapless.content_hash('{"body": "hello"}')
              from generate_series(1, \(count)) n;
            insert into gapless.changes (conversation, rev, mark, slot, at)
              select 'long', n + 1, 'mark', n, clock_timestamp()
              from generate_series(1, \(count)) n;
            insert into gapless.authors values ('long', 'a', \(count));
            update gapless.conversations set seq = \(count), rev = \(count) + 1, mark = 'mark',
              last_seq = \(count) where id = 'long'
            """)
        try session.run("vacuum analyze gapless.messages")
        try session.run("vacuum analyze gapless.changes")
    }

    /// What is about the end of a log: what it reads.
    private func endCosts(_ count: Int) throws -> [String: Int] {
        func asked(_ question: String) -> String {
            "gapless.gateway_read(('{\"c\": \"long\", \(question)}')::json)"
        }
        let chain = "\"epoch\": \"' || c.epoch || '\", \"limit\": 10, \"bytes\": 100000"
        let head = " from gapless.conversations c where c.id = 'long'"
        let calls = [
            "post": "gapless.post_message('long', 'a', '{\"body\": \"hi\"}')",
            "edit": "gapless.edit_message('long', 'm\(count)', '{\"body\": \"hi\"}')",
            "delete": "gapless.delete_message('long', 'm\(count)')",
            "title": "gapless.put_conversation('long', '{\"title\": \"t\"}')",
            "read": "gapless.mark_read('long', 'b', \(count - 5))",
            "messages": "count(*) from gapless.messages('long', '{\"limit\": 10}')",
            "view": asked("\"q\": \"view\", \"reader\": \"b\", \"named\": []"),
            "look": asked("\"q\": \"look\", \"user\": \"a\", \"id\": \"m5\""),
            "page": asked(
                "\"q\": \"page\", \"limit\": 10, \"bytes\": 100000, \"order\": \"asc\""),
            "changes": asked(
                "\"q\": \"changes\", \"since\": \(count - 5), \"mark\": \"mark\","
                    + " \"limit\": 10, \"bytes\": 100000, \"recordAbove\": 1"),
            "chain": asked(
                "\"q\": \"chain\", \"rev\": \(count - 5), \"mark\": \"mark\", " + chain)
                + head,
            "trim": "gapless.gateway_trim(100, 0, 0, 0, 1000)",
        ]
        var costs: [String: Int] = [:]
        for (name, call) in calls {
            try session.run("begin; set local plan_cache_mode = force_generic_plan")
            let before = try rows()
            try session.run("select \(call)")
            costs[name] = try rows() - before
            try session.run("rollback")
        }
        return costs
    }

    /// Postgres makes a plan for no value in particular once it has planned a statement five times.
    @Test("costs the same at the end of a long log, by generic plans")
    func longLog() throws {
        try fill(1000)
        let few = try endCosts(1000)
        try session.run("select gapless.delete_conversation('long')")
        try fill(20_000)
        let many = try endCosts(20_000)
        #expect(few.count == 12)
        for (name, cost) in few {
            let found = many[name] ?? .max
            #expect(found <= cost + cost / 4 + 40, "\(name): \(cost), \(found)")
        }
    }
}
