import Postgres
import Testing

/// What the catalogue says of the schema: over all functions and tables, whatever is added.
@Suite(.serialized) final class CatalogueTests {
    let database: Database
    let session: SchemaSession

    init() throws {
        database = try Database()
        session = try database.session()
    }

    private static let here = "'gapless'::regnamespace"

    @Test(
        "has no function that breaks a rule",
        arguments: [
            "not prosecdef",
            "proisstrict",
            "pronargdefaults > 0",
            "provariadic <> 0",
            "prokind <> 'f'",
            "not coalesce(array_to_string(proconfig, '|') ~ '^search_path=.*, pg_temp$', false)",
            "has_function_privilege('public', oid, 'execute')",
            "exists (select from pg_proc o where o.oid <> p.oid and o.proname = p.proname"
                + " and o.pronamespace = p.pronamespace)",
            "proowner <> (select nspowner from pg_namespace where oid = pronamespace)",
        ])
    func functions(rule: String) throws {
        let broken = try session.run(
            "select oid::regprocedure from pg_proc p"
                + " where pronamespace = \(Self.here) and (\(rule))")
        #expect(broken == [])
    }

    @Test("lets each role call what is meant for it, and nothing else")
    func roles() throws {
        for (role, called) in [
            ("gapless_gateway", Schema.calledByGateways),
            ("gapless_writer", Schema.calledByApplications),
        ] {
            let may = try session.run(
                "select proname from pg_proc where pronamespace = \(Self.here)"
                    + " and has_function_privilege('\(role)', oid, 'execute') order by 1")
            #expect(may.compactMap { $0[0] } == called.sorted())
            let tables = try session.run(
                "select relname from pg_class where relnamespace = \(Self.here)"
                    + " and relkind in ('r', 'S', 'v') and ("
                    + "has_table_privilege('\(role)', oid, 'select, insert, update, delete'))")
            #expect(tables == [])
        }
    }

    @Test("reads by stable functions, and by stable ones only")
    func volatility() throws {
        let reading = ["messages", "head", "gateway_hello", "gateway_read"]
        let stable = try session.run(
            "select proname from pg_proc where pronamespace = \(Self.here) and provolatile = 's'")
        let names = Set(stable.compactMap { $0[0] })
        #expect(names.isSuperset(of: reading))
        let mixed = try session.run(
            """
            select s.proname, v.proname from pg_proc s, pg_proc v
            where s.pronamespace = \(Self.here) and v.pronamespace = \(Self.here)
              and s.provolatile <> 'v' and v.provolatile = 'v'
              and s.prosrc ~ ('\\m' || v.proname || '\\s*\\(')
            """)
        #expect(mixed == [])
        let writing = try session.run(
            "select proname from pg_proc where pronamespace = \(Self.here) and provolatile <> 'v'"
                + " and prosrc ~* '\\m(insert into|update|delete from|for (no key )?update)\\M'")
        #expect(writing == [])
    }

    @Test("compares ids by bytes, and keeps what clients send as text")
    func columns() throws {
        let others = try session.run(
            """
            select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
            left join pg_collation l on l.oid = a.attcollation
            where c.relnamespace = \(Self.here) and c.relkind = 'r' and a.attnum > 0
              and a.atttypid = 'text'::regtype and l.collname <> 'C'
            """)
        #expect(Set(others) == [["conversations", "title"], ["members", "name"]])
        let binary = try session.run(
            "select attname from pg_attribute a join pg_class c on c.oid = a.attrelid"
                + " where c.relnamespace = \(Self.here) and atttypid = 'jsonb'::regtype")
        #expect(binary == [])
    }

    @Test("does not lock out an owner who is no superuser and may make no roles")
    func owner() throws {
        try session.run(
            "drop role if exists gapless_owner; create role gapless_owner login;"
                + " grant create on database \(database.name) to gapless_owner")
        defer {
            _ = try? session.run("drop owned by gapless_owner cascade; drop role gapless_owner")
        }
        let schema = Schema(name: "of \"its\" own", gatewayRole: "nobody's", writerRole: "none")
        let installation = Installation(schema, try database.session(as: "gapless_owner"))
        let warnings = try installation.install()
        #expect(warnings.count == 2)
        #expect(warnings.first?.contains("the role nobody's is not there") == true)
        #expect(warnings.first?.contains("create role \"nobody's\" nologin") == true)
        #expect(try installation.install().count == 2)
        let own = installation.session
        try own.run(#"select "of ""its"" own".put_conversation('c', '{}')"#)
        #expect(try own.holds(#""of ""its"" own".gateway_hello() ->> 'timeline' = '1'"#))
        let faults = try installation.faults().filter { !$0.contains("fsync") }
        #expect(faults == ["missing: role nobody's", "missing: role none"])
    }
}
