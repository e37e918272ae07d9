import Chat
import Ports
import Rules
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Conversations that users create, held to the number that a user may have.
@Suite struct CreationTests {
    private static let limit = 3

    private let server: RedisProcess
    private let subject: Subject

    init() throws {
        server = try RedisProcess()
        var limits = LogLimits()
        limits.conversationsPerUser = Self.limit
        subject = Subject(Redis(try server.options(), limits: limits))
        try subject.waitUntilOnline()
    }

    /// What becomes of each of them, all asked for before one is answered.
    private func create(_ ids: [String?], by user: String, isDistinct: Bool = false) throws
        -> [String]
    {
        let tokens = ids.map { _ in subject.outputs.token() }
        subject.upstream.submit(
            zip(ids, tokens).enumerated().map { number, wish in
                let people = isDistinct ? [user, "friend\(number)"] : [user]
                let fields = ConversationFields(participants: people)
                let operation = Operation.create(id: wish.0, fields, distinct: isDistinct)
                return .perform(operation, by: .user(user), token: wish.1)
            })
        return try tokens.map { token in
            guard case .performed(_, let result) = try subject.outputs.wait(for: token) else {
                throw TestFailure("another kind of answer to a write")
            }
            switch result {
            case .success: return "ok"
            case .failure(let error): return error.code.rawValue
            }
        }
    }

    private func count(_ user: String) throws -> Int {
        let query = HistoryQuery.conversations(user: user, limit: 100, cursor: nil)
        guard case .conversations(let list) = try subject.ask(query) else {
            throw TestFailure("no list")
        }
        return list.total
    }

    /// A call that waits for another one is counted anew then; if that fails, the next one is.
    @Test func whoWaitsBehindACallThatFailsIsAnsweredToo() throws {
        var limits = LogLimits()
        limits.conversationsPerUser = 1
        let subject = Subject(Redis(try server.options(), limits: limits))
        try subject.waitUntilOnline()
        let crowd = (0..<4000).map { "member\($0)" }
        let tokens = (0..<4).map { _ in subject.outputs.token() }
        subject.upstream.submit(
            tokens.enumerated().map { number, token in
                let fields = ConversationFields(participants: number == 0 ? crowd : [])
                let operation = Operation.create(id: nil, fields, distinct: false)
                return .perform(operation, by: .user("alice"), token: token)
            })
        // The first one is on its way, and has entered it.
        let isEntered = Deadline.standard.poll {
            (try? server.ask("EXISTS", "gapless:user:alice")) == .integer(1)
        }
        try server.ask("SET", "gapless:created:alice", "no set")
        #expect(isEntered)
        for token in tokens {
            guard case .performed = try subject.outputs.wait(for: token) else {
                throw TestFailure("another kind of answer to a write")
            }
        }
    }

    @Test(arguments: [false, true])
    func callsAtTheSameTimeDoNotPassTheLimitTogether(isDistinct: Bool) throws {
        let wishes = [String?](repeating: nil, count: 40)
        let fates = try create(wishes, by: "alice", isDistinct: isDistinct)
        #expect(fates.filter { $0 == "ok" }.count == Self.limit)
        #expect(fates.filter { $0 == "too_large" }.count == 40 - Self.limit)
        #expect(try count("alice") == Self.limit)
        #expect(try create([nil], by: "bob") == ["ok"])
    }

    /// Neither a list that is empty nor a fault of the gateway.
    @Test func aListOfAnotherTypeIsSaidToBeDamaged() throws {
        #expect(try create([nil], by: "alice") == ["ok"])
        try server.ask("DEL", "gapless:user:alice")
        try server.ask("SET", "gapless:user:alice", "x")
        let query = HistoryQuery.conversations(user: "alice", limit: 100, cursor: nil)
        #expect(throws: RequestError.damagedKey) { try subject.ask(query) }
        #expect(try create([nil], by: "alice") == ["origin_unavailable"])
        #expect(throws: RequestError.damagedKey) { try subject.conversation(of: ["alice"]) }
        try server.ask("DEL", "gapless:user:alice")
        #expect(try create([nil], by: "alice") == ["ok"])
    }

    /// As after a gateway that died between a deletion and its note.
    @Test func whatIsGoneMakesRoomThoughItsNoteStayed() throws {
        #expect(try create(["a", "b", "c"], by: "alice") == ["ok", "ok", "ok"])
        try subject.perform(.deleteConversation("b"), by: .server)
        let isTakenOff = Deadline.standard.poll {
            (try? server.ask("ZCARD", "gapless:created:alice")) == .integer(2)
        }
        #expect(isTakenOff)
        try subject.conversation("b", of: ["bob"])
        for id in ["b", "gone"] { try server.ask("ZADD", "gapless:created:alice", "0", id) }
        // The one of this name is another's now.
        #expect(try create([nil, nil], by: "alice") == ["ok", "too_large"])
        #expect(try server.ask("ZCARD", "gapless:created:alice") == .integer(3))
    }

    @Test func oneThatFailsLeavesRoomForTheNext() throws {
        let fates = try create((0..<10).map { _ in "one" }, by: "alice")
        #expect(fates.sorted() == [String](repeating: "conflict", count: 9) + ["ok"])
        #expect(try create([nil, nil], by: "alice") == ["ok", "ok"])
        #expect(try create([nil], by: "alice") == ["too_large"])
    }
}
