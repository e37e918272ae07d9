import Cache
import Chat
import FoundationEssentials
import Ports
import Rules
import SQLite
import Testing
import Wire

@testable import Upstream

/// What concerns one of those who take part, or none of them, costs the same however many they are.
/// Counted is what SQLite does, in steps of its machine: no clock is asked.
@Suite struct CrowdTests {
    /// A log with a conversation of so many people, driven without a thread.
    private final class Crowd {
        private let directory: String
        private let store: Store
        private let connection: Connection
        private let readerConnection: Connection
        let log: MessageLog
        let rows: Rows

        init(_ count: Int) throws {
            directory = try Origin.makeDirectory()
            store = try Store(
                Store.Options(
                    path: directory + "/gapless.db", origin: Embedded.kind, durability: .normal,
                    isChecked: false, wait: .seconds(30)))
            connection = try Connection(path: store.options.path, access: .readWrite)
            readerConnection = try Connection(path: store.options.path, access: .readOnly)
            rows = try Rows(readerConnection)
            var limits = LogLimits()
            limits.participants = 1_000_000
            log = try MessageLog(
                connection, try Reader(store), PresentLimits(limits),
                tailLimit: Embedded.tail, clock: { Timestamp(milliseconds: 0) }, outlet: Outlet(),
                witness: store.witness)
            let people = (0..<count).map { "user-\($0)" }
            try perform(.put(id: "c", ConversationFields(participants: people, admins: ["user-5"])))
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        /// The steps that it takes to do it, and what came of it.
        @discardableResult
        func perform(_ operation: Operation, by caller: Caller = .server) throws -> Int {
            let before = connection.steps
            try connection.execute("BEGIN")
            _ = try log.perform(operation, by: caller)
            try log.settle()
            try connection.execute("COMMIT")
            return connection.steps - before
        }

        func read(_ body: (Rows, LogRow) throws -> Void) throws -> Int {
            guard let log = try rows.conversations.log("c") else { throw Origin.Lost() }
            let before = readerConnection.steps
            try body(rows, log)
            return readerConnection.steps - before
        }

        /// Everything that is about one, a title, or a message, by name.
        func costs() throws -> [String: Int] {
            let ruler = Caller.user("user-5")
            let message = NewMessage(
                author: "user-7", content: MessageContent(id: "m1", body: "hello"))
            return [
                "view": try read { _ = try $0.view($1, for: "user-3") },
                "page of people": try read {
                    _ = try $0.members.page($1.cid, ParticipantsRequest(limit: 10))
                    _ = try $0.members.total($1)
                },
                "title": try perform(
                    .update(conversation: "c", ConversationFields(title: "t")), by: ruler),
                "title by the backend": try perform(.put(id: "c", ConversationFields(title: "u"))),
                "join": try perform(
                    .addParticipants(conversation: "c", [NewParticipant(user: "new")]), by: ruler),
                "promote": try perform(.addAdmins(conversation: "c", ["user-6"]), by: ruler),
                "demote": try perform(.removeAdmins(conversation: "c", ["user-6"]), by: ruler),
                "remove": try perform(
                    .removeParticipants(conversation: "c", ["user-9"]), by: ruler),
                "leave": try perform(.leave("c"), by: .user("user-8")),
                "send": try perform(.send(conversation: "c", [message]), by: .user("user-7")),
                "read": try perform(.markRead(conversation: "c", seq: 1), by: .user("user-4")),
                "edit": try perform(
                    .edit(conversation: "c", id: "m1", MessageEdit(body: "hi")),
                    by: .user("user-7")),
            ]
        }
    }

    @Test func whatIsAboutOneCostsTheSameHoweverManyTakePart() throws {
        let few = try Crowd(200).costs()
        let many = try Crowd(20_000).costs()
        for (name, steps) in few {
            let most = steps + steps / 4 + 40
            #expect(many[name, default: .max] <= most, "\(name): \(steps) steps, and of many")
        }
    }

    @Test func theyAreCountedWithEachChange() throws {
        let crowd = try Crowd(150)
        func counted() throws -> (Int?, Int) {
            let log = try #require(try crowd.rows.conversations.log("c"))
            return (log.members, try crowd.rows.members.everybody(log.cid).users.count)
        }
        #expect(try counted() == (150, 150))
        try crowd.perform(
            .addParticipants(
                conversation: "c", ["new", "user-1", "new"].map { NewParticipant(user: $0) }))
        #expect(try counted() == (151, 151))
        try crowd.perform(.removeParticipants(conversation: "c", ["new", "nobody", "user-1"]))
        #expect(try counted() == (149, 149))
        try crowd.perform(
            .put(id: "c", ConversationFields(participants: ["user-2", "one", "two"])))
        #expect(try counted() == (3, 3))
        try crowd.perform(.leave("c"), by: .user("one"))
        #expect(try counted() == (2, 2))
    }

    @Test func aRecordNamesThemOnlyWhereTheyAreListed() throws {
        for count in [100, 101] {
            let crowd = try Crowd(count)
            let log = try #require(try crowd.rows.conversations.log("c"))
            let record = try crowd.rows.record(log)
            #expect(record.participantCount == count && record.admins == ["user-5"])
            #expect(record.participants.isEmpty == (count > 100))
            let whole = try crowd.rows.record(log, isWhole: true)
            #expect(whole.participants.count == count && whole.brief == record)
        }
    }
}
