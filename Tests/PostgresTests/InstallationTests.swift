import Postgres
import TestSupport
import Testing

@Suite(.serialized) final class InstallationTests {
    let database: Database
    let session: SchemaSession
    let installation: Installation

    init() throws {
        database = try Database(isInstalled: false)
        session = try database.session()
        installation = Installation(Schema(), session)
    }

    /// The shared server is told not to sync, which is found.
    private func faults() throws -> [String] {
        try installation.faults().filter { !$0.hasPrefix("dangerous: fsync is off") }
    }

    @Test("is idempotent: what is there stays as it is")
    func idempotence() throws {
        #expect(try faults() == ["missing: schema gapless (gapless postgres install makes it)"])
        #expect(try installation.install() == [])
        #expect(try faults() == [])
        try session.run(
            """
            select gapless.put_conversation('c', '{}');
            select gapless.post_message('c', 'a', '{"body": "1"}');
            update gapless.settings set value = 5 where name = 'limits.message'
            """)
        let before = try session.run("select gapless.head('c'), id from gapless.installation")
        #expect(try installation.install() == [])
        #expect(try session.run("select gapless.head('c'), id from gapless.installation") == before)
        #expect(
            try session.holds(
                "(select value = 5 from gapless.settings where name = 'limits.message')"))
    }

    /// Changes, and the fault that is found for each.
    private static let changes = [
        ("drop function gapless.head", "missing: function head"),
        ("drop index gapless.messages_by_rev", "missing: index messages_by_rev"),
        ("alter table gapless.messages drop hash", "missing: column messages.hash"),
        (
            "alter table gapless.reads alter user_id type text",
            "differs: column reads.user_id is text not null, not text collate \"C\" not null"
        ),
        (
            "alter table gapless.changes alter at drop not null",
            "differs: column changes.at is timestamp with time zone, not timestamp with time"
                + " zone not null"
        ),
        (
            "alter table gapless.list_changes alter xid drop default",
            "differs: column list_changes.xid is xid8 not null, not xid8 not null default"
        ),
        (
            "alter table gapless.messages drop constraint messages_pkey",
            "missing: primary key of table messages"
        ),
        (
            "drop index gapless.messages_by_id; create index messages_by_id"
                + " on gapless.messages (conversation, id)",
            "differs: index messages_by_id is on messages (conversation, id), not unique on"
                + " messages (conversation, id)"
        ),
        (
            "drop index gapless.messages_deleted; create index messages_deleted"
                + " on gapless.messages (conversation, seq)",
            "differs: index messages_deleted is on messages (conversation, seq), not on"
                + " messages (conversation, seq) where deleted"
        ),
        (
            "create function gapless.head(conversation varchar) returns jsonb language sql"
                + " as 'select null::jsonb'",
            "differs: function gapless.head(character varying) is (conversation character"
                + " varying) returns jsonb, not (conversation text) returns jsonb"
        ),
        (
            "drop function gapless.head; create function gapless.head(conversation text)"
                + " returns json language sql as 'select null::json'",
            "differs: function gapless.head(text) is (conversation text) returns json, not"
                + " (conversation text) returns jsonb"
        ),
        (
            "alter function gapless.head set search_path = public, pg_temp",
            "dangerous: gapless.head(text) runs with search_path=public, pg_temp"
        ),
        (
            "create role stranger_here; alter function gapless.head owner to stranger_here",
            "dangerous: gapless.head(text) belongs to stranger_here, not to the owner of the"
                + " schema"
        ),
        (
            "grant execute on function gapless.gateway_write to gapless_writer",
            "dangerous: gapless_writer may execute gapless.gateway_write(json,boolean)"
        ),
        (
            "grant execute on function gapless.remove_log to gapless_gateway",
            "dangerous: gapless_gateway may execute gapless.remove_log(gapless.conversations)"
        ),
        (
            "grant update on sequence gapless.disconnects_id_seq to gapless_writer",
            "dangerous: gapless_writer may update sequence disconnects_id_seq"
        ),
        (
            "grant select (content) on gapless.messages to gapless_writer",
            "dangerous: gapless_writer may select table messages"
        ),
        (
            "create or replace function gapless.ring(p_conversation text) returns void"
                + " language sql as ''",
            "differs: body of function gapless.ring(text)"
        ),
        (
            "alter function gapless.ring reset search_path",
            "dangerous: search_path of gapless.ring(text) does not end with pg_temp"
        ),
        (
            "alter function gapless.head security invoker",
            "differs: gapless.head(text) is not security definer"
        ),
        (
            "alter function gapless.head volatile", "differs: volatility of gapless.head(text)"
        ),
        ("alter function gapless.head strict", "differs: volatility of gapless.head(text)"),
        (
            "grant execute on function gapless.head to public",
            "dangerous: everybody may execute gapless.head(text)"
        ),
        (
            "grant select on gapless.messages to public",
            "dangerous: everybody may select table messages"
        ),
        (
            "grant create on schema gapless to gapless_writer",
            "dangerous: gapless_writer may create in schema gapless"
        ),
        (
            "grant all on schema gapless to public",
            "dangerous: everybody may create in schema gapless"
        ),
        (
            "create function gapless.old() returns void language sql as ''",
            "differs: function gapless.old() is none of this version"
        ),
        (
            "revoke usage on schema gapless from gapless_writer",
            "missing: right of gapless_writer to execute post_message"
        ),
        (
            "update gapless.installation set version = 0",
            "differs: version 0, this program has 2 (gapless postgres upgrade goes up)"
        ),
        (
            "set synchronous_commit = off",
            "dangerous: synchronous_commit is off: what was acknowledged may be lost in a"
                + " crash (accepted: on, remote_apply, remote_write, and local where there is"
                + " no synchronous standby)"
        ),
    ]

    @Test("finds what is missing, differs or is dangerous")
    func finds() throws {
        _ = try installation.install()
        for (change, fault) in Self.changes {
            try session.run("begin")
            try session.run(change)
            let found = try faults()
            #expect(found.contains(fault), "\(change): \(found)")
            try session.run("rollback")
        }
    }

    /// Databases of this server share their roles.
    @Test("gives nothing to whom the owner's default privileges name, but what applications call")
    func defaultPrivileges() throws {
        let role = "reporting_\(session.process)"
        try session.run(
            """
            create role \(role);
            alter default privileges grant all on tables to \(role);
            alter default privileges grant all on sequences to \(role);
            alter default privileges grant execute on functions to \(role);
            alter default privileges grant create on schemas to \(role)
            """)
        defer { _ = try? session.run("drop owned by \(role); drop role \(role)") }
        _ = try installation.install()
        #expect(try faults() == [])
        let may = try session.run(
            "select proname from pg_proc where pronamespace = 'gapless'::regnamespace"
                + " and has_function_privilege('\(role)', oid, 'execute') order by 1")
        #expect(may.compactMap { $0[0] } == Schema.calledByApplications.sorted())
        try session.run("grant create on schema gapless to \(role)")
        let refusal = try other(role).refusal(of: Self.trap)
        #expect(refusal == nil, "the test itself")
        try session.run("drop function gapless.unnest(text[])")
        _ = try installation.install()
        #expect(try faults() == [])
        #expect(try other(role).refusal(of: Self.trap)?.state == "42501")
    }

    /// A function that a call of Postgres' own would prefer, run by the owner.
    private static let trap = """
        create function gapless.unnest(text[]) returns setof text language sql
          as 'select current_user::text'
        """

    private func other(_ role: String) throws -> SchemaSession {
        let other = try database.session()
        try other.run("set role \(role)")
        return other
    }

    @Test("waits for nobody who writes, if all is there")
    func besideWriters() throws {
        _ = try installation.install()
        let writer = try database.session()
        try writer.run(
            """
            begin;
            select gapless.put_conversation('c', '{"participants": ["a"]}');
            select gapless.post_message('c', 'a', '{"body": "1"}')
            """)
        try session.run("set lock_timeout = '3s'")
        #expect(try installation.install() == [])
        _ = try installation.upgrade()
        // Who writes to other tables meanwhile would be a deadlock with locks in another order.
        try writer.run("select gapless.post_message('c', 'a', '{\"body\": \"2\"}'); commit")
    }

    @Test("lets others write while it waits for a lock, and tries again")
    func missingIndex() throws {
        _ = try installation.install()
        try session.run(
            "select gapless.put_conversation('c', '{}'), gapless.put_conversation('d', '{}');"
                + " drop index gapless.messages_deleted")
        let holder = try database.session()
        try holder.run("begin; select gapless.post_message('c', 'a', '{\"body\": \"1\"}')")
        try holder.begin("select pg_sleep(4); commit")
        let writer = try database.session()
        try writer.run("set lock_timeout = '2s'")
        try writer.begin(
            """
            select pg_sleep(0.5); select gapless.post_message('d', 'a', '{"body": "1"}');
            select pg_sleep(0.5); select gapless.post_message('d', 'a', '{"body": "2"}')
            """)
        #expect(try installation.install() == [])
        _ = try writer.finish()
        _ = try holder.finish()
        #expect(try faults() == [])
    }

    @Test("gives sequences their place after rows came without them, as by logical replication")
    func sequences() throws {
        _ = try installation.install()
        try session.run(
            """
            select gapless.put_conversation('c', '{"participants": ["a", "b"]}');
            alter sequence gapless.list_changes_id_seq restart;
            alter sequence gapless.disconnects_id_seq restart with 9
            """)
        #expect(session.refusal(of: "select gapless.put_conversation('d', '{}')") == nil)
        let join = "select gapless.add_participants('d', '{a}')"
        #expect(session.refusal(of: join)?.state == "23505")
        _ = try installation.install()
        #expect(session.refusal(of: join) == nil)
        #expect(try session.holds("nextval('gapless.disconnects_id_seq') = 9"))
    }

    @Test("goes up in one transaction, and names what depends on what it would drop")
    func upgrade() throws {
        #expect(throws: Installation.Refused.self) { try installation.upgrade() }
        _ = try installation.install()
        try session.run(
            """
            update gapless.installation set version = 0;
            create function gapless.old() returns integer language sql as 'select 1';
            create view of_shop as select gapless.old();
            drop function gapless.head
            """)
        let refused = #expect(throws: Installation.Refused.self) { try installation.upgrade() }
        #expect(refused?.text.contains("gapless.old() has to be dropped") == true)
        #expect(refused?.text.contains("view of_shop") == true)
        #expect(try session.holds("to_regprocedure('gapless.head(text)') is null"))
        let install = #expect(throws: Installation.Refused.self) { try installation.install() }
        #expect(install?.text.contains("gapless postgres upgrade") == true)
        try session.run("drop view of_shop")
        let done = try installation.upgrade()
        #expect(done == ["dropped gapless.old()", "schema gapless is at version 2"])
        #expect(try faults() == [])
    }

    @Test("drops what would stand beside a function of its own, or in its way")
    func superseded() throws {
        _ = try installation.install()
        for declaration in [
            "signal_read(p_signal json) returns json", "head(conversation varchar) returns jsonb",
            "head(conversation text) returns json", "head(talk text) returns jsonb",
            "page_of(c gapless.messages) returns json",
        ] {
            let name = declaration.prefix { $0 != "(" }
            let result = declaration.split(separator: " ").last ?? ""
            // One with these arguments is there already.
            if declaration.hasPrefix("head("), declaration.contains(" text)") {
                try session.run("drop function gapless.head")
            }
            try session.run(
                "create function gapless.\(declaration) language sql as 'select null::\(result)'")
            #expect(try !faults().isEmpty, "\(declaration)")
            let done = try installation.upgrade()
            #expect(done.count == 2 && done[0].hasPrefix("dropped gapless.\(name)("), "\(done)")
            #expect(try faults() == [], "\(declaration)")
            #expect(try session.value("select gapless.head('none')") == nil)
        }
    }

    @Test(
        "installs, checks, goes up and works under any name",
        arguments: ["Ünder a,b;c", "select", "it's \"quoted\" \\", "(x) returns y"])
    func names(name: String) throws {
        let own = Installation(Schema(name: name), session)
        #expect(try own.install() == [])
        let faults = try own.faults().filter { !$0.hasPrefix("dangerous: fsync is off") }
        #expect(faults == [])
        #expect(try own.upgrade().count == 1)
        let schema = Schema.quoted(name)
        try session.run(
            """
            select \(schema).put_conversation('c', '{"participants": ["a"]}');
            select \(schema).post_message('c', 'a', '{"body": "1"}');
            select \(schema).gateway_read('{"q": "view", "c": "c"}')
            """)
        #expect(try session.holds("(\(schema).head('c') ->> 'seq') = '1'"))
    }

    @Test("writes limits for those who write in SQL")
    func limits() throws {
        _ = try installation.install()
        try installation.hold(["limits.message": 3, "limits.connections": 1])
        try session.run("select gapless.put_conversation('c', '{}')")
        let post = "select gapless.post_message('c', 'a', '{\"body\": \"1234\"}')"
        #expect(session.refusal(of: post)?.state == "PG413")
        #expect(try session.holds("(select count(*) = 10 from gapless.settings)"))
    }

    @Test("does not touch what a later version installed")
    func later() throws {
        _ = try installation.install()
        try session.run("update gapless.installation set version = 3")
        #expect(throws: Installation.Refused.self) { try installation.install() }
        #expect(throws: Installation.Refused.self) { try installation.upgrade() }
        #expect(session.refusal(of: Schema().text)?.hint?.contains("later") == true)
    }

    @Test("refuses a database of another encoding")
    func encoding() throws {
        let name = "\(database.name)_latin"
        try session.run(
            "create database \(name) encoding 'LATIN1' locale 'C' template template0")
        defer { _ = try? session.run("drop database \(name) with (force)") }
        let other = try SchemaSession(database.server.url(name))
        let refusal = other.refusal(of: Schema().text)
        #expect(refusal?.message.contains("LATIN1, only UTF8 is accepted") == true)
        let faults = try Installation(Schema(), try SchemaSession(database.server.url(name)))
            .faults()
        #expect(faults.contains("dangerous: the encoding is LATIN1 (accepted: UTF8)"))
    }
}
