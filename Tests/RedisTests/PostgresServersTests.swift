import Foundation
import Glibc
import Ports
import Postgres
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Which server a gateway goes to, and with how little it starts.
@Suite struct PostgresServersTests {
    @Test("goes to the newest primary that a service names, and begins there")
    func service() throws {
        let pair = try PostgresPair()
        let file = pair.primary.directory + "/services"
        let name = "pair\(pair.primary.port)"
        let service = """
            [\(name)]
            host=127.0.0.1,127.0.0.1
            port=\(pair.primary.port),\(pair.standby.port)
            user=postgres
            dbname=\(pair.database)

            """
        try Data(service.utf8).write(to: URL(filePath: file))
        setenv("PGSERVICEFILE", file, 1)
        var options = PostgresOptions(url: "service=\(name)")
        options.verifyInterval = .seconds(1)
        #expect(try PostgresHosts(options.url).all.map(\.port).count == 2)
        let subject = Subject(PostgresUpstream(options))
        try subject.conversation()
        let hasAll = try Deadline.standard.poll {
            try pair.standby.query(
                "select count(*) from gapless.conversations",
                in: pair.standby.url(pair.database)) == "1"
        }
        #expect(hasAll)
        try pair.promote()
        let hasMoved = try Deadline.standard.poll {
            _ = try? subject.send("where")
            return try pair.standby.query(
                "select count(*) from gapless.messages", in: pair.standby.url(pair.database)) != "0"
        }
        #expect(hasMoved, "it stays at the old primary")
        let other = Subject(PostgresUpstream(options))
        try other.waitUntilOnline()
        try other.send("here", id: "here")
        #expect(
            try pair.standby.query(
                "select count(*) from gapless.messages where id = 'here'",
                in: pair.standby.url(pair.database)) == "1")
    }

    @Test("starts and starts again with two connections", arguments: [2, 3, 5])
    func connectionLimit(limit: Int) throws {
        let server = try PostgresProcess.shared()
        let url = try server.database()
        let database = String(url.split(separator: "/").last ?? "")
        let role = "limited_\(database)_\(limit)"
        try server.query(
            "create role \(role) login connection limit \(limit) in role gapless_gateway")
        let subject = Subject(
            PostgresUpstream(PostgresOptions(url: server.url(database, user: role))))
        try subject.waitUntilOnline()
        try subject.conversation()
        for round in 1...3 {
            let before = subject.outputs.count
            // The listener's, whose place is free then for who is faster.
            let isEnded = try Deadline.standard.poll {
                try server.query(
                    "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
                        + " where usename = '\(role)' and query like '%pg_backend_pid%'") != "0"
            }
            #expect(isEnded)
            _ = try subject.outputs.wait("the end of the feed", from: before) {
                if case .lapsed = $0 { true } else { nil }
            }
            try subject.waitUntilOnline()
            try subject.send("message \(round)")
        }
    }

    @Test("reads while a commit hangs that nobody's notification gets past")
    func hangingCommit() throws {
        let pair = try PostgresPair(isSynchronous: true)
        let url = pair.primary.url(pair.database)
        let application = try SchemaSession(url)
        try application.run(
            """
            select gapless.put_conversation('c1', '{"participants": ["alice"]}');
            select gapless.post_message('c1', 'alice', '{"body": "first"}')
            """)
        pair.way.set(.refusing)
        try application.begin("select gapless.post_message('c1', 'alice', '{\"body\": \"2\"}')")
        let hangs = try Deadline.standard.poll {
            try pair.primary.query(
                "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == "1"
        }
        #expect(hangs)
        let subject = Subject(PostgresUpstream(PostgresOptions(url: url)))
        try subject.waitUntilOnline()
        #expect(try subject.page().messages.count == 1)
        pair.way.set(.open)
        _ = try application.finish()
        #expect(Deadline.standard.poll { (try? subject.send("third")) != nil })
    }
}
