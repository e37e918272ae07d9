import Postgres
import RuleCases
import Testing
import Wire

/// A sentence of the contract about the functions of an application, and what shows it. All of it
/// is one transaction, rolled back at its end; `c` is a conversation with alice, its admin, and
/// bob, and `m` a message of alice in it.
struct Sentence: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        /// It is done.
        case run(String)
        /// The condition holds.
        case holds(String)
        /// It is refused with the SQLSTATE, and the message holds the words.
        case refused(String, String, naming: String)
    }

    let testDescription: String
    let steps: [Step]

    init(_ text: String, _ steps: Step...) {
        testDescription = text
        self.steps = steps
    }
}

@Suite(.serialized) final class ApplicationTests {
    let database: Database
    let session: SchemaSession

    init() throws {
        database = try Database()
        session = try database.session()
    }

    @Test("keeps each sentence about what an application calls", arguments: Sentence.all)
    func sentence(_ sentence: Sentence) throws {
        try session.run(
            """
            begin;
            select gapless.put_conversation(
              'c', '{"title": "T", "participants": ["alice", "bob"], "admins": ["alice"]}');
            select gapless.post_message('c', 'alice', '{"id": "m", "body": "hi"}');
            """)
        defer { _ = try? session.run("rollback") }
        for step in sentence.steps {
            switch step {
            case .run(let script): try session.run(script)
            case .holds(let condition): #expect(try session.holds(condition), "\(condition)")
            case .refused(let call, let state, let words):
                try session.run("savepoint s")
                let refusal = session.refusal(of: "select \(call)")
                #expect(refusal?.state == state, "\(call): \(refusal?.description ?? "done")")
                #expect(refusal?.message.contains(words) == true, "\(refusal?.message ?? "")")
                try session.run("rollback to s")
            }
        }
    }

    @Test("refuses what every log refuses, for the same reason")
    func refusals() throws {
        try session.run("begin; " + Refused.worldSQL)
        defer { _ = try? session.run("rollback") }
        for row in Refused.all {
            guard let call = row.sql else { continue }
            try session.run("savepoint s")
            let refusal = session.refusal(of: "select gapless.\(call)")
            let status = RequestError(row.reason, "").code.status
            #expect(refusal?.state == "PG\(status)", "\(call): \(refusal?.message ?? "done")")
            try session.run("rollback to s")
        }
    }

    @Test("refuses NULL for each argument of each function, by name")
    func nulls() throws {
        let functions = try session.run(
            """
            select p.proname, n, a.name, string_agg(format('%s::%s',
                case when k = n then 'null' when t = 'text'::regtype then quote_literal('c')
                  when t = 'jsonb'::regtype then quote_literal('{}')
                  when t = 'text[]'::regtype then quote_literal('{}')
                  when t = 'boolean'::regtype then 'true' else '0' end,
                t::regtype), ', ' order by k)
            from pg_proc p, generate_series(1, p.pronargs) n,
              unnest(p.proargtypes::oid[]) with ordinality as args(t, k),
              lateral (select p.proargnames[n] as name) a
            where p.pronamespace = 'gapless'::regnamespace and p.proname = any (array[
              'put_conversation', 'delete_conversation', 'add_participants',
              'remove_participants', 'post_message', 'edit_message', 'delete_message', 'mark_read',
              'react',
              'messages', 'head'])
            group by p.oid, p.proname, n, a.name order by 1, 2
            """)
        #expect(functions.count == 26)
        for row in functions {
            let (function, argument) = (row[0] ?? "", row[2] ?? "")
            try session.run(
                "begin; select gapless.put_conversation('c', '{\"participants\": [\"c\"]}');"
                    + "select gapless.post_message('c', 'c', '{\"id\": \"c\", \"body\": \"\"}')")
            let refusal = session.refusal(of: "select gapless.\(function)(\(row[3] ?? ""))")
            #expect(refusal?.state == "PG400", "\(function), \(argument)")
            #expect(refusal?.message.hasPrefix("\(argument): NULL (accepted: ") == true)
            try session.run("rollback")
        }
    }
}
