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

    @Test(
        "finds what is missing, differs or is dangerous",
        arguments: [
            ("drop function gapless.head", "missing: function head"),
            ("drop index gapless.messages_by_rev", "missing: index messages_by_rev"),
            ("alter table gapless.messages drop hash", "missing: column messages.hash"),
            (
                "alter table gapless.reads alter user_id type text",
                "differs: column reads.user_id is text, not text collate \"C\""
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
                "create function gapless.old() returns void language sql as ''",
                "differs: function gapless.old() is none of this version"
            ),
            (
                "revoke usage on schema gapless from gapless_writer",
                "missing: right of gapless_writer to execute post_message"
            ),
            (
                "update gapless.installation set version = 0",
                "differs: version 0, this program has 1 (gapless postgres upgrade goes up)"
            ),
            (
                "set synchronous_commit = off",
                "dangerous: synchronous_commit is off: what was acknowledged may be lost in a"
                    + " crash (accepted: on, remote_apply, remote_write, and local where there is"
                    + " no synchronous standby)"
            ),
        ])
    func finds(change: String, fault: String) throws {
        _ = try installation.install()
        try session.run(change)
        let found = try faults()
        #expect(found.contains(fault), "\(found)")
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
        #expect(done == ["dropped gapless.old()", "schema gapless is at version 1"])
        #expect(try faults() == [])
    }

    @Test("writes limits for those who write in SQL")
    func limits() throws {
        _ = try installation.install()
        try installation.hold(["limits.message": 3, "limits.connections": 1])
        try session.run("select gapless.put_conversation('c', '{}')")
        let post = "select gapless.post_message('c', 'a', '{\"body\": \"1234\"}')"
        #expect(session.refusal(of: post)?.state == "PG413")
        #expect(try session.holds("(select count(*) = 6 from gapless.settings)"))
    }

    @Test("does not touch what a later version installed")
    func later() throws {
        _ = try installation.install()
        try session.run("update gapless.installation set version = 2")
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
