import Chat
import Ports
import Postgres
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What a server refuses is refused for now, leaves nothing half written, and is known to be over
/// before anybody writes again.
@Suite struct RefusedWriteTests {
    private let server: RedisProcess

    init() throws {
        server = try RedisProcess(["--enable-debug-command", "local"], keeping: .nothing)
    }

    private func subject(deadline: Duration = .seconds(1)) throws -> Subject {
        let subject = Subject(Redis(try server.options { $0.deadline = deadline }))
        try subject.waitUntilOnline()
        return subject
    }

    private func expectTrouble(_ words: String?, of subject: Subject) {
        var seen: String?
        let isSeen = Deadline.standard.poll {
            seen = subject.upstream.faults.trouble?.text
            return words.map { seen?.contains($0) == true } ?? (seen == nil)
        }
        #expect(isSeen, "health shows \(seen ?? "nothing"), not \(words ?? "nothing")")
    }

    /// Each write of a conversation, by what it is called.
    private static let writes: [Operation] = [
        .send(
            conversation: "c1",
            [NewMessage(author: "alice", content: MessageContent(id: "m2", body: "two"))]),
        .edit(conversation: "c1", id: "m1", MessageEdit(body: "edited")),
        .delete(conversation: "c1", id: "m1"),
        .update(conversation: "c1", ConversationFields(title: "title")),
        .addParticipants(conversation: "c1", [NewParticipant(user: "carol")]),
        .deleteConversation("c1"),
    ]

    @Test(arguments: ["zadd", "hset", "append", "hget", "strlen", "getrange", "publish", "unlink"])
    func aRightThatIsTakenLeavesLogsWhole(_ right: String) throws {
        let subject = try subject()
        try subject.conversation()
        try subject.send("one", id: "m1")
        let keys = RedisKeys(try server.options()).keys(of: "c1").map {
            String(decoding: $0, as: UTF8.self)
        }
        let before = try server.ask(["DEBUG", "DIGEST-VALUE"] + keys)
        try server.ask("ACL", "SETUSER", "default", "-\(right)")
        var refused = 0
        for operation in Self.writes {
            do {
                try subject.perform(operation)
            } catch let error as RequestError {
                #expect(error == .gatewayRefused, "\(operation)")
                refused += 1
            }
            guard try server.ask(["DEBUG", "DIGEST-VALUE"] + keys) == before else { break }
        }
        #expect(refused == Self.writes.count || right == "unlink" && refused == 0)
        try server.ask("ACL", "SETUSER", "default", "+@all")
        if right != "unlink" { #expect(try subject.send("two").seq == 2) }
        #expect(try subject.page().messages.count >= 1)
        expectTrouble(nil, of: subject)
    }

    @Test func aMissingRightIsNamedBeforeAnybodyWrites() throws {
        let subject = try subject()
        expectTrouble(nil, of: subject)
        try server.ask("ACL", "SETUSER", "default", "-zadd")
        expectTrouble("its user may not ZADD", of: subject)
        try server.ask("ACL", "SETUSER", "default", "+@all")
        expectTrouble(nil, of: subject)
    }

    @Test func aBusyServerIsNamedUntilItIsNot() throws {
        try server.ask("CONFIG", "SET", "busy-reply-threshold", "50")
        let subject = try subject()
        try subject.conversation()
        let busy = try TCPSocket(port: server.port)
        try busy.write(Array("EVAL \"while true do end\" 0\r\n".utf8))
        let isRefused = Deadline.standard.poll {
            refusal { try subject.send("refused") } == .originUnavailable
        }
        #expect(isRefused)
        expectTrouble("refused (BUSY)", of: subject)
        try server.ask("SCRIPT", "KILL")
        expectTrouble(nil, of: subject)
        withExtendedLifetime(busy) {}
    }

    @Test func aServerThatWasAReplicaForAMomentIsNamedNoLonger() throws {
        let subject = try subject(deadline: .seconds(4))
        try subject.conversation()
        let other = try RedisProcess(keeping: .nothing)
        try server.ask("REPLICAOF", "127.0.0.1", "\(other.port)")
        #expect(throws: RequestError.self) { try subject.send("refused") }
        #expect(subject.upstream.faults.trouble != nil)
        try server.ask("REPLICAOF", "NO", "ONE")
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
    }

    @Test(arguments: [true, false]) func aPostgresThatTakesNoWritesIsNamedUntilItDoes(
        isReadOnly: Bool
    ) throws {
        let server = try PostgresProcess()
        let url = try server.database()
        let owner = try SchemaSession(url)
        let gateway = "gapless_gateway"
        try owner.run("alter role \(gateway) login")
        let database = try #require(url.split(separator: "/").last)
        let options = PostgresOptions(url: server.url(String(database), user: gateway))
        let subject = Subject(PostgresUpstream(options))
        try subject.waitUntilOnline()
        try subject.conversation()
        let function = "function gapless.gateway_write(json, boolean)"
        if isReadOnly {
            try owner.run("set default_transaction_read_only = off")
            try owner.run("alter system set default_transaction_read_only = on")
            try owner.run("select pg_reload_conf()")
        } else {
            try owner.run("revoke execute on \(function) from \(gateway)")
        }
        let error: RequestError = isReadOnly ? .refusedForNow : .gatewayRefused
        let isRefused = Deadline.standard.poll {
            do {
                try subject.send("refused")
                return false
            } catch let refused as RequestError {
                return refused == error
            } catch {
                return false
            }
        }
        #expect(isRefused)
        expectTrouble(isReadOnly ? "25006" : "42501", of: subject)
        if isReadOnly {
            try owner.run("alter system reset default_transaction_read_only")
            try owner.run("select pg_reload_conf()")
        } else {
            try owner.run("grant execute on \(function) to \(gateway)")
        }
        expectTrouble(nil, of: subject)
        #expect(subject.upstream.faults.refusedWrites.isEmpty == false)
    }

    /// The next trim is due after a minute; its trouble ends when the server takes one.
    @Test func aTrimThatPostgresRefusedIsTriedAgainSoon() throws {
        let server = try PostgresProcess()
        let url = try server.database()
        let owner = try SchemaSession(url)
        let gateway = "gapless_gateway"
        try owner.run("alter role \(gateway) login")
        let function = "function gapless.gateway_trim(integer, integer, bigint, bigint, integer)"
        try owner.run("revoke execute on \(function) from \(gateway)")
        let database = try #require(url.split(separator: "/").last)
        let options = PostgresOptions(url: server.url(String(database), user: gateway))
        let subject = Subject(PostgresUpstream(options))
        try subject.waitUntilOnline()
        expectTrouble("42501", of: subject)
        try owner.run("grant execute on \(function) to \(gateway)")
        expectTrouble(nil, of: subject)
    }
}
