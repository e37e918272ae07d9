import Cache
import Chat
import JSON
import Ports
import SQLite
import Testing
import Upstream
import Wire

/// What may be done with messages, and what comes of it.
@Suite struct MessageTests {
    private let origin: Origin

    init() throws {
        origin = try Origin()
        try origin.conversation(of: ["alice", "bob", "root"], admins: ["root"])
        _ = origin.events()
    }

    private func edit(_ id: String, _ edit: MessageEdit, by caller: Caller) throws -> EncodedMessage
    {
        let outcome = try origin.perform(.edit(conversation: "c1", id: id, edit), by: caller)
        return try #require(outcome.messages().first)
    }

    private func delete(_ id: String, by caller: Caller) throws -> EncodedMessage {
        let outcome = try origin.perform(.delete(conversation: "c1", id: id), by: caller)
        return try #require(outcome.messages().first)
    }

    @Test func placesAndChangesAreNumberedDensely() throws {
        for number in 1...5 {
            let message = try origin.send("hello \(number)")
            #expect(message.seq == number)
            #expect(message.rev == number + 1, "the conversation itself was change 1")
        }
        let head = try origin.head()
        #expect(head.seq == 5 && head.rev == 6 && head.floor == 1)
        let read = try origin.page(PageRequest(order: .asc)).messages
        #expect(try read.map { try $0.message().body } == (1...5).map { "hello \($0)" })
    }

    @Test func usersWhoseIDsLookAlikeAreMentionedApart() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        try origin.conversation("c2", of: ["alice", one, two])
        let content = MessageContent(id: "m", body: "x", mentions: [one])
        try origin.perform(
            .send(conversation: "c2", [NewMessage(author: "alice", content: content)]))
        try origin.perform(.edit(conversation: "c2", id: "m", MessageEdit(mentions: [two])))
        let counts = try [one, two].map {
            try origin.view("c2", user: $0).reader?.unreadMentions
        }
        #expect(counts == [0, 1])
    }

    /// Otherwise who sends and deletes, again and again, makes each deletion dearer for all.
    @Test func deletingTheLastMessageWalksOverNoTombstoneTwice() throws {
        let first = try origin.send("stays")
        let second = try origin.send("goes at last")
        for number in 1...50 {
            let sent = try origin.send("goes \(number)")
            _ = try delete(sent.id, by: .user(sent.author))
            try expect(last: second.seq, rest: nil)
        }
        let last = try origin.send("stays too")
        try expect(last: last.seq, rest: second.seq)
        _ = try delete(second.id, by: .user(second.author))
        try expect(last: last.seq, rest: second.seq)
        _ = try delete(last.id, by: .user(last.author))
        try expect(last: first.seq, rest: nil)
        try origin.restart()
        try expect(last: first.seq, rest: nil)
        _ = try delete(first.id, by: .user(first.author))
        try expect(last: 0, rest: nil)
        let again = try origin.send("again")
        try expect(last: again.seq, rest: 0)
    }

    /// The last message of the log, and up to where the others that are not deleted lie.
    private func expect(
        last: Int, rest: Int?, at location: SourceLocation = #_sourceLocation
    ) throws {
        let connection = try Connection(path: origin.directory + "/gapless.db", access: .readOnly)
        let log = try #require(try ConversationRows(connection).log("c1"))
        #expect(log.lastSeq == last, sourceLocation: location)
        #expect(log.restUpTo == rest, sourceLocation: location)
    }

    @Test func theFeedTellsEachChangeWithTheHeadRightAfterIt() throws {
        let sent = try origin.perform(
            .send(
                conversation: "c1",
                ["x", "y"].map { NewMessage(author: "bob", content: MessageContent(body: $0)) }),
            by: .user("bob"))
        let events = origin.events()
        #expect(events.count == 2)
        for (event, message) in zip(events, try sent.messages()) {
            guard case .message("c1", .inserted, message, let head, nil) = event else {
                Issue.record("not the insertion of the message")
                continue
            }
            #expect(head.seq == message.seq && head.rev == message.rev)
        }
        guard case .performed = origin.batches.last?.last else {
            Issue.record("the result does not follow what it caused")
            return
        }
    }

    @Test func theSameMessageAgainIsThatMessageAsItIsNow() throws {
        let first = try origin.send("one", id: "m1")
        #expect(try origin.send("one", id: "m1") == first)
        let edited = try edit("m1", MessageEdit(body: "two"), by: .user("alice"))
        #expect(try origin.send("one", id: "m1") == edited)
        let deleted = try delete("m1", by: .user("alice"))
        #expect(try origin.send("one", id: "m1") == deleted)
        #expect(try origin.head().seq == 1)
    }

    @Test func contentIsTheSameWhateverTheOrderOfItsMembers() throws {
        func send(_ metadata: String) throws -> EncodedMessage {
            let content = MessageContent(
                id: "m1", body: "x", metadata: try RawJSON(Array(metadata.utf8)))
            return try #require(
                try origin.perform(
                    .send(conversation: "c1", [NewMessage(author: "bob", content: content)])
                ).messages().first)
        }
        let first = try send(#"{"a": 1, "b": [2]}"#)
        #expect(try send(#"{"b":[2],"a":1}"#) == first)
        #expect(refusal { _ = try send(#"{"b":[2],"a":2}"#) } == .conflict)
    }

    @Test func anArrayIsSentWholeOrNotAtAll() throws {
        func array(_ ids: [String?]) -> Operation {
            .send(
                conversation: "c1",
                ids.map {
                    NewMessage(author: "bob", content: MessageContent(id: $0, body: $0 ?? "none"))
                })
        }
        try origin.send("taken", id: "m3")
        #expect(refusal { try origin.perform(array(["m1", "m2", "m3"])) } == .conflict)
        #expect(try origin.head().seq == 1)
        let outcome = try origin.perform(array(["m1", "m2", "m1", nil]))
        let sent = try outcome.messages()
        #expect(outcome.isNew && sent.map(\.seq) == [2, 3, 2, 4])
        let again = try origin.perform(array(["m1", "m2", "m1"]))
        #expect(!again.isNew)
        #expect(try again.messages() == Array(sent.prefix(3)))
        #expect(refusal { try origin.perform(array([])) } == .badRequest)
    }

    @Test func anIdThatTheOriginChoosesIsNewAndInOrder() throws {
        let ids = try (0..<50).map { _ in try origin.send("x").id }
        #expect(Set(ids).count == 50)
        #expect(ids == ids.sorted())
        #expect(ids.allSatisfy { $0.utf8.count == 26 })
    }

    @Test func noMessageIsOlderThanOneBeforeIt() throws {
        let first = try origin.send("a")
        origin.now -= 3_600_000
        let second = try origin.send("b")
        #expect(second.createdAt == first.createdAt)
        origin.now += 7_200_000
        #expect(try origin.send("c").createdAt.milliseconds == origin.now)
    }

    @Test func anEditIsAChangeAndKeepsThePlace() throws {
        let sent = try origin.send("one", id: "m1")
        origin.now += 5_000
        let edited = try edit("m1", MessageEdit(body: "two"), by: .user("alice"))
        #expect(edited.seq == sent.seq && edited.rev == sent.rev + 1)
        #expect(edited.createdAt == sent.createdAt)
        let message = try edited.message()
        #expect(message.body == "two" && message.editedAt?.milliseconds == origin.now)
        guard case .message("c1", .updated, edited, _, nil) = origin.events().last else {
            Issue.record("the feed did not tell the edit")
            return
        }
    }

    @Test func anEditLeavesWhatItDoesNotName() throws {
        let content = MessageContent(
            id: "m1", body: "x", attachment: try RawJSON(Array(#"{"url":"u"}"#.utf8)),
            metadata: try RawJSON(Array(#"{"k":1}"#.utf8)),
            unknown: [JSONMember(key: "mood", value: RawJSON(string: "good"))])
        try origin.perform(
            .send(conversation: "c1", [NewMessage(author: "bob", content: content)]))
        let edit = MessageEdit(
            body: .some(nil), unknown: [JSONMember(key: "tone", value: RawJSON(int: 3))])
        let message = try self.edit("m1", edit, by: .user("bob")).message()
        #expect(message.body == nil)
        #expect(message.attachment == content.attachment)
        #expect(message.metadata == content.metadata)
        #expect(message.unknown.map(\.key) == ["mood", "tone"])
    }

    @Test func aDeletedMessageIsATombstone() throws {
        let sent = try origin.send("one", id: "m1")
        let deleted = try delete("m1", by: .user("alice"))
        #expect(deleted.isDeleted && deleted.seq == sent.seq && deleted.rev == sent.rev + 1)
        let message = try deleted.message()
        #expect(message.isDeleted && message.body == nil && message.author == "alice")
        #expect(!String(decoding: deleted.json, as: UTF8.self).contains("one"))
        #expect(try delete("m1", by: .user("alice")) == deleted, "a second time is no change")
        #expect(refusal { _ = try edit("m1", MessageEdit(body: "x"), by: .server) } == .conflict)
        #expect(try origin.head().seq == 1)
    }

    @Test func theLastMessageIsTheNewestThatIsNotDeleted() throws {
        for number in 1...4 { try origin.send("x", id: "m\(number)") }
        for (deleted, last) in [("m2", 4), ("m4", 3), ("m3", 1), ("m1", nil as Int?)] {
            _ = try delete(deleted, by: .server)
            #expect(try origin.view(user: "bob").lastMessage?.seq == last)
        }
        try origin.send("y")
        #expect(try origin.view(user: "bob").lastMessage?.seq == 5)
    }

    @Test func idsAreComparedByteByByte() throws {
        // Both look the same, and Swift's == holds them for the same.
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        try origin.send("x", id: composed)
        #expect(try origin.send("y", id: decomposed).seq == 2)
        #expect(refusal { try origin.send("x", by: decomposed, as: .user(composed)) } != nil)
    }
}
