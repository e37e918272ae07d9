import Foundation
import GaplessClient
import GaplessFoundation
import GaplessTesting
import Testing

/// What an app does, on a gateway in memory: no process, no socket, and no second that passes.
@MainActor @Suite struct AppTests {
    private let gateway = TestGateway()

    init() {
        gateway.open("ops", title: "Ops", participants: ["alice", "bob"])
        for number in 1...5 { gateway.write("message \(number)", by: "bob", in: "ops") }
    }

    /// A screen of an app: what its handlers touch is its own.
    private final class Screen: ManagedMessageListDelegate {
        let client: ChatClient
        lazy var list = ManagedMessageList(
            client, conversation: Conversation(id: "ops"), reader: "alice", delegate: self)
        var title: String?
        var texts: [String] = []
        var connections = 0

        init(_ client: ChatClient) { self.client = client }

        /// The recipes of the documents, as they stand there.
        func open() async throws {
            let list = self.list
            client.pubsub.onConnect { list.online() }
            client.pubsub.onConnect { self.connections += 1 }
            let conversation = try await client.fetchConversation(
                "ops", cached: { self.title = $0.title })
            title = conversation.title
            list.online()
        }

        func managedMessageListDidChange(messageDeltas: [MessageDelta]) {
            texts = (0..<list.messageCount()).compactMap { list.messageAt($0).body }
        }
    }

    private func until(_ condition: () async -> Bool) async throws {
        // Counted in turns: other suites keep the main actor busy for long.
        var turns = 0
        while await !condition() {
            turns += 1
            try #require(turns < 100_000)
            await gateway.network.settle()
            await Task.yield()
        }
    }

    @Test func aScreenShowsWhatIsSaidThroughAnOutage() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let screen = Screen(client)
        try await screen.open()
        try await until { screen.texts.count == 5 }
        #expect(screen.title == "Ops")
        client.send("on my way", to: "ops")
        try await until { screen.texts.last == "on my way" }
        #expect(gateway.messages(in: "ops").count == 6)
        gateway.isReachable = false
        gateway.write("are you there?", by: "bob", in: "ops")
        gateway.edit("test-2", in: "ops", body: "message two")
        try await until { !client.pubsub.isConnected }
        // An hour passes, and not a moment of the test.
        await gateway.advance(by: .seconds(3_600))
        gateway.isReachable = true
        await gateway.advance(by: .seconds(30))
        try await until { screen.texts.last == "are you there?" }
        #expect(screen.texts[1] == "message two")
    }

    @Test func whatASlowReaderMissedIsAGapThatIsFilledAsItsRowsAppear() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let model = ConversationModel(client, conversation: "ops", reader: "alice", limit: 2)
        model.online()
        try await until { model.isLive && model.rows.count == 2 }
        gateway.shed(4, by: "bob", in: "ops")
        gateway.write("the newest", by: "bob", in: "ops")
        try await until { model.rows.count == 4 }
        #expect(model.rows[2].content == .gap(missing: 4))
        #expect(model.rows[3].content.text == "the newest")
        // The first page is what touches the row that is looked at, and there is no second before
        // the view shows what came.
        model.appeared(model.rows[3])
        try await until { model.rows.count == 6 }
        #expect(model.rows[2].content == .gap(missing: 2))
        try await until {
            for row in model.rows { model.appeared(row) }
            return !model.rows.contains { $0.content.text == nil } && !model.hasMore.before
        }
        #expect(model.rows.count == 10)
    }

    @Test func twoLoopsOverOneSubscriptionShareIt() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let updates = client.subscribeMessages(conversation: "ops")
        func loop() -> Task<[String], Never> {
            Task {
                var bodies: [String] = []
                for await update in updates {
                    bodies += (update.frame?.messages ?? []).compactMap(\.body)
                    if bodies.last == "last" { break }
                }
                return bodies
            }
        }
        let loops = [loop(), loop()]
        try await until { gateway.requests("subscribeMessages").count == 1 }
        for number in 0..<50 { gateway.write("live \(number)", by: "bob", in: "ops") }
        for _ in loops { gateway.write("last", by: "bob", in: "ops") }
        var taken: [String] = []
        for loop in loops { taken += await loop.value }
        #expect(Set(taken.filter { $0.hasPrefix("live") }).count == 50)
        #expect(taken.count { $0.hasPrefix("live") } == 50)
    }

    @Test func aHandlerThatWasRemovedIsNotCalled() async throws {
        let client = try gateway.client("alice")
        var (kept, removed) = (0, 0)
        client.pubsub.onConnect { kept += 1 }
        let registration = client.pubsub.onConnect { removed += 1 }
        await gateway.connected(client)
        try await until { kept == 1 && removed == 1 }
        registration.cancel()
        gateway.cut()
        try await until { !client.pubsub.isConnected }
        await gateway.advance(by: .seconds(30))
        try await until { kept == 2 }
        #expect(removed == 1)
    }

    @Test func everyNameCanBeWrittenInFull() {
        let message: GaplessClient.Message = MessageItem(
            Message(id: "m", conversation: "ops", author: "bob", createdAt: .earliest),
            isHeld: true
        ).message
        let loading = GaplessClient.History.Loading(top: true)
        #expect(loading != History.Loading())
        // Without a word of its type.
        let runs = findBoundaries(ofMessageList: [message])
        #expect(runs.isEmpty || runs.count == 1)
    }

    @Test func datesAndMetadataAreTheAppsOwn() async throws {
        struct Mark: Codable, Equatable { var color: String }
        let mark = Mark(color: "red")
        let sent = gateway.write(
            "with a mark", by: "bob", in: "ops", metadata: try RawJSON(mark))
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let message = try #require(
            try await client.fetchMessages(conversation: "ops", beforeMessage: nil, limit: 1).first)
        #expect(message.id == sent.id)
        #expect(try message.metadata(as: Mark.self) == mark)
        #expect(throws: DecodingError.self) { try message.metadata(as: [Int].self) }
        #expect(Timestamp(message.creationDate) == message.createdAt)
        #expect(message.creationDate == Date(timeIntervalSince1970: 1_790_000_000))
        #expect(message.editDate == nil)
    }

    @Test func listsAndScripts() async throws {
        let client = try gateway.client("alice")
        let (list, connection) = (ConversationListModel(client), ConnectionModel(client))
        await gateway.connected(client)
        list.online()
        try await until { connection.isLive && list.conversations.map(\.title) == ["Ops"] }
        #expect(list.conversations.first?.unreadCount == 5)
        gateway.open("news", title: "News", participants: ["alice"])
        try await until { list.conversations.count == 2 }
        _ = try await client.markRead(conversation: "ops", upTo: 5)
        #expect(gateway.lastRead(by: "alice", in: "ops") == 5)
        gateway.answer("editMessage") { _ in .refusal(.notAuthor) }
        await #expect(throws: ClientError.self) {
            try await client.edit("test-1", in: "ops", body: "no")
        }
        gateway.answer("editMessage", by: nil)
        #expect(try await client.edit("test-1", in: "ops", body: "yes").body == "yes")
        #expect(try await client.delete("test-1", in: "ops").isDeleted)
        #expect(gateway.requests("editMessage").map(\.user) == ["alice", "alice"])
    }

    @Test func reactionsAreMadeFetchedAndShown() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let made = try await client.react("+1", to: "test-1", in: "ops")
        #expect(made.own == ["+1"] && made.message.contentRev != nil)
        #expect(made.message.reactions == [Reaction(key: "+1", count: 1, users: ["alice"])])
        #expect(made.message.editedAt == nil)
        let again = try await client.react("+1", to: "test-1", in: "ops")
        #expect(again.message.rev == made.message.rev)
        try await client.react("ha", to: "test-1", in: "ops")
        let page = try await client.fetchReactions(to: "test-1", in: "ops", limit: 1)
        #expect(page.reactions.map(\.key) == ["+1"] && page.total == 2)
        let rest = try await client.fetchReactions(
            to: "test-1", in: "ops", limit: 9, cursor: page.next)
        #expect(rest.reactions.map(\.key) == ["ha"] && rest.next == nil)
        #expect(
            try await client.fetchOwnReactions(in: "ops", after: 0, before: 9)
                == [1: ["+1", "ha"]])
        // An edit that began before it is no conflict with it.
        try await client.edit(
            "test-1", in: "ops", body: "new", ifRev: made.message.contentRev)
        client.queueReaction("+1", to: "test-1", in: "ops", isOn: false)
        try await until { gateway.messages(in: "ops").first?.reactions.map(\.key) == ["ha"] }
        #expect(await client.changes(in: "ops").isEmpty)
        gateway.answer("react") { _ in .refusal(.clientsReactOff) }
        await #expect(throws: ClientError.self) {
            try await client.react("no", to: "test-1", in: "ops")
        }
    }

    @Test func whoIsThereIsWatchedAgainInEachSession() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        client.watchPresence([PresenceWatch(conversation: "ops")])
        func next(_ isMeant: (PresenceList) -> Bool) async throws -> PresenceList {
            for await list in client.presences() where isMeant(list) { return list }
            throw CancellationError()
        }
        func state(_ user: String, _ list: PresenceList) -> PresenceState? {
            list.users.first { $0.user == user }?.state
        }
        let first = try await next { state("alice", $0) == .present }
        #expect(!first.isOpen && state("bob", first) == .absent)
        let bob = try gateway.client("bob")
        await gateway.connected(bob)
        let came = try await next { state("bob", $0) == .present }
        #expect(came.users.first { $0.user == "bob" }?.since != nil)
        bob.setPresence(.away)
        _ = try await next { state("bob", $0) == .away }
        // After an outage the watch is said again, and how the user is there.
        client.setPresence(.away)
        _ = try await next { state("alice", $0) == .away }
        gateway.cut()
        _ = try await next { $0.isOpen }
        for client in [client, bob] { client.wake() }
        _ = try await next {
            !$0.isOpen && state("alice", $0) == .away && state("bob", $0) == .away
        }
        #expect(gateway.requests("watchPresence").count == 2)
        gateway.answer("watchPresence") { _ in .refusal(.clientsPresenceOff) }
        client.watchPresence([])
        let refused = try await next { $0.refusal != nil }
        #expect(refused.refusal?.reason == .clientsPresenceOff && refused.users.isEmpty)
    }

    @Test func aGatewayThatRefusesPresenceIsConnectedToWithoutIt() async throws {
        gateway.answer("connect") { request in
            request.params["presence"] == nil ? nil : .refusal(.clientsPresenceOff)
        }
        gateway.answer("setPresence") { _ in .refusal(.clientsPresenceOff) }
        let client = try gateway.client("alice")
        client.setPresence(.hidden)
        client.connect()
        try await until { gateway.requests("connect").count == 1 }
        for _ in 0..<20 where gateway.requests("connect").count < 2 {
            await gateway.advance(by: .seconds(1))
        }
        // It may be allowed by now, and nobody is shown who wants to be hidden.
        try await until { gateway.requests("setPresence").count == 1 }
        #expect(gateway.requests("setPresence").first?.params["state"]?.string == "hidden")
        #expect(client.pubsub.isConnected)
    }

    @Test func repliesAndMentionsAreSentEditedFetchedAndCounted() async throws {
        let (client, bob) = (try gateway.client("alice"), try gateway.client("bob"))
        await gateway.connected(client)
        await gateway.connected(bob)
        let sent = try await bob.deliver(
            "look", to: "ops", id: "r", replyTo: "test-1", mentions: ["eve", "alice"])
        #expect(sent.replyTo == Reply(id: "test-1", seq: 1) && sent.mentions == ["alice"])
        let lost = try await bob.deliver("all", to: "ops", replyTo: "no", mentionAll: true)
        #expect(lost.replyTo == Reply(id: "no") && lost.mentionAll && lost.mentions.isEmpty)
        let found = try await client.fetchMentions(in: "ops", limit: 1)
        #expect(found.places.map(\.id) == ["r"] && found.total == 2)
        let seq = try #require(found.places.first?.seq)
        let rest = try await client.fetchMentions(in: "ops", after: seq)
        #expect(rest.places.map(\.seq) == [seq + 1] && rest.total == 2)
        let own = try await client.fetchConversation("ops")
        #expect(own.unreadMentions == 2)
        let read = try await client.markRead(conversation: "ops", upTo: seq)
        #expect(read.unreadMentions == 1)
        // What an edit does not name stays; also where it waits.
        #expect(try await bob.edit("r", in: "ops", body: "again").mentions == ["alice"])
        bob.queueEdit("r", in: "ops", body: "third", mentions: [], mentionAll: true)
        try await until {
            gateway.messages(in: "ops").contains {
                $0.id == "r" && $0.mentionAll && $0.mentions.isEmpty
                    && $0.replyTo == sent.replyTo
            }
        }
    }

    @Test func twoListsAreOneSubscriptionWhichTheLastOneEnds() async throws {
        let client = try gateway.client("alice")
        await gateway.connected(client)
        let (first, second) = (ConversationListModel(client), ConversationListModel(client))
        for list in [first, second] { list.online() }
        try await until { first.isLoaded && second.isLoaded }
        #expect(gateway.requests("subscribeConversations").count == 1)
        first.offline()
        for number in 2...4 {
            gateway.open("more \(number)", participants: ["alice"])
            try await until { second.conversations.count == number }
        }
        #expect(first.conversations.count == 1)
        #expect(gateway.requests("unsubscribeConversations").isEmpty)
        second.offline()
        try await until { gateway.requests("unsubscribeConversations").count == 1 }
        first.online()
        try await until { first.conversations.count == 4 }
    }

    /// Objects for views and their client, through an outage.
    @Test func whatNobodyHoldsIsReleased() async throws {
        weak var client: ChatClient?
        weak var list: ManagedMessageList?
        weak var history: History?
        weak var model: ConversationModel?
        func use() async throws {
            let user = try gateway.client("alice")
            let ops = Conversation(id: "ops")
            let shown = ManagedMessageList(user, conversation: ops, reader: "alice", delegate: nil)
            let opened = History(user, conversation: ops, reader: "alice")
            let observed = ConversationModel(user, conversation: "ops", reader: "alice")
            (client, list, history, model) = (user, shown, opened, observed)
            await gateway.connected(user)
            shown.online()
            opened.open()
            observed.online()
            try await until { shown.messageCount() == 5 && observed.rows.count == 5 }
            gateway.cut()
            await gateway.advance(by: .seconds(30))
            try await until { opened.messages.count == 5 && user.pubsub.isConnected }
        }
        try await use()
        try await until { list == nil && history == nil && model == nil && client == nil }
    }
}

extension ConversationModel.Row.Content {
    /// What a message says; nil for a hole.
    fileprivate var text: String? {
        guard case .message(let message, _) = self else { return nil }
        return message.body
    }
}
