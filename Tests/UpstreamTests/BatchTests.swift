import Cache
import Chat
import Ports
import SQLite
import Simulation
import Testing
import Upstream
import Wire

/// What jobs of one batch change alike is written once, at its end: nobody can tell from the file,
/// or from any answer, whether they came together.
@Suite struct BatchTests {
    typealias Call = (operation: Operation, caller: Caller)

    private static let users = ["alice", "bob", "carol"]

    @Test(arguments: 0..<12)
    func togetherOrOneByOneTheFileIsTheSame(_ seed: UInt64) throws {
        var random = SplitMix64(seed)
        let (together, alone) = (try Origin(), try Origin())
        for origin in [together, alone] {
            try origin.conversation("c1", of: ["alice", "bob"])
            try origin.conversation("c2", of: ["bob"], admins: ["bob"])
        }
        for round in 1...8 {
            let calls = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                Self.call(using: &random)
            }
            let said = try together.results(of: calls)
            // Users take turns; what one of them asks for is done in its order.
            let order = Self.order(of: calls, together)
            #expect(order.sorted() == Array(calls.indices))
            for caller in Set(calls.map(\.caller)) {
                let own = order.filter { calls[$0].caller == caller }
                #expect(own == own.sorted(), "round \(round), \(caller)")
            }
            for at in order {
                let other = try alone.results(of: [calls[at]])[0]
                #expect(Self.text(said[at]) == Self.text(other), "round \(round), \(calls[at])")
            }
            #expect(try Self.dump(together) == Self.dump(alone), "round \(round)")
            #expect(try together.store.audit() == [], "round \(round)")
            together.now += 1000
            alone.now += 1000
        }
        #expect(together.embedded.figures.commits < alone.embedded.figures.commits)
    }

    /// The order in which the last calls were done, by their places.
    private static func order(of calls: [Call], _ origin: Origin) -> [Int] {
        let tokens = origin.batches.joined().compactMap { output -> UInt64? in
            if case .performed(let token, _) = output { token } else { nil }
        }.suffix(calls.count)
        // They rise from call to call.
        let places = Dictionary(uniqueKeysWithValues: zip(tokens.sorted(), calls.indices))
        return tokens.compactMap { places[$0] }
    }

    /// Each call has one answer, also where there is no room for all of them.
    @Test func whatIsTooMuchAtOnceIsRefusedAndTheRestDone() throws {
        let origin = try Origin()
        try origin.conversation()
        // `Writer.queueLimit`, of which a user may have as many as there is room for besides.
        let limit = 10_000 / 2
        let read = Operation.markRead(conversation: "c1", seq: 0)
        let calls = (0..<limit + 3).map { _ in (operation: read, caller: Caller.user("alice")) }
        let results = try origin.results(of: calls)
        for (at, result) in results.enumerated() {
            switch result {
            case .success: #expect(at < limit)
            case .failure(let error):
                #expect(at >= limit && error.code == ErrorCode.originUnavailable)
            }
        }
        let answers = origin.batches.joined().count {
            if case .performed = $0 { true } else { false }
        }
        #expect(answers == calls.count + 1, "and the one that made the conversation")
    }

    /// Mostly messages, mostly to the same conversation; the same ids come again.
    private static func call(using random: inout some RandomNumberGenerator) -> Call {
        func one<Value>(of values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }
        let conversation = one(of: ["c1", "c1", "c1", "c2", "nowhere"])
        let user = one(of: users)
        let caller = one(of: [Caller.user(user), .user(user), .server])
        let id = "m\(Int.random(in: 0..<60, using: &random))"
        let author = one(of: [user, user, user, "dave"])
        let message = NewMessage(
            author: author, content: MessageContent(id: id, body: one(of: ["one", "two"])))
        let operation: Operation =
            switch Int.random(in: 0..<20, using: &random) {
            case 0: .delete(conversation: conversation, id: id)
            case 1: .edit(conversation: conversation, id: id, MessageEdit(body: "edited"))
            case 2: .markRead(conversation: conversation, seq: 1)
            case 3: .addParticipants(conversation: conversation, [NewParticipant(user: "carol")])
            case 4: .removeParticipants(conversation: conversation, ["carol"])
            case 5: .put(id: conversation, ConversationFields(title: one(of: ["t", "u"])))
            case 6:
                .send(
                    conversation: conversation,
                    [message, NewMessage(author: author, content: MessageContent(id: id + "+"))])
            default: .send(conversation: conversation, [message])
            }
        return (operation, caller)
    }

    private static func text(_ result: Result<Outcome, RequestError>) -> String {
        switch result {
        case .failure(let error): "\(error)"
        case .success(.messages(let messages, _, let isNew)):
            "\(isNew) " + messages.map { String(decoding: $0.json, as: UTF8.self) }.joined()
        case .success(.reacted(let message, let own, _)):
            "\(own) " + String(decoding: message.json, as: UTF8.self)
        case .success(.conversation(let view, let isNew)):
            "\(isNew) \(view.record) \(view.head.seq) \(view.head.rev) \(view.reader as Any)"
        case .success(.read(let reader)): "\(reader)"
        case .success(.removed(let people)): "removed, of \(people)"
        case .success(.done): "done"
        }
    }

    /// All that the file holds but what is drawn by lot: epochs and marks.
    private static func dump(_ origin: Origin) throws -> [String] {
        let connection = try Connection(path: origin.directory + "/gapless.db", access: .readOnly)
        let tables = [
            ("state", "touched, floor, messages"),
            (
                "message",
                "cid, seq, rev, id, author, created_at, deleted, hex(sent), hex(json), touched"
            ),
            (
                "conversation",
                "cid, id, removed, seq, rev, floor, record_rev, last_seq, activity, touched, title"
            ),
            ("member", "cid, user, member, admin, place, last_read, touched"),
            ("incarnation", "cid, from_rev"),
            ("tail", "cid, above, seq, rev, activity, touched"), ("place_by_id", "cid, id, seq"),
            ("place_by_rev", "cid, rev, seq"),
        ]
        return try tables.map { table, columns in
            let row = columns.split(separator: ", ").map { "quote(\($0))" }
            let line = row.joined(separator: " || ' ' || ")
            return try connection.text(
                """
                SELECT group_concat(line, char(10))
                FROM (SELECT \(line) AS line FROM \(table) ORDER BY 1)
                """) ?? ""
        }
    }
}
