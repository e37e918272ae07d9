import Postgres
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What health says of Postgres ends with its cause.
@Suite struct PostgresTroubleTests {
    @Test("a refused write of one conversation is over with the next that passes")
    func refusedInside() throws {
        let url = try PostgresProcess.sharedDatabase()
        try SchemaSession(url).run(
            """
            create function refuse() returns trigger language plpgsql as $$
            begin
              if new.content::text like '%forbidden%' then raise exception 'no'; end if;
              return new;
            end $$;
            create trigger refuse before insert on gapless.messages
              for each row execute function refuse()
            """)
        let subject = Subject(PostgresUpstream(PostgresOptions(url: url)))
        try subject.conversation()
        #expect(throws: RequestError.self) { try subject.send("forbidden") }
        #expect(subject.upstream.faults.trouble?.text.contains("conversation c1") == true)
        #expect(subject.upstream.faults.trouble?.text.contains("P0001") == true)
        try subject.send("fine")
        #expect(subject.upstream.faults.trouble == nil)
    }

    @Test("a refused write is told once, and forgotten after a while")
    func memory() {
        let refusals = PostgresRefusals(memory: .zero)
        #expect(refusals.refused("c".id, "23514")?.text.contains("23514") == true)
        #expect(refusals.refused("c".id, "23514") == nil)
        #expect(refusals.refused("c".id, "P0001") != nil)
        #expect(refusals.trouble == nil)
        let lasting = PostgresRefusals()
        _ = lasting.refused("c".id, "23514")
        lasting.passed(["d".id])
        #expect(lasting.trouble != nil)
        lasting.passed(["c".id])
        #expect(lasting.trouble == nil)
    }

    @Test("a server that takes writes again is well again, although nobody writes")
    func readOnly() throws {
        let server = try PostgresProcess()
        let subject = Subject(PostgresUpstream(PostgresOptions(url: try server.database())))
        try subject.conversation()
        try server.query("alter system set default_transaction_read_only = on")
        try server.query("select pg_reload_conf()")
        let isRefused = Deadline.standard.poll { (try? subject.send("refused")) == nil }
        #expect(isRefused)
        #expect(subject.upstream.faults.trouble?.text.contains("25006") == true)
        #expect(subject.upstream.faults.refusedWrites[.readonly] ?? 0 > 0)
        let counted = subject.upstream.faults.refusedWrites[.readonly]
        // It looks meanwhile, and does not count that.
        let isLooking = try Deadline.standard.poll {
            try server.query("select xact_rollback from pg_stat_database where datname like 'd%'")
                != "0"
        }
        #expect(isLooking)
        #expect(subject.upstream.faults.refusedWrites[.readonly] == counted)
        #expect(subject.upstream.faults.trouble != nil)
        try server.query("alter system reset default_transaction_read_only")
        try server.query("select pg_reload_conf()")
        #expect(Deadline.standard.poll { subject.upstream.faults.trouble == nil })
    }
}
