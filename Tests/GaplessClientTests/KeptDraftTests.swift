import ClientCore
import Foundation
import GaplessTesting
import SQLite
import Synchronization
import TestSupport
import Testing
import Wire

@testable import GaplessClient

/// What was written and not sent outlives versions, failures and users of a store.
@Suite struct KeptDraftTests {
    private let gateway = TestGateway()
    private let directory: URL
    private let path: String

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("drafts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.appendingPathComponent("user.db").path
        for user in ["alice", "bob"] {
            gateway.open("of \(user)", title: "Of \(user)", participants: [user])
        }
        gateway.open("ops", title: "Ops", participants: ["alice", "bob"])
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        let deadline = Deadline.after(.seconds(120))
        while try await !condition() {
            try #require(!deadline.isOver)
            await Task.yield()
        }
    }

    /// A client that is gone when this returns.
    private func use(
        _ user: String, _ body: (ChatClient) async throws -> Void
    ) async throws {
        let client = try gateway.client(user, store: path)
        try await body(client)
    }

    private func change(_ sql: String, of path: String? = nil) throws {
        try Connection(path: path ?? self.path, access: .readWrite).execute(sql)
    }

    private var sent: [String] { gateway.messages(in: "ops").compactMap(\.body) }

    @Test(arguments: [1, 2, 99]) func anotherVersionOfTheStoreKeepsDrafts(
        _ version: Int
    ) async throws {
        try await use("alice") { client in
            client.send("later", to: "ops")
            client.queueRead(upTo: 0, in: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
        }
        try change("PRAGMA user_version = \(version)")
        try await use("alice") { client in
            // Nobody has to look at the conversation for that.
            await gateway.connected(client)
            try await until { sent == ["later"] }
        }
    }

    /// As the program before this one wrote it.
    @Test func whatAnEarlierVersionHadNotSentIsTakenOver() async throws {
        let connection = try Connection(path: path, access: .readWrite)
        try connection.execute(
            """
            CREATE TABLE draft (
                conversation TEXT NOT NULL, place INTEGER NOT NULL, json BLOB NOT NULL,
                PRIMARY KEY (conversation, place)
            ) WITHOUT ROWID;
            CREATE TABLE unsent (
                conversation TEXT NOT NULL, place INTEGER NOT NULL, json BLOB, read INTEGER,
                PRIMARY KEY (conversation, place)
            ) WITHOUT ROWID;
            PRAGMA application_id = \(0x4750_4C43); PRAGMA user_version = 2;
            """)
        for place in 0..<2 {
            let draft = Draft(
                id: "old-\(place)", body: "draft \(place)",
                createdAt: Timestamp(milliseconds: 1_790_000_000_000))
            let row = try connection.prepare("INSERT INTO draft VALUES ('ops', ?, ?)")
            row.bind(1, place)
            row.bind(2, draft.json)
            try row.run()
        }
        let message = gateway.write("typo", by: "alice", in: "ops")
        let change = Change(
            id: "change", message: message.id, kind: .edit(body: "mended", metadata: nil))
        let row = try connection.prepare("INSERT INTO unsent VALUES ('ops', 0, ?, 1)")
        row.bind(1, change.json)
        try row.run()
        try await use("alice") { client in
            await gateway.connected(client)
            try await until { sent == ["mended", "draft 0", "draft 1"] }
            try await until { gateway.lastRead(by: "alice", in: "ops") >= 1 }
        }
    }

    @Test func aFailedWriteIsTriedAgain() async throws {
        try await use("alice") { client in
            // Somebody holds both files for longer than the client waits.
            let held = try Connection(path: path, access: .readWrite)
            let unsent = try Connection(path: path + "-unsent", access: .readWrite)
            for connection in [held, unsent] { try connection.execute("BEGIN IMMEDIATE") }
            client.send("later", to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
            // It was tried, and could not be written.
            _ = await client.user
            #expect(try unsent.integer("SELECT COUNT(*) FROM unsent") == 0)
            for connection in [held, unsent] { try connection.execute("ROLLBACK") }
            await gateway.advance(by: .seconds(2))
            #expect(try unsent.integer("SELECT COUNT(*) FROM unsent") == 1)
        }
        try await use("alice") { client in
            #expect(await client.drafts(in: "ops").map(\.body) == ["later"])
        }
    }

    /// What can be fetched again makes way; what is held is written again when there is room.
    @Test func aFullDiskErasesNothing() async throws {
        let long = String(repeating: "x", count: 20_000)
        for number in 0..<50 { gateway.write("\(number)", by: "bob", in: "ops") }
        try await use("alice") { client in
            await gateway.connected(client)
            let updates = client.subscribeMessages(conversation: "ops")
            for await update in updates {
                if case .live(true) = update { break }
            }
            await limit(client, pages: 1)
            gateway.isReachable = false
            client.send(long, to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
            await limit(client, pages: 100_000)
            await gateway.advance(by: .seconds(2))
        }
        try await use("alice") { client in
            #expect(await client.drafts(in: "ops").map(\.body) == [long])
            let kept = try await held(client)
            #expect(kept == 50)
        }
    }

    private func limit(_ client: ChatClient, pages: Int) async {
        await client.runner.run { runner in
            let sql = "PRAGMA max_page_count = \(pages)"
            for connection in [runner.store.connection, runner.store.unsent.connection] {
                try? connection?.execute(sql)
            }
        }
    }

    /// How many messages the client has before it is connected.
    private func held(_ client: ChatClient) async throws -> Int {
        for await update in client.subscribeMessages(conversation: "ops") {
            if case .began(let snapshot) = update { return snapshot.messages.count }
            if case .open = update { break }
        }
        return 0
    }

    @Test func nobodySendsOrSeesWhatIsAnothers() async throws {
        gateway.write("for alice", by: "alice", in: "of alice")
        try await use("alice") { client in
            await gateway.connected(client)
            let list = client.subscribeConversations()
            for await update in list { if case .all(let all) = update, all.count == 2 { break } }
            for await update in client.subscribeMessages(conversation: "of alice") {
                if case .live(true) = update { break }
            }
            gateway.isReachable = false
            client.send("alice's", to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
        }
        gateway.isReachable = true
        try await use("bob") { client in
            var window = MessageWindow(conversation: "of alice", reader: "bob")
            let updates = client.subscribeMessages(conversation: "of alice")
            await gateway.connected(client)
            for await update in updates {
                _ = window.take(update)
                if case .ended = update { break }
            }
            #expect(window.timeline.count == 0)
            #expect(await client.drafts(in: "ops").isEmpty)
            var listed: [String] = []
            for await update in client.subscribeConversations() {
                if case .all(let all) = update { listed = all.map(\.id).sorted() }
                if listed == ["of bob", "ops"] { break }
            }
            client.send("bob's", to: "ops")
            try await until { sent == ["bob's"] }
        }
        #expect(gateway.messages(in: "ops").map(\.author) == ["bob"])
        try await use("alice") { client in
            await gateway.connected(client)
            try await until { sent == ["bob's", "alice's"] }
        }
        #expect(gateway.messages(in: "ops").map(\.author) == ["bob", "alice"])
    }

    /// One client, whose app gives another user's credentials.
    @Test(arguments: [true, false]) func nobodySendsWhatIsAnothersInOneClient(
        _ isKept: Bool
    ) async throws {
        let user = Named("alice")
        var options = ChatClient.Options()
        options.store = isKept ? path : nil
        let client = try ChatClient(
            url: "ws://test.invalid/v1/ws", options: options,
            transport: gateway.network.transport()
        ) { _ in .user(user.name) }
        await gateway.connected(client)
        gateway.isReachable = false
        client.send("alice's", to: "ops")
        #expect(await client.drafts(in: "ops").count == 1)
        user.name = "bob"
        gateway.isReachable = true
        await gateway.advance(by: .seconds(60))
        try await until { await client.user == "bob" }
        client.send("bob's", to: "ops")
        try await until { sent == ["bob's"] }
        #expect(await client.drafts(in: "ops").isEmpty)
        user.name = "alice"
        gateway.cut()
        await gateway.advance(by: .seconds(60))
        try await until { sent == ["bob's", "alice's"] }
        #expect(gateway.messages(in: "ops").map(\.author) == ["bob", "alice"])
    }

    /// Another process of the app uses the files while this one is suspended.
    @Test func aClosedStoreIsFree() async throws {
        gateway.write("one", by: "bob", in: "ops")
        try await use("alice") { first in
            await gateway.connected(first)
            for await update in first.subscribeMessages(conversation: "ops") {
                if case .live(true) = update { break }
            }
            try await first.closeStore()
            try await use("alice") { second in
                second.send("of the second", to: "ops")
                #expect(await second.drafts(in: "ops").count == 1)
                await #expect(throws: (any Error).self) { try await first.openStore() }
            }
            gateway.isReachable = false
            first.send("of the first", to: "ops")
            #expect(await first.drafts(in: "ops").count == 1)
            try await first.openStore()
            let drafts = await first.drafts(in: "ops").compactMap(\.body)
            #expect(drafts.sorted() == ["of the first", "of the second"])
        }
        try await use("alice") { third in
            let kept = try await held(third)
            #expect(kept == 1)
            #expect(await third.drafts(in: "ops").count == 2)
        }
    }

    @Test func aFileThatIsNoDatabaseIsPutAside() async throws {
        let unsent = URL(fileURLWithPath: path + "-unsent")
        let bytes = Data(repeating: 7, count: 10_000)
        try bytes.write(to: unsent)
        try await use("alice") { client in
            client.send("later", to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-unsent-damaged-1")) == bytes)
    }

    @Test func logoutErasesWhatTheUserWroteAndLeavesWhatOthersDid() async throws {
        try await use("alice") { client in
            await gateway.connected(client)
            gateway.isReachable = false
            client.send("alice's secret", to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
        }
        gateway.isReachable = true
        try await use("bob") { client in
            await gateway.connected(client)
            client.disconnect()
            client.send("bob's secret", to: "ops")
            #expect(await client.drafts(in: "ops").count == 1)
            await client.logout()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        let left = try Connection(path: path + "-unsent", access: .readOnly)
        #expect(try left.text("SELECT user FROM unsent") == "alice")
        #expect(try left.integer("SELECT COUNT(*) FROM unsent") == 1)
    }
}

private final class Named: Sendable {
    private let value: Mutex<String>
    init(_ name: String) { value = Mutex(name) }
    var name: String {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
