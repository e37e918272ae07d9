import Cache
import Chat
import Ports
import SQLite
import Simulation
import Testing
import Wire

@testable import Upstream

/// What follows from a tail is read as if it were written with each message: nobody can tell from
/// an answer whether, or when, a tail was folded.
@Suite struct TailTests {
    private static let users = ["alice", "bob", "carol", "dave"]
    private static let ids = (0..<80).map { "m\($0)" }

    /// Two logs of the same calls. The one folds after every message; the other as its limit says,
    /// and some of its batches are lost and done again.
    @Test(arguments: 0..<8)
    func answersAreThoseOfALogWithoutTails(_ seed: UInt64) throws {
        var random = SplitMix64(seed)
        let plain = try DrivenLog(tail: 1)
        let tailed = try DrivenLog(tail: Int.random(in: 2...40, using: &random))
        var (known, others) = (Known(), Known())
        let first: [DrivenLog.Call] = [
            (.put(id: "c1", ConversationFields(participants: ["alice", "bob"])), .server),
            (.put(id: "c2", ConversationFields(participants: ["bob"], admins: ["bob"])), .server),
        ]
        try plain.perform(first)
        try tailed.perform(first)
        for round in 1...16 {
            let calls = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                Self.call(using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                try tailed.lose(calls.shuffled(using: &random))
            }
            let told = Self.text(try tailed.perform(calls))
            #expect(told == Self.text(try plain.perform(calls)), "round \(round)")
            let choice = random
            let answers = try Self.answers(of: tailed, &others, choice)
            let wanted = try Self.answers(of: plain, &known, choice)
            for (answer, other) in zip(answers, wanted) where answer != other {
                Issue.record("round \(round): \(answer) instead of \(other)")
            }
            #expect(answers.count == wanted.count)
            #expect(try tailed.store.audit() == [], "round \(round)")
            #expect(try plain.store.audit() == [])
            if Int.random(in: 0..<10, using: &random) == 0 {
                try plain.restart()
                try tailed.restart()
            }
            let step = Int64.random(in: -500...2_000, using: &random)
            for log in [plain, tailed] { log.now += step }
        }
    }

    // MARK: the calls

    private static func call(using random: inout SplitMix64) -> DrivenLog.Call {
        func one<Value>(of values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }
        let conversation = one(of: ["c1", "c1", "c1", "c2", "c2", "nowhere"])
        let user = one(of: users)
        let caller = one(of: [Caller.user(user), .user(user), .server])
        let id = one(of: ids)
        let message = NewMessage(
            author: one(of: [user, user, user, "eve"]),
            content: MessageContent(id: id, body: one(of: ["one", "two"])))
        let operation: Operation =
            switch Int.random(in: 0..<60, using: &random) {
            case 0: .deleteConversation("c2")
            case 1, 2: .put(id: conversation, ConversationFields(participants: [user, "bob"]))
            case 3: .put(id: conversation, ConversationFields(title: one(of: ["t", "u"])))
            case 4, 5: .addParticipants(conversation: conversation, [NewParticipant(user: user)])
            case 6: .removeParticipants(conversation: conversation, [user])
            case 7: .leave(conversation)
            case 8, 9: .delete(conversation: conversation, id: id)
            case 10, 11: .edit(conversation: conversation, id: id, MessageEdit(body: "edited"))
            case 12...15: .markRead(conversation: conversation, seq: one(of: [1, 2, 5, 9, 20]))
            case 16:
                .addParticipants(
                    conversation: conversation, [NewParticipant(user: user, name: one(of: ["n"]))])
            case 17:
                .send(
                    conversation: conversation,
                    [
                        message, message,
                        NewMessage(author: user, content: MessageContent(id: "+" + id)),
                    ])
            default: .send(conversation: conversation, [message])
            }
        return (operation, caller)
    }

    // MARK: the answers

    /// What a holder of a log has seen of it, at some times.
    private struct Known {
        var heads: [String: [Head]] = [:]
        var tokens: [String] = []
    }

    /// Of everything that can be asked, as text, without what is drawn by lot.
    private static func answers(
        of log: DrivenLog, _ known: inout Known, _ random: SplitMix64
    ) throws -> [String] {
        var random = random
        var answers: [String] = []
        for user in users {
            for query in [
                Query.conversations(user: user, limit: 10, cursor: nil, unread: true),
                .conversations(user: user, limit: 1, cursor: nil),
                .listed(user: user),
                .conversationsSince(
                    user: user, token: known.tokens.randomElement(using: &random), limit: 5,
                    unread: true),
            ] {
                answers.append(text { try log.reader.answer(query) })
            }
            guard
                case .conversations(let list) = try log.reader.answer(
                    Query.conversations(user: user, limit: 1, cursor: nil))
            else { continue }
            answers.append(
                text {
                    try log.reader.answer(
                        Query.conversations(user: user, limit: 1, cursor: list.next))
                })
        }
        for id in ["c1", "c2"] {
            answers += questions(of: id, known.heads[id] ?? [], &random).map { query in
                text { try log.reader.answer(query) }
            }
            answers += changes(of: id, known.heads[id] ?? [], &random).map { query in
                text { try log.reader.answer(query) }
            }
            if case .loaded(let loaded)? = try? log.reader.answer(Query.load(conversation: id)) {
                known.heads[id, default: []].append(loaded.head)
            } else {
                known.heads[id] = nil
            }
        }
        if case .conversationsSince(let now) = try log.reader.answer(
            Query.conversationsSince(user: "alice", token: nil, limit: 1))
        {
            known.tokens.append(now.token)
        }
        return answers
    }

    private static func questions(
        of id: String, _ heads: [Head], _ random: inout SplitMix64
    ) -> [Query] {
        let some = ids.shuffled(using: &random)
        var queries: [Query] = [
            .load(conversation: id), .page(conversation: id, PageRequest(limit: 7)),
            .page(conversation: id, PageRequest(before: .id(some[0]), limit: 3)),
            .page(conversation: id, PageRequest(around: .seq(9), limit: 3)),
            .ids(conversation: id, places: [1, 2, 5, 9, 30]),
            .participants(conversation: id, ParticipantsRequest(limit: 3, offset: 1)),
            .participants(conversation: id, ParticipantsRequest(order: .asc)),
        ]
        queries += some.prefix(6).map { .place(conversation: id, id: $0) }
        queries += users.map { .view(conversation: id, user: $0) }
        for _ in 0..<3 {
            guard let head = heads.randomElement(using: &random) else { break }
            let high = max(1, Int.random(in: 0...head.seq, using: &random))
            let runs = Coverage(places: Array(1...high))
            let asOf = Int.random(in: 0...head.rev, using: &random)
            queries += [
                .catchUp(
                    conversation: id, have: Have(head: head, asOf: asOf, runs: runs), limit: 20,
                    bytes: .max),
                .confirm(conversation: id, head),
            ]
        }
        return queries
    }

    private static func changes(
        of id: String, _ heads: [Head], _ random: inout SplitMix64
    ) -> [HistoryQuery] {
        var queries: [HistoryQuery] = [
            .conversation(id, reader: "bob"), .heads([id]),
            .message(conversation: id, id: ids[Int.random(in: 0..<ids.count, using: &random)]),
        ]
        for since in Set((0..<4).map { _ in Int.random(in: 0...60, using: &random) }).sorted() {
            let mark = heads.last { $0.rev == since }?.mark
            for limit in [1, 4, 1_000] {
                queries.append(
                    .changes(conversation: id, since: since, mark: mark, limit: limit))
            }
        }
        return queries
    }

    // MARK: as text

    private static func text<Value>(_ answer: () throws -> Value) -> String {
        do {
            let answer = try answer()
            switch answer as? Answer {
            case .ids(let ids): return "\(ids.sorted { $0.key < $1.key })"
            case .catchUp(let read):
                let ids = read.ids.sorted { $0.key < $1.key }
                let changes = "\(read.changed) \(read.outdated) \(read.tail)"
                return plain("\(read.isConfirmed) \(read.head) \(changes) \(ids)")
            case .listed(let listed):
                let heads = listed.heads.map { plain("\($0.key) \($0.value)") }.sorted()
                return "\(heads) \(listed.readers.map { "\($0.key) \($0.value)" }.sorted())"
            default: return plain("\(answer)")
            }
        } catch {
            return plain("\(error)")
        }
    }

    private static func text(_ outputs: [UpstreamOutput]) -> [String] {
        outputs.map { plain("\($0)") }
    }

    /// Without epochs and marks, which are drawn by lot: sixteen digits each.
    private static func plain(_ text: String) -> String {
        var plain: [UInt8] = []
        var digits = 0
        for byte in text.utf8 {
            let isDigit = (48...57).contains(byte) || (97...102).contains(byte)
            digits = isDigit ? digits + 1 : 0
            plain.append(byte)
            if digits == 16 { plain.replaceSubrange((plain.count - 16)..., with: [42]) }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}

/// How little is written for a message. What the pages are that a transaction leaves in the
/// write-ahead log, by the trees that they belong to, does not depend on any clock.
@Suite struct MessagePagesTests {
    private let log: DrivenLog

    init() throws {
        log = try DrivenLog(tail: 8)
        try log.perform([
            (.put(id: "c1", ConversationFields(participants: ["alice", "bob"])), .server),
            (.put(id: "c2", ConversationFields(participants: ["alice", "bob"])), .server),
        ])
    }

    private func send(_ id: String, to conversation: String = "c1") -> DrivenLog.Call {
        let message = NewMessage(author: "alice", content: MessageContent(id: id, body: "hello"))
        return (.send(conversation: conversation, [message]), .user("alice"))
    }

    /// The pages that the calls write, in one transaction each.
    private func pages(_ calls: [DrivenLog.Call]) throws -> [Int] {
        try calls.map { call in
            _ = log.connection.takePagesWritten()
            try log.perform([call])
            return log.connection.takePagesWritten()
        }
    }

    @Test func aMessageWritesItsOwnPageThatOfTheListAndThatOfTails() throws {
        // Each eighth folds the tail: into the conversation's row, the
        // author's marker, and the two tables of places.
        let fold = 3 + 4
        #expect(
            try pages((1...16).map { send("m\($0)") })
                == [3, 3, 3, 3, 3, 3, 3, fold, 3, 3, 3, 3, 3, 3, 3, fold])
    }

    @Test func aBatchWritesEachPageOnce() throws {
        _ = log.connection.takePagesWritten()
        try log.perform((1...7).map { send("m\($0)") })
        #expect(log.connection.takePagesWritten() == 3)
        try log.perform((1...20).map { send("n\($0)", to: "c2") })
        #expect(log.connection.takePagesWritten() < 12)
    }
}
