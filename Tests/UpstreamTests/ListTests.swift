import Cache
import Ports
import TestSupport
import Testing
import Upstream
import Wire

/// One user's list of conversations: walked, followed, and against a plain model.
@Suite struct ListTests {
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func list(
        _ user: String, limit: Int = 100, cursor: String? = nil
    ) throws -> ConversationList {
        guard
            case .conversations(let list) = try origin.reader.answer(
                Query.conversations(user: user, limit: limit, cursor: cursor))
        else { throw Origin.Lost() }
        return list
    }

    private func changes(
        _ user: String, since token: String?, limit: Int = 100
    ) throws -> ConversationChanges {
        guard
            case .conversationsSince(let changes) = try origin.reader.answer(
                Query.conversationsSince(user: user, token: token, limit: limit))
        else { throw Origin.Lost() }
        return changes
    }

    @Test func latestActivityComesFirst() throws {
        for id in ["c1", "c2", "c3"] {
            origin.now += 1
            try origin.conversation(id, of: ["a", "b"])
        }
        origin.now += 1
        try origin.send("x", to: "c2", by: "a")
        origin.now += 1
        try origin.perform(.update(conversation: "c1", ConversationFields(title: "t")))
        #expect(try list("a").conversations.map(\.record.id) == ["c1", "c2", "c3"])
        #expect(try list("eve").conversations.isEmpty)
        #expect(try list("b").conversations.map { $0.reader?.unreadCount } == [0, 1, 0])
    }

    @Test func walkingTheListGivesEachConversationOnce() throws {
        for number in 0..<25 {
            // Some share their moment.
            if number % 3 == 0 { origin.now += 1 }
            try origin.conversation("c\(number)", of: ["a"])
        }
        var walked: [String] = []
        var cursor: String?
        repeat {
            let page = try list("a", limit: 4, cursor: cursor)
            #expect(page.total == 25)
            walked += page.conversations.map(\.record.id)
            cursor = page.next
        } while cursor != nil
        #expect(Set(walked).count == 25 && walked.count == 25)
        #expect(try walked == list("a").conversations.map(\.record.id))
    }

    @Test(arguments: ["", "x", "1.2.3", "-", "9999999999999999999999.1"])
    func aCursorThatWasNotGivenOutIsRefused(cursor: String) throws {
        #expect(refusal { _ = try list("a", cursor: cursor) } == .badRequest)
    }

    @Test(arguments: [nil, "", "x", "5.feedfeedfeedfeed", "zzz."])
    func anUnknownTokenBeginsAnew(token: String?) throws {
        try origin.conversation("c1", of: ["a"])
        let changes = try changes("a", since: token)
        #expect(!changes.complete && changes.removed.isEmpty)
        #expect(changes.conversations.map(\.record.id) == ["c1"])
    }

    @Test func theLimitIsOneOfAListThatBegins() throws {
        let token = try changes("a", since: nil).token
        for number in 0..<5 { try origin.conversation("c\(number)", of: ["a"]) }
        let all = try changes("a", since: token, limit: 4)
        #expect(all.complete && all.conversations.count == 5 && all.total == 5)
        let beginning = try changes("a", since: "none", limit: 4)
        #expect(!beginning.complete && beginning.conversations.count == 4)
    }

    @Test func anIdThatIsUsedAgainIsNotRemoved() throws {
        try origin.conversation("c1", of: ["a"])
        let token = try changes("a", since: nil).token
        try origin.perform(.deleteConversation("c1"))
        #expect(try changes("a", since: token).removed == ["c1"])
        try origin.conversation("c1", of: ["a"])
        let changes = try changes("a", since: token)
        #expect(changes.removed.isEmpty)
        #expect(changes.conversations.map(\.record.id) == ["c1"])
    }

    @Test func oneWhoOnlyWroteIsToldOfNoRemoval() throws {
        try origin.conversation("c1", of: ["a"])
        let token = try changes("bot", since: nil).token
        try origin.send("x", by: "bot", as: .server)
        let changes = try changes("bot", since: token)
        #expect(changes.complete && changes.removed.isEmpty && changes.conversations.isEmpty)
    }

    /// Two users follow their lists with tokens through random traffic and restarts; what they have
    /// put together must be what the list is.
    @Test func followingTheListGivesTheList() throws {
        for seed in UInt64(0)..<6 {
            try follow(seed: seed)
        }
    }

    private func follow(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let origin = try Origin()
        var held: [String: (token: String?, views: [String: ConversationView])] = [:]
        for step in 0..<150 {
            origin.now += Int64.random(in: 0...2, using: &random)
            let id = "c\(Int.random(in: 0..<6, using: &random))"
            let user = Bool.random(using: &random) ? "a" : "b"
            let operation: Operation =
                switch Int.random(in: 0..<7, using: &random) {
                case 0: .put(id: id, ConversationFields(title: "\(step)", participants: [user]))
                case 1: .deleteConversation(id)
                case 2: .addParticipants(conversation: id, [NewParticipant(user: user)])
                case 3: .removeParticipants(conversation: id, [user])
                case 4: .markRead(conversation: id, seq: 1)
                default:
                    .send(
                        conversation: id,
                        [NewMessage(author: user, content: MessageContent(body: "x"))])
                }
            let caller: Caller = if case .markRead = operation { .user(user) } else { .server }
            // Some are refused, for there is no such conversation; that is no change either.
            _ = refusal { try origin.perform(operation, by: caller) }
            if step % 50 == 49 { try origin.restart() }
            for user in ["a", "b"] where Int.random(in: 0..<5, using: &random) == 0 {
                let query = Query.conversationsSince(
                    user: user, token: held[user]?.token, limit: 100)
                guard case .conversationsSince(let changes) = try origin.reader.answer(query)
                else { throw Origin.Lost() }
                var views = changes.complete ? held[user]?.views ?? [:] : [:]
                for id in changes.removed { views[id] = nil }
                for view in changes.conversations { views[view.record.id] = view }
                held[user] = (changes.token, views)
                let whole = Query.conversations(user: user, limit: 100, cursor: nil)
                guard case .conversations(let list) = try origin.reader.answer(whole) else {
                    throw Origin.Lost()
                }
                let expected = Dictionary(
                    uniqueKeysWithValues: list.conversations.map { ($0.record.id, $0) })
                #expect(views == expected, "seed \(seed), step \(step), user \(user)")
                #expect(changes.total == expected.count, "seed \(seed), step \(step)")
            }
        }
    }
}
