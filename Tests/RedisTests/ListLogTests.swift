import Chat
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What changed in a user's list since a token, from any gateway, whatever became of a part of it.
@Suite struct ListLogTests {
    private let server: RedisProcess
    private let here: Subject
    private let there: Subject

    init() throws {
        server = try RedisProcess(["--enable-debug-command", "yes"], keeping: .nothing)
        here = Subject(Redis(try server.options()))
        there = Subject(Redis(try server.options()))
        for subject in [here, there] { try subject.waitUntilOnline() }
    }

    private func changes(
        since token: String?, limit: Int = 100, at subject: Subject? = nil
    ) throws -> ConversationChanges {
        let query = HistoryQuery.conversationsSince(user: "bob", token: token, limit: limit)
        guard case .conversationsSince(let changes) = try (subject ?? here).ask(query) else {
            throw TestFailure("no changes")
        }
        return changes
    }

    private func keys() throws -> [String] {
        ["meta", "marks", "gone"].map { "gapless:departures:{bob}:\($0)" }
    }

    @Test func aTokenTellsWhatChangedSinceAtAnyGateway() throws {
        for number in 1...40 { try here.conversation("c\(number)") }
        let start = try changes(since: nil)
        #expect(!start.complete && start.total == 40 && start.removed.isEmpty)
        let same = try changes(since: start.token, limit: 1, at: there)
        #expect(same.complete && same.conversations.isEmpty && same.removed.isEmpty)
        #expect(same.heads.count == 40)
        try there.send("x", id: "m1", to: "c1")
        try there.perform(.markRead(conversation: "c1", seq: 1), by: .user("bob"))
        try there.perform(.update(conversation: "c2", ConversationFields(title: "t")))
        try there.perform(.removeParticipants(conversation: "c3", ["bob"]))
        try there.perform(.leave("c4"), by: .user("bob"))
        try there.perform(.deleteConversation("c5"))
        try there.conversation("new")
        let changes = try changes(since: start.token, limit: 1)
        let ids = Set(changes.conversations.map(\.record.id))
        #expect(changes.complete && changes.removed == ["c3", "c4", "c5"] && changes.total == 38)
        #expect(ids.isSuperset(of: ["c1", "c2", "new"]) && ids.count < 20)
        #expect(changes.unread == UnreadTotal(messages: 0, conversations: 0))
        // What went in and out and in again is there, and is not removed.
        try there.perform(.addParticipants(conversation: "c3", [NewParticipant(user: "bob")]))
        let back = try self.changes(since: changes.token, at: there)
        #expect(back.complete && back.removed.isEmpty)
        #expect(back.conversations.contains { $0.record.id == "c3" })
        try there.perform(.edit(conversation: "c1", id: "m1", MessageEdit(body: .some("y"))))
        let edited = try self.changes(since: back.token)
        #expect(edited.conversations.contains { $0.record.id == "c1" } && edited.complete)
    }

    /// One that a gateway which died, or one of the first version, took out of a conversation.
    @Test func whoLeftWithoutAWordIsFoundByWhoReadsTheList() throws {
        for id in ["c1", "c2"] { try here.conversation(id) }
        let start = try changes(since: nil)
        // The first version writes neither tags nor a seal.
        try server.untag("c1")
        try server.ask("HDEL", "gapless:{c1}:members", "bob")
        for _ in 1...2 {
            let changes = try changes(since: start.token)
            #expect(changes.complete && changes.removed == ["c1"] && changes.total == 1)
        }
        // It is entered once: a client that knows it is told nothing more.
        let known = try changes(since: changes(since: start.token).token)
        #expect(known.complete && known.removed.isEmpty)
        #expect(try server.ask("ZCARD", "gapless:departures:{bob}:gone") == .integer(1))
    }

    @Test(arguments: 0...2)
    func aLogOfWhichAPartIsLostConfirmsNoToken(part: Int) throws {
        for id in ["c1", "c2", "c3"] { try here.conversation(id) }
        try here.perform(.leave("c3"), by: .user("bob"))
        let start = try changes(since: nil)
        try here.perform(.leave("c2"), by: .user("bob"))
        try server.ask("DEL", try keys()[part])
        let anew = try changes(since: start.token, at: there)
        #expect(!anew.complete && anew.conversations.map(\.record.id) == ["c1"])
        #expect(try !changes(since: start.token).complete)
        #expect(try changes(since: anew.token).complete)
    }

    @Test func tenThousandDeparturesAreKept() throws {
        try here.conversation("c1")
        let start = try changes(since: nil)
        func depart(_ count: Int) throws {
            // As so many calls do.
            try server.ask(
                "EVAL",
                """
                local seq = tonumber(redis.call('HGET', KEYS[1], 'seq'))
                for at = seq + 1, seq + ARGV[1] do
                  redis.call('ZADD', KEYS[3], at, 'x' .. at .. '\\t')
                  redis.call('APPEND', KEYS[2], '12345678')
                end
                redis.call('HSET', KEYS[1], 'seq', seq + ARGV[1], 'gone', seq + ARGV[1])
                return 1
                """, "3", keys()[0], keys()[1], keys()[2], "\(count)")
        }
        try depart(9_999)
        try here.conversation("c2")
        try here.perform(.leave("c2"), by: .user("bob"))
        let all = try changes(since: start.token)
        #expect(all.complete && all.removed.count == 10_000 && all.total == 1)
        try here.conversation("c2")
        try here.perform(.leave("c2"), by: .user("bob"))
        #expect(try !changes(since: start.token).complete)
        let later = try changes(since: all.token)
        #expect(later.complete && later.removed == ["c2"])
        #expect(try server.ask("ZCARD", keys()[2]) == .integer(10_000))
    }

    // MARK: - A list that was put back

    /// What a server had, which it goes back to.
    private func keep() throws { try server.ask("SAVE") }
    private func goBack() throws { try server.ask("DEBUG", "RELOAD", "NOSAVE") }

    @Test(arguments: [1, 200])
    func aTokenOfWhatWasLostIsNotConfirmed(count: Int) throws {
        for number in 1...count { try here.conversation("c\(number)") }
        let before = try changes(since: nil)
        try keep()
        try here.conversation("lost")
        let after = try changes(since: before.token)
        #expect(after.complete && after.conversations.contains { $0.record.id == "lost" })
        try goBack()
        // As many as before: what is missing is not seen by counting.
        try here.conversation("new")
        for subject in [here, there] {
            #expect(try !changes(since: after.token, at: subject).complete)
            let known = try changes(since: before.token, at: subject)
            #expect(known.complete && known.removed.isEmpty && known.total == count + 1)
            #expect(known.conversations.contains { $0.record.id == "new" })
        }
    }

    @Test func aDepartureThatWasLostIsTakenBack() throws {
        for id in ["c1", "c2"] { try here.conversation(id) }
        let before = try changes(since: nil)
        try keep()
        try here.perform(.leave("c2"), by: .user("bob"))
        let after = try changes(since: before.token)
        #expect(after.complete && after.removed == ["c2"])
        try goBack()
        try here.perform(.leave("c1"), by: .user("bob"))
        // The reading may have been quicker than the word of the departure to the log.
        let back = try changes(since: after.token)
        #expect(back.conversations.map(\.record.id) == ["c2"] && back.total == 1)
        #expect(back.complete ? back.removed == ["c1"] : back.removed.isEmpty)
        let known = try changes(since: before.token)
        #expect(known.complete && known.removed == ["c1"] && known.total == 1)
    }

    /// An operator restores the keys of one conversation, and the list goes on.
    @Test func aJoinThatOnlyItsConversationLostIsToldAsADeparture() throws {
        try here.conversation("c1")
        try here.conversation("c2", of: ["alice"])
        try server.ask(
            "EVAL",
            """
            for _, key in ipairs(redis.call('KEYS', '*{c2}*')) do
              redis.call('SET', 'copy of ' .. key, redis.call('DUMP', key))
            end
            """, "0")
        try here.perform(.addParticipants(conversation: "c2", [NewParticipant(user: "bob")]))
        let token = try changes(since: nil).token
        try server.ask(
            "EVAL",
            """
            for _, copy in ipairs(redis.call('KEYS', 'copy of *')) do
              redis.call('RESTORE', copy:sub(9), 0, redis.call('GET', copy), 'REPLACE')
            end
            """, "0")
        for _ in 1...2 {
            let changes = try changes(since: token)
            #expect(changes.complete && changes.removed == ["c2"] && changes.total == 1)
        }
    }

    /// What it proves of joins is less than this version promises.
    @Test func aTokenOfAnEarlierFormIsNotConfirmed() throws {
        try here.conversation("c1")
        let token = try changes(since: nil).token
        #expect(try changes(since: token).complete)
        #expect(try !changes(since: String(token.dropFirst(2))).complete)
    }

    /// The entry comes before the conversation says so, and gateways' clocks are not asked.
    @Test func anEntryWaitsForItsConversationWhateverTheClocksSay() throws {
        try here.conversation("c1")
        let now = Embedded.systemTime().milliseconds
        for (id, age) in [("soon", 120_000), ("ahead", -120_000), ("never", 172_800_000)] {
            try server.ask("ZADD", "gapless:user:bob", "\(now - Int64(age))", id)
        }
        #expect(try changes(since: nil).total == 1)
        // Behind what the reading has asked for.
        _ = try here.head("c1")
        for (id, isThere) in [("soon", true), ("ahead", true), ("never", false)] {
            let entry = try server.ask("ZSCORE", "gapless:user:bob", id)
            #expect((entry != .none) == isThere, "\(id)")
        }
    }

    /// However quickly it follows: several of these fall into one millisecond.
    @Test func whoIsAboutToJoinAgainIsNotTakenOff() throws {
        try here.conversation("c1")
        for _ in 1...100 {
            let seen = try server.ask("ZSCORE", "gapless:user:bob", "c1")
            try there.perform(.leave("c1"), by: .user("bob"))
            try there.perform(.addParticipants(conversation: "c1", [NewParticipant(user: "bob")]))
            #expect(try server.ask("ZSCORE", "gapless:user:bob", "c1") != seen)
        }
        #expect(try changes(since: nil).total == 1)
    }
}
