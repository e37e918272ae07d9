import Chat
import Ports
import Rules
import TestSupport
import Testing
import Wire

@testable import Upstream

/// A user's list of which a part is gone. No answer gives it as if it were whole. Each question for
/// it puts it together again from the conversations.
@Suite(.serialized) struct DamagedListTests {
    enum Damage: String, CaseIterable, Sendable {
        case deleted, emptied, truncated, swapped
        /// Lost, and then somebody joined.
        case begunAnew
        /// Lost, and then an earlier version entered something.
        case begunByAnEarlierVersion
    }

    private let server: RedisProcess
    private let here: Subject
    private let there: Subject
    private let notices = Collected()

    init() throws {
        server = try RedisProcess(keeping: .nothing)
        here = Subject(Redis(try server.options()) { [notices] in notices.add($0.text) })
        there = Subject(Redis(try server.options()))
        for subject in [here, there] { try subject.waitUntilOnline() }
    }

    private let key = "gapless:user:bob"
    private let ids = (1...30).map { "c\($0)" }

    private func fill() throws {
        for id in ids { try here.conversation(id, of: ["alice", "bob"]) }
        for number in 1...5 { try here.conversation("of dave \(number)", of: ["dave"]) }
    }

    private func damage(_ damage: Damage) throws {
        switch damage {
        case .deleted: try server.ask("DEL", key)
        case .emptied: try server.ask("EVAL", Self.empty, "1", key)
        case .truncated: try server.ask("ZREM", key, "c7")
        case .swapped:
            // What was entered just now may be of a call that is under way, and is left alone.
            try server.ask("EVAL", Self.age, "1", "gapless:user:dave")
            try server.ask("RENAME", key, key + "-kept")
            try server.ask("RENAME", "gapless:user:dave", key)
            try server.ask("RENAME", key + "-kept", "gapless:user:dave")
        case .begunAnew:
            try server.ask("DEL", key)
            try there.conversation("new", of: ["bob"])
        case .begunByAnEarlierVersion:
            try server.ask("DEL", key)
            try server.ask("ZADD", key, "1000", "c9")
        }
    }

    /// All entries, and not the tag.
    private static let empty = """
        for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
          if name:byte() ~= 9 then redis.call('ZREM', KEYS[1], name) end
        end
        """

    private static let age = """
        for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -2)) do
          redis.call('ZINCRBY', KEYS[1], -100000, name)
        end
        """

    private func list(of user: String = "bob", at subject: Subject) throws -> [String] {
        let query = HistoryQuery.conversations(user: user, limit: 100, cursor: nil)
        guard case .conversations(let list) = try subject.ask(query) else {
            throw TestFailure("no list")
        }
        return list.conversations.map(\.record.id).sorted()
    }

    private func changes(since token: String?, at subject: Subject) throws -> ConversationChanges {
        let query = HistoryQuery.conversationsSince(user: "bob", token: token, limit: 100)
        guard case .conversationsSince(let changes) = try subject.ask(query) else {
            throw TestFailure("no changes")
        }
        return changes
    }

    /// What is answered until it is whole is a refusal, and then it is all that there is.
    private func expectWhole(_ expected: [String], of user: String = "bob") throws {
        var refusals = 0
        let isWhole = Deadline.standard.poll {
            do {
                let shown = try list(of: user, at: here)
                #expect(shown == expected.sorted(), "of \(user)")
                return true
            } catch {
                let error = error as? RequestError
                #expect(error?.code == .originUnavailable && error?.retry == .later)
                #expect(error?.message.hasPrefix("list: a part of it is gone") == true)
                refusals += 1
                return false
            }
        }
        #expect(isWhole && refusals > 0, "\(user): refused \(refusals) times")
        #expect(here.upstream.faults.trouble == nil)
        #expect(try list(of: user, at: there) == expected.sorted())
    }

    @Test(arguments: Damage.allCases, [true, false])
    func itIsNoticedAndPutTogetherAgain(_ damage: Damage, wasRead: Bool) throws {
        try fill()
        let token = wasRead ? try changes(since: nil, at: here).token : nil
        try self.damage(damage)
        let expected = ids + (damage == .begunAnew ? ["new"] : [])
        if let token {
            #expect(refusal { try changes(since: token, at: there) } == .originUnavailable)
        }
        // The gateway that began it anew finds that out, so that the list may be whole by now.
        if damage == .begunAnew {
            let isWhole = Deadline.standard.poll { (try? list(at: here)) == expected.sorted() }
            #expect(isWhole)
        } else if !wasRead || damage == .swapped {
            try expectWhole(expected)
        }
        if damage == .swapped { try expectWhole((1...5).map { "of dave \($0)" }, of: "dave") }
        let isWhole = Deadline.standard.poll { (try? list(at: there)) == expected.sorted() }
        #expect(isWhole)
        if let token {
            let changes = try changes(since: token, at: here)
            // Nothing is told to be gone that is not, nor anything of another's list.
            #expect(changes.removed == [] && changes.total == expected.count)
            // A few more than changed may be told.
            let told = changes.conversations.map(\.record.id)
            #expect(told.contains("new") == (damage == .begunAnew) && told.count < 5)
        }
    }

    @Test func healthAndLogNameTheList() throws {
        try fill()
        try server.ask("DEL", key)
        #expect(refusal { try list(at: here) } == .originUnavailable)
        #expect(notices.all.contains { $0.contains("the list of user bob in Redis is gone") })
        let isWhole = Deadline.standard.poll { (try? list(at: here))?.count == ids.count }
        #expect(isWhole && here.upstream.faults.trouble == nil)
        #expect(notices.all.contains { $0.contains("the list of user bob is whole again") })
    }

    /// Nothing is left that a server could know it by; a token is.
    @Test func aListThatIsLostWithItsLogIsMissedByAToken() throws {
        try fill()
        let token = try changes(since: nil, at: here).token
        for part in ["meta", "marks", "gone"] {
            try server.ask("DEL", "gapless:departures:{bob}:\(part)")
        }
        try server.ask("DEL", key)
        #expect(refusal { try changes(since: token, at: here) } == .originUnavailable)
        let isWhole = Deadline.standard.poll { (try? list(at: there))?.count == ids.count }
        #expect(isWhole)
        // Its log is another one, so the token tells nothing more.
        #expect(try !changes(since: token, at: here).complete)
    }

    /// What an earlier version writes is no damage: it enters without counting.
    @Test func anEarlierVersionMayWriteBeside() throws {
        try fill()
        _ = try list(at: here)
        try here.conversation("beside", of: ["alice", "bob"])
        let moment = try server.ask("ZSCORE", key, "beside").string ?? ""
        try server.ask("ZREM", key, "beside")
        try server.ask("ZINCRBY", key, "-1", try tag())
        try server.ask("ZADD", key, moment, "beside")
        #expect(try list(at: there).count == ids.count + 1)
        // It is counted when the list was read.
        let isCounted = Deadline.standard.poll {
            guard let text = try? server.ask("ZSCORE", key, tag()).string, let count = Int(text)
            else { return false }
            return count - RedisScript.tagMoment == ids.count + 1
        }
        #expect(isCounted)
        // A list that an earlier version began has a tag when it was read.
        try server.ask("ZADD", "gapless:user:erin", "1000", "gone")
        #expect(try list(of: "erin", at: here) == [])
        try server.ask("DEL", "gapless:user:erin")
        #expect(refusal { try list(of: "erin", at: here) } == .originUnavailable)
    }

    private func tag() throws -> String {
        let names = try server.ask("ZRANGE", key, "0", "-1").elements.compactMap(\.string)
        return try #require(names.first { $0.hasPrefix("\t") })
    }

    @Test func whoJoinsAndLeavesMeanwhileIsWhereTheyAreThen() throws {
        try fill()
        for number in 31...1500 {
            try here.conversation("c\(number)", of: ["carol"])
        }
        try server.ask("DEL", key)
        #expect(refusal { try list(at: here) } == .originUnavailable)
        try there.perform(.addParticipants(conversation: "c1000", [NewParticipant(user: "bob")]))
        try there.perform(.removeParticipants(conversation: "c2", ["bob"]))
        try there.conversation("meanwhile", of: ["bob"])
        let expected = ids.filter { $0 != "c2" } + ["c1000", "meanwhile"]
        let isWhole = Deadline.standard.poll { (try? list(at: here)) == expected.sorted() }
        #expect(isWhole)
    }

    /// What is no list stays until somebody says that it may go.
    @Test func anotherTypeIsReplacedByARepair() throws {
        try fill()
        _ = try list(at: here)
        try server.ask("DEL", key)
        try server.ask("SET", key, "x")
        let error = #expect(throws: RequestError.self) { try list(at: here) }
        #expect(error == .damagedKey)
        let redis = Redis(try server.options())
        let subject = Subject(redis)
        try subject.waitUntilOnline()
        #expect(try redis.repair(listOf: "bob") == ids.count)
        #expect(try list(at: here) == ids.sorted())
    }

    @Test func aLimitOfConversationsDoesNotCountTheTag() throws {
        var limits = LogLimits()
        limits.conversationsPerUser = 3
        let subject = Subject(Redis(try server.options(), limits: limits))
        try subject.waitUntilOnline()
        func create(_ id: String) throws {
            let fields = ConversationFields(participants: [])
            try subject.perform(
                .create(id: id, fields, distinct: false), by: .user("bob"))
        }
        for id in ["a", "b", "c"] { try create(id) }
        #expect(refusal { try create("d") } == .tooLarge)
    }
}

/// The same where the conversations lie on several nodes.
@Suite(.serialized) struct DamagedListInClusterTests {
    @Test func allNodesAreAsked() throws {
        let servers = try RedisClusterServers()
        let options = try servers.options()
        let subject = Subject(Redis(options))
        try subject.waitUntilOnline()
        let ids = try (0..<3).flatMap { try servers.conversations(at: $0, 3) }
        for id in ids { try subject.conversation(id, of: ["bob"]) }
        let slot = HashSlot.of(Array("gapless:user:bob".utf8))
        let owner = servers.masters[slot * 3 / HashSlot.count]
        try owner.ask("DEL", "gapless:user:bob")
        let query = HistoryQuery.conversations(user: "bob", limit: 100, cursor: nil)
        #expect(refusal { try subject.ask(query) } == .originUnavailable)
        let isWhole = Deadline.standard.poll {
            guard case .conversations(let list) = try? subject.ask(query) else { return false }
            return Set(list.conversations.map(\.record.id)) == Set(ids)
        }
        #expect(isWhole)
    }

    // MARK: - One node that lost its end alone

    /// Keeps a key and those of the same slot, or brings back what was kept.
    private func copy(_ keys: [String], at node: RedisProcess, back: Bool) throws {
        for key in keys {
            // The braces of a key's copy put it in the key's slot.
            let copy = key.contains("{") ? key + ":copy" : "{\(key)}:copy"
            let script =
                back
                ? """
                local dump = redis.call('GET', KEYS[2])
                if dump then redis.call('RESTORE', KEYS[1], 0, dump, 'REPLACE') end
                """
                : """
                local dump = redis.call('DUMP', KEYS[1])
                if dump then redis.call('SET', KEYS[2], dump) end
                """
            try node.ask("EVAL", script, "2", key, copy)
        }
    }

    private func owner(of key: String, _ servers: RedisClusterServers) -> RedisProcess {
        servers.masters[HashSlot.of(Array(key.utf8)) * 3 / HashSlot.count]
    }

    private func changes(_ subject: Subject, since token: String?) throws -> ConversationChanges {
        let query = HistoryQuery.conversationsSince(user: "bob", token: token, limit: 100)
        guard case .conversationsSince(let changes) = try subject.ask(query) else {
            throw TestFailure("no changes")
        }
        return changes
    }

    /// The list lacks a join that its log and the conversation have.
    @Test func anEntryThatItsLogKnowsIsMissedAndComesBack() throws {
        let servers = try RedisClusterServers()
        let subject = Subject(Redis(try servers.options()))
        try subject.waitUntilOnline()
        let ids = try (0..<3).flatMap { try servers.conversations(at: $0, 2) }
        for id in ids.dropLast(2) { try subject.conversation(id, of: ["bob"]) }
        let list = "gapless:user:bob"
        let node = owner(of: list, servers)
        try copy([list], at: node, back: false)
        try subject.conversation(ids[4], of: ["bob"])
        let token = try changes(subject, since: nil).token
        try copy([list], at: node, back: true)
        // As many as the token has.
        try subject.conversation(ids[5], of: ["bob"])
        #expect(refusal { try changes(subject, since: token) } == .originUnavailable)
        var last: ConversationChanges?
        let isBack = Deadline.standard.poll {
            last = try? changes(subject, since: token)
            return last != nil
        }
        #expect(isBack && last?.complete == false)
        #expect(Set(last?.heads.keys.map(\.text) ?? []) == Set(ids))
    }

    /// A conversation that lost a departure, which the list has.
    @Test func aConversationThatWasPutBackIsInTheListsOfAllWhoTakePart() throws {
        let servers = try RedisClusterServers()
        let subject = Subject(Redis(try servers.options()))
        try subject.waitUntilOnline()
        let id = try servers.conversations(at: 0, 1)[0]
        try subject.conversation(id)
        let keys = [
            "meta", "marks", "messages", "changes", "ids", "members", "reads", "deleted",
            "trimmed",
        ].map { "gapless:{\(id)}:\($0)" }
        try copy(keys, at: owner(of: "\(id)", servers), back: false)
        try subject.perform(.leave(id), by: .user("bob"))
        let token = try changes(subject, since: nil).token
        let lost = try subject.head(id)
        #expect(try changes(subject, since: token).heads.isEmpty)
        try copy(keys, at: owner(of: "\(id)", servers), back: true)
        #expect(try subject.forkEpoch(lost, of: id).epoch != lost.epoch)
        let isBack = Deadline.standard.poll {
            (try? changes(subject, since: token))?.conversations.map(\.record.id) == [id]
        }
        #expect(isBack)
    }
}
