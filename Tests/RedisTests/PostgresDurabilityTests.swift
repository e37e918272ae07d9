import Chat
import Ports
import Postgres
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What a gateway acknowledges is as safe as the server was set up to make it.
@Suite struct PostgresDurabilityTests {
    @Test("does not acknowledge a commit whose wait for the standby was cancelled")
    func cancelledWait() throws {
        let pair = try PostgresPair(isSynchronous: true)
        let url = pair.primary.url(pair.database)
        let subject = Subject(PostgresUpstream(PostgresOptions(url: url)))
        try subject.conversation()
        try subject.send("before")
        pair.way.set(.refusing)
        let token = subject.outputs.token()
        let message = NewMessage(author: "alice", content: MessageContent(id: "m", body: "only"))
        subject.upstream.submit([
            .perform(.send(conversation: "c1", [message]), by: .server, token: token)
        ])
        let isCancelled = try Deadline.standard.poll {
            try pair.primary.query(
                "select count(pg_cancel_backend(pid)) from pg_stat_activity"
                    + " where wait_event = 'SyncRep'") != "0"
        }
        #expect(isCancelled, "the commit does not wait")
        guard case .performed(_, let result) = try subject.outputs.wait(for: token) else {
            Issue.record("another answer")
            return
        }
        #expect(throws: RequestError.self) { try result.get() }
        #expect(subject.upstream.faults.trouble?.text.contains("standby") == true)
        // It is there, and sent again it is acknowledged once the standby has it.
        pair.way.set(.open)
        let isSafe = Deadline.standard.poll { (try? subject.send("only", id: "m")) != nil }
        #expect(isSafe)
        let replicated = try Deadline.standard.poll {
            try pair.standby.query(
                "select count(*) from gapless.messages where id = 'm'",
                in: pair.standby.url(pair.database)) == "1"
        }
        #expect(replicated)
    }

    @Test("waits for the disk and the standby, whatever a role or a database was told")
    func roleSettings() throws {
        let server = try PostgresProcess.shared()
        let url = try server.database()
        let database = String(url.split(separator: "/").last ?? "")
        for setting in ["off", "local", "remote_apply"] {
            try server.query("alter database \(database) set synchronous_commit = \(setting)")
            let session = try PostgresSession(PostgresOptions(url: url))
            let shown = try session.connection.exchange(
                [.init("show synchronous_commit")], until: .now + .seconds(5))
            let wanted = setting == "remote_apply" ? setting : "on"
            #expect(shown.first?.text(0, 0) == wanted)
        }
    }
}
