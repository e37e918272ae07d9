import Chat
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// A log of which a key is gone, cut, or of another log: each question and each write is refused
/// with the name of the key, and nothing is answered as if it were whole.
@Suite(.serialized) struct DamagedLogTests {
    enum Part: String, CaseIterable, Sendable {
        case meta, marks, messages, changes, ids, members, reads, deleted, trimmed
    }

    enum Damage: String, CaseIterable, Sendable {
        case deleted, emptied, truncated, swapped, retyped
    }

    private let server: RedisProcess
    private let subject: Subject
    private let notices = Collected()

    init() throws {
        server = try RedisProcess()
        let options = try server.options { $0.retain = 20 }
        subject = Subject(Redis(options) { [notices] in notices.add($0.text) })
        try subject.waitUntilOnline()
    }

    /// A log with everything in it: trimmed messages, an edit, two tombstones, read markers.
    private func fill(_ id: String) throws {
        try subject.conversation(id)
        for number in 1...30 { try subject.send("message \(number)", id: "m\(number)", to: id) }
        try subject.perform(.edit(conversation: id, id: "m28", MessageEdit(body: "edited")))
        for gone in ["m20", "m25"] { try subject.perform(.delete(conversation: id, id: gone)) }
        try subject.perform(.markRead(conversation: id, seq: 12), by: .user("bob"))
    }

    /// A record and a member that nobody can read are no answer without them.
    @Test func whatCanNotBeReadIsNotLeftOut() throws {
        try subject.conversation()
        #expect(try subject.changes(since: 0, mark: nil).record != nil)
        for (key, field) in [("meta", "metadata"), ("members", "bob")] {
            let before = try server.ask("HGET", "gapless:{c1}:\(key)", field).string ?? ""
            try server.ask("HSET", "gapless:{c1}:\(key)", field, "[")
            #expect(refusal { try subject.changes(since: 0, mark: nil) } == .internal)
            let view = HistoryQuery.conversation("c1", reader: "alice")
            #expect(refusal { try subject.ask(view) } == .internal)
            if key == "members" {
                let people = HistoryQuery.participants(
                    conversation: "c1", ParticipantsRequest(limit: 0, offset: 0, order: .asc))
                #expect(refusal { try subject.ask(people) } == .internal)
            }
            try server.ask("HSET", "gapless:{c1}:\(key)", field, before)
        }
        #expect(try subject.changes(since: 0, mark: nil).record != nil)
    }

    /// A message that changes whenever it is looked at: that is said, and no broken connection.
    @Test func whoIsAlwaysTooLateIsToldSo() throws {
        try subject.conversation()
        try subject.send("one", id: "m1")
        let value = try server.ask("HGET", "gapless:{c1}:messages", "1").string ?? ""
        try server.ask("HSET", "gapless:{c1}:messages", "1", "0" + value)
        for operation in [
            Operation.edit(conversation: "c1", id: "m1", MessageEdit(body: "two")),
            .delete(conversation: "c1", id: "m1"),
        ] {
            let error = #expect(throws: RequestError.self) { try subject.perform(operation) }
            #expect(error?.message == "the conversation changes too fast", "\(operation)")
        }
    }

    /// Looking at one without its members, in order to mend it, mends nothing.
    @Test func whatIsShownToBeMendedIsNotWholeYet() throws {
        try fill("c1")
        try damage(.members, .deleted)
        #expect(refusal { try subject.page() } == .originUnavailable)
        let title = ConversationFields(title: "x")
        #expect(refusal { try subject.perform(.update(conversation: "c1", title)) } != nil)
        #expect(refusal { try subject.perform(.put(id: "c1", title)) } != nil)
        #expect(!notices.all.contains { $0.contains("is whole again") })
        try subject.conversation()
        _ = try subject.page()
        #expect(notices.all.contains { $0.contains("is whole again") })
    }

    private func key(_ part: Part, _ conversation: String = "c1") -> String {
        "gapless:{\(conversation)}:\(part.rawValue)"
    }

    private func damage(_ part: Part, _ damage: Damage) throws {
        let key = key(part)
        switch damage {
        case .deleted: try server.ask("DEL", key)
        case .retyped:
            try server.ask("DEL", key)
            try server.ask("SADD", key, "x")
        case .swapped: try server.swap(key, self.key(part, "c2"))
        case .emptied: try server.empty(key)
        case .truncated: try server.truncate(key)
        }
    }

    /// How each question and each write is refused.
    private func refusals() -> [String: RequestError?] {
        func refusal(_ body: () throws -> Void) -> RequestError? {
            do { try body() } catch let error as RequestError { return error } catch {}
            return nil
        }
        let queries: [String: HistoryQuery] = [
            "conversation": .conversation("c1", reader: "alice"),
            "message": .message(conversation: "c1", id: "m29"),
            "page": .page(conversation: "c1", PageRequest(limit: 5)),
            "changes": .changes(conversation: "c1", since: 30, mark: nil, limit: 5),
            "participants": .participants(conversation: "c1", ParticipantsRequest()),
        ]
        let fields = ConversationFields(title: "x")
        let message = NewMessage(author: "alice", content: MessageContent(id: "n", body: "new"))
        let operations: [String: Operation] = [
            "send": .send(conversation: "c1", [message]),
            "edit": .edit(conversation: "c1", id: "m29", MessageEdit(body: "x")),
            "delete": .delete(conversation: "c1", id: "m29"),
            "put": .put(id: "c1", fields),
            "add": .addParticipants(conversation: "c1", ["carol"].map { NewParticipant(user: $0) }),
            "remove": .deleteConversation("c1"),
        ]
        var refusals = queries.mapValues { query in refusal { _ = try subject.ask(query) } }
        for (name, operation) in operations {
            refusals[name] = refusal { try subject.perform(operation) }
        }
        refusals["read"] = refusal {
            try subject.perform(.markRead(conversation: "c1", seq: 30), by: .user("bob"))
        }
        return refusals
    }

    @Test(arguments: Part.allCases, Damage.allCases)
    func nothingIsAnsweredAsIfItWereWhole(_ part: Part, _ damage: Damage) throws {
        for id in ["c1", "c2"] { try fill(id) }
        #expect(try subject.head().seq == 30)
        try self.damage(part, damage)
        // Without its head the log is gone.
        if part == .meta, damage == .deleted { return try expectGone() }
        for (name, refusal) in refusals() {
            #expect(refusal?.code == .originUnavailable, "\(name): \(String(describing: refusal))")
            if part != .meta || damage != .swapped {
                #expect(refusal?.message.contains(part.rawValue) == true, "\(name)")
            }
        }
        guard case .heads(let heads, let damaged) = try subject.ask(.heads(["c1", "c2", "c3"]))
        else { throw TestFailure("no heads") }
        #expect(heads["c1".id] == nil && heads["c3".id] == nil)
        #expect(damaged["c1".id] != nil && damaged["c3".id] == nil)
        #expect((heads["c2".id] == nil) == (damage == .swapped))
        #expect(notices.all.contains { $0.contains("conversation c1 is damaged") })
        #expect(!notices.all.contains { $0.contains("message 3") })
        #expect(subject.upstream.faults.trouble?.event == .logDamaged)
    }

    @Test(arguments: Part.allCases, [Damage.retyped, .swapped])
    func aRepairMakesAWholeLogOfWhatIsLeft(_ part: Part, _ damage: Damage) throws {
        for id in ["c1", "c2"] { try fill(id) }
        let before = try subject.head()
        try self.damage(part, damage)
        let redis = try #require(subject.upstream as? Redis)
        guard case .repaired(let head) = try redis.repair("c1") else {
            throw TestFailure("nothing was repaired")
        }
        #expect(head.seq == 30 && head.epoch != before.epoch)
        let page = try subject.page(PageRequest(limit: 100))
        #expect(page.messages.count == (part == .messages ? 0 : 20))
        #expect(try subject.send("after").seq == 31)
        guard case .whole = try redis.repair("c1") else {
            throw TestFailure("it is not whole after a repair")
        }
    }

    private func expectGone() throws {
        #expect(throws: RequestError.noConversation) { try subject.page() }
        #expect(throws: RequestError.noConversation) { try subject.send("x") }
        guard case .heads(let heads, let damaged) = try subject.ask(.heads(["c1"])) else {
            throw TestFailure("no heads")
        }
        #expect(heads.isEmpty && damaged.isEmpty)
        try subject.conversation()
        #expect(try subject.send("first", id: "m1").seq == 1)
        #expect(try subject.page().messages.count == 1)
    }

    /// As a gateway of 0.1 has left it, and goes on writing to it.
    @Test func aLogOfAnEarlierVersionOpensAsItIsAndIsTaggedByTheNextWrite() throws {
        try fill("c1")
        try server.untag("c1")
        #expect(try subject.page(PageRequest(limit: 5)).messages.count == 5)
        // Without the tag a lost key is still seen where the head says what it holds.
        try server.ask("RENAME", key(.ids), key(.ids) + "-kept")
        #expect(throws: RequestError.damaged("ids")) { try subject.page() }
        try server.ask("RENAME", key(.ids) + "-kept", key(.ids))
        #expect(try subject.send("tagged").seq == 31)
        #expect(try server.ask("HGET", key(.members), "\t\ttag").string != nil)
        // 0.1 leaves the seal behind: what it counts no longer binds.
        let seal = try server.ask("HGET", key(.meta), "seal").string ?? ""
        try subject.perform(.delete(conversation: "c1", id: "m29"))
        try server.ask("HSET", key(.meta), "seal", seal)
        #expect(try subject.page(PageRequest(limit: 5)).messages.count == 5)
        #expect(try subject.send("sealed").seq == 32)
        try server.ask("DEL", key(.deleted))
        #expect(throws: RequestError.damaged("deleted")) { try subject.page() }
    }
}
