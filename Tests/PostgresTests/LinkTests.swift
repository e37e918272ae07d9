import Glibc
import Postgres
import TestSupport
import Testing

/// What libpq does for us against a real server.
@Suite struct LinkTests {
    private let server: PostgresProcess

    init() throws { server = try PostgresProcess() }

    private func connect() throws(PostgresError) -> PostgresConnection {
        try PostgresConnection(server.url(), until: .now + .seconds(10))
    }

    private var deadline: ContinuousClock.Instant { .now + .seconds(10) }

    @Test func statementsOfAGroupAreOneTransaction() throws {
        let connection = try connect()
        _ = try connection.exchange(
            [.init("create table t (n integer primary key)")], until: deadline)
        do {
            _ = try connection.exchange(
                [.init("insert into t values (1)"), .init("insert into t values (1)")],
                until: deadline)
            Issue.record("a doubled key was taken")
        } catch {
            #expect(error.code == .refused)
            #expect(error.description.contains("23505"))
            #expect(!error.description.contains("Key"), "a value may stand in it")
        }
        let count = try connection.exchange([.init("select count(*) from t")], until: deadline)
        #expect(count.first?.text(0, 0) == "0")
        // What was prepared before the error, and what was not, can be named again.
        _ = try connection.exchange([.init("insert into t values (1)")], until: deadline)
        let again = try connection.exchange([.init("select count(*) from t")], until: deadline)
        #expect(again.first?.text(0, 0) == "1")
    }

    /// libpq gives the SQLSTATE of a refused connection in its text only.
    @Test func aRefusedConnectionSaysWhatToCorrect() throws {
        let connection = try connect()
        _ = try connection.exchange(
            [.init("create role limited login connection limit 0")], until: deadline)
        func refusal(of user: String) throws -> PostgresError {
            do {
                _ = try PostgresConnection(server.url(user: user), until: deadline)
            } catch {
                return error
            }
            throw TestFailure("\(user) was let in")
        }
        let unknown = try refusal(of: "nobody")
        #expect(unknown.code == .credentials)
        #expect(unknown.description.contains("\"nobody\" does not exist"))
        #expect(!unknown.description.contains(".c:"), "\(unknown)")
        #expect(try refusal(of: "limited").code == .full)
    }

    /// A connection on which the same statements fail again and again keeps one of each.
    @Test func whatFailsIsPreparedOnce() throws {
        let connection = try connect()
        for text in ["select 1 / $1::integer", "select 2 / $1::integer", "select nothing"] {
            for _ in 1...5 {
                #expect(throws: PostgresError.self) {
                    _ = try connection.exchange(
                        [.init("select 3"), .init(text, [Array("0".utf8)]), .init("select 4")],
                        until: deadline)
                }
            }
        }
        let names = "select string_agg(statement, ', ' order by statement)"
        let kept = try connection.exchange(
            [.init("\(names) from pg_prepared_statements where statement !~ 'prepared'")],
            until: deadline)
        let expected = ["select 1 / $1::integer", "select 2 / $1::integer", "select 3"]
        #expect(kept.first?.text(0, 0) == expected.joined(separator: ", "))
        let after = try connection.exchange([.init("select 4")], until: deadline)
        #expect(after.first?.text(0, 0) == "4")
    }

    /// A commit can fail when every statement has been done.
    @Test func whatFailsAtCommitIsRefused() throws {
        let connection = try connect()
        _ = try connection.exchange(
            [.init("create table t (n integer unique deferrable initially deferred)")],
            until: deadline)
        #expect(throws: PostgresError.self) {
            _ = try connection.exchange([.init("insert into t values (1), (1)")], until: deadline)
        }
        let count = try connection.exchange([.init("select count(*) from t")], until: deadline)
        #expect(count.first?.text(0, 0) == "0")
    }

    @Test func notificationsComeToAnIdleConnection() throws {
        let listener = try connect()
        _ = try listener.exchange([.init("listen bell")], until: deadline)
        let other = try connect()
        _ = try other.exchange([.init("select pg_notify('bell', 'ding')")], until: deadline)
        var heard: [PostgresNotification] = []
        let came = try Deadline.standard.poll {
            _ = try listener.receive()
            heard += listener.notifications()
            return !heard.isEmpty
        }
        #expect(came)
        #expect(heard.map { "\($0.channel) \($0.payload)" } == ["bell ding"])
    }

    @Test func aTerminatedConnectionSaysSo() throws {
        let connection = try connect()
        try server.query("select pg_terminate_backend(\(connection.process))")
        #expect(throws: PostgresError.self) {
            _ = try connection.exchange([.init("select 1")], until: deadline)
            _ = try connection.exchange([.init("select 1")], until: deadline)
        }
    }

    @Test func aServerThatDoesNotAnswerIsLeftInTime() throws {
        let connection = try connect()
        server.sendToAll(SIGSTOP)
        defer { server.sendToAll(SIGCONT) }
        do {
            _ = try connection.exchange([.init("select 1")], until: .now + .seconds(1))
            Issue.record("a stopped server answered")
        } catch {
            #expect(error.code == .deadline)
        }
        do {
            _ = try PostgresConnection(server.url(), until: .now + .seconds(1))
            Issue.record("a stopped server let us in")
        } catch {
            #expect(error.code == .deadline)
        }
    }

    @Test func aURLThatLibpqRefusesIsNamedWithoutIt() {
        do {
            _ = try PostgresConnection("postgres://u:geheim@h/d?nothing=1", until: deadline)
            Issue.record("was taken")
        } catch {
            #expect(error.code == .url)
            #expect(!error.description.contains("geheim"))
        }
    }

    @Test func theHostsOfAURLAreRead() throws {
        let hosts = try PostgresHosts("postgres://a:1,b:2/d").all
        #expect(hosts.map { "\($0.name) \($0.port)" } == ["a 1", "b 2"])
        #expect(try PostgresHosts("host=a,b port=7 dbname=d").all.map(\.port) == ["7", "7"])
        #expect(throws: PostgresError.self) { _ = try PostgresHosts("postgres://a/d?x=1") }
    }
}
