import Cache
import Chat
import JSON
import Ports
import Testing
import Upstream
import Wire

/// Conversations: made, changed and removed, and who may do so.
@Suite struct RecordTests {
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func create(
        _ id: String? = nil, _ participants: [String], distinct: Bool = false,
        by user: String = "alice"
    ) throws -> Outcome {
        try origin.perform(
            .create(
                id: id, ConversationFields(title: "Ops", participants: participants),
                distinct: distinct), by: .user(user))
    }

    // MARK: creating

    @Test func theCreatorTakesPartAndIsAdmin() throws {
        let outcome = try create("c1", ["bob", "alice", "bob", "carol"])
        let view = try outcome.view()
        #expect(outcome.isNew)
        #expect(view.record.participants == ["alice", "bob", "carol"])
        #expect(view.record.admins == ["alice"])
        #expect(view.record.title == "Ops" && view.record.rev == 1)
        #expect(view.head.seq == 0 && view.head.rev == 1 && !view.head.mark.isEmpty)
        #expect(view.reader == ReaderState(lastReadSeq: 0, unreadCount: 0))
        guard case .record(view.record, view.head, [], [], true, nil) = origin.events().first else {
            Issue.record("the feed did not tell the creation")
            return
        }
    }

    @Test func anIdThatTheOriginChoosesIsOneOfItsOwn() throws {
        #expect(try create(nil, ["bob"]).view().record.id.utf8.count == 26)
    }

    @Test func aDistinctOneOfTheSamePeopleIsThatOne() throws {
        let first = try create(nil, ["bob", "carol"], distinct: true).view()
        let again = try create(nil, ["carol", "alice"], distinct: true, by: "bob")
        #expect(try again.view().record == first.record)
        #expect(!again.isNew)
        let other = try create(nil, ["bob"], distinct: true)
        #expect(other.isNew)
        let plain = try create(nil, ["bob", "carol"])
        #expect(plain.isNew, "only one that is asked for as distinct")
        #expect(try create(nil, ["bob", "carol"], distinct: true).view().record == first.record)
    }

    @Test func aDistinctOneCountsWhileItHasJustThem() throws {
        let first = try create("d1", ["bob"], distinct: true).view()
        try origin.perform(.addParticipants(conversation: "d1", [NewParticipant(user: "eve")]))
        #expect(try create("d2", ["bob", "eve"], distinct: true).view().record.id == "d2")
        #expect(try create("d3", ["bob"], distinct: true).view().record.id == "d3")
        try origin.perform(.deleteConversation("d3"))
        try origin.perform(.removeParticipants(conversation: "d1", ["eve"]))
        #expect(try create(nil, ["bob"], distinct: true).view().record.id == first.record.id)
    }

    @Test func thePutCreatesOrChangesWhatIsGiven() throws {
        let made = try origin.perform(
            .put(
                id: "c1",
                ConversationFields(title: "One", participants: ["a", "b"], admins: ["b"])))
        #expect(made.isNew)
        let same = try origin.perform(.put(id: "c1", ConversationFields(title: "One")))
        #expect(!same.isNew)
        #expect(try same.view().record == made.view().record, "nothing given, nothing changed")
        let changed = try origin.perform(
            .put(id: "c1", ConversationFields(title: .some(nil), participants: ["c", "a"]))
        ).view().record
        #expect(changed.title == nil && changed.rev == 2)
        #expect(changed.participants == ["a", "c"] && changed.admins.isEmpty)
        guard case .record(changed, _, ["b"], [], false, nil) = origin.events().last else {
            Issue.record("the feed did not tell the change")
            return
        }
    }

    // MARK: changing

    @Test func unknownFieldsAreKept() throws {
        let color = JSONMember(key: "color", value: RawJSON(string: "red"))
        let size = JSONMember(key: "size", value: RawJSON(int: 3))
        try origin.perform(
            .put(id: "c1", ConversationFields(participants: ["a"], unknown: [color])))
        let update = Operation.update(
            conversation: "c1", ConversationFields(unknown: [size]))
        let record = try origin.perform(update, by: .user("a")).view().record
        #expect(record.unknown == [color, size])
        #expect(try origin.perform(update, by: .user("a")).view().record == record)
        try origin.restart()
        #expect(try origin.view(user: "a").record == record)
    }

    @Test func addingAndRemovingIsOneChangeOrNone() throws {
        try origin.conversation(of: ["a", "b"])
        let add = Operation.addParticipants(
            conversation: "c1", ["b", "c", "d"].map { NewParticipant(user: $0) })
        let added = try origin.perform(add, by: .user("a")).view()
        #expect(added.record.participants == ["a", "b", "c", "d"] && added.head.rev == 2)
        #expect(try origin.perform(add, by: .user("a")).view().head == added.head)
        let remove = Operation.removeParticipants(conversation: "c1", ["b", "z", "b"])
        #expect(try origin.perform(remove, by: .user("a")).view().head.rev == 3)
        #expect(try origin.perform(remove, by: .user("a")).view().head.rev == 3)
        // One who comes back joins behind the others.
        let back = Operation.addParticipants(conversation: "c1", [NewParticipant(user: "b")])
        #expect(try origin.perform(back).view().record.participants == ["a", "c", "d", "b"])
    }

    @Test func participantsKeepWhatTheServerSaysOfThem() throws {
        try origin.conversation(of: ["a"])
        let bob = NewParticipant(
            user: "bob", name: "Bob", metadata: try RawJSON(Array(#"{"team":1}"#.utf8)),
            unknown: [JSONMember(key: "avatar", value: RawJSON(string: "b.png"))])
        let add = Operation.addParticipants(conversation: "c1", [bob])
        let rev = try origin.perform(add).view().head.rev
        #expect(try origin.perform(add).view().head.rev == rev)
        var renamed = bob
        renamed.name = "Robert"
        let change = Operation.addParticipants(conversation: "c1", [renamed])
        #expect(try origin.perform(change).view().head.rev == rev + 1)
        guard
            case .participants(let list) = try origin.reader.answer(
                Query.participants(conversation: "c1", ParticipantsRequest(limit: 1)))
        else { throw Origin.Lost() }
        #expect(list.total == 2)
        let read = try Participant(#require(list.participants.first))
        #expect(read.id == "bob" && read.name == "Robert" && read.metadata == bob.metadata)
        #expect(read.unknown == bob.unknown && read.lastReadSeq == 0)
    }

    @Test func participantsArePagedByWhenTheyJoined() throws {
        let users = (0..<10).map { "u\($0)" }
        try origin.conversation(of: users)
        func ids(_ request: ParticipantsRequest) throws -> [String] {
            guard
                case .participants(let list) = try origin.ask(
                    .participants(conversation: "c1", request))
            else { throw Origin.Lost() }
            #expect(list.total == 10)
            return try list.participants.map { try Participant($0).id }
        }
        #expect(try ids(ParticipantsRequest(order: .asc)) == users)
        #expect(try ids(ParticipantsRequest(limit: -3, offset: 5)) == users.reversed())
        let middle = ParticipantsRequest(limit: 3, offset: 2, order: .asc)
        #expect(try ids(middle) == ["u2", "u3", "u4"])
        #expect(try ids(ParticipantsRequest(limit: 3, offset: 9)) == ["u0"])
        #expect(try ids(ParticipantsRequest(limit: 3, offset: 99)).isEmpty)
    }

    // MARK: removing

    @Test func aRemovedConversationIsGoneAtOnceAndItsIdFree() throws {
        let old = try origin.conversation(of: ["a", "b"]).head
        for _ in 0..<3 { try origin.send("old", id: nil, by: "a") }
        _ = origin.events()
        #expect(try origin.perform(.deleteConversation("c1")) == .removed(people: 2))
        guard case .deleted("c1", old.epoch, ["a", "b"]) = origin.events().first else {
            Issue.record("the feed did not tell the removal")
            return
        }
        #expect(refusal { _ = try origin.head() } == .notFound)
        #expect(refusal { try origin.perform(.deleteConversation("c1")) } == .notFound)
        let new = try origin.conversation(of: ["a"])
        #expect(new.head.epoch != old.epoch)
        #expect(new.head.seq == 0 && new.head.rev == 1 && new.lastMessage == nil)
        #expect(try origin.page(PageRequest()).messages.isEmpty)
    }

    @Test func whatARemovedConversationHeldIsPurgedAfterARestartToo() throws {
        try origin.conversation("kept", of: ["a"])
        try origin.send("kept", to: "kept", by: "a")
        try origin.conversation("gone", of: ["a"])
        let messages = (0..<1_000).map {
            NewMessage(author: "a", content: MessageContent(body: "gone \($0)"))
        }
        for _ in 0..<3 { try origin.perform(.send(conversation: "gone", messages)) }
        #expect(try origin.reader.messageCount() == 3_001)
        try origin.perform(.deleteConversation("gone"))
        try origin.restart()
        // Purging goes on while jobs come; each answer here is one more turn.
        for _ in 0..<10_000 {
            if try origin.reader.messageCount() == 1 { break }
            _ = try origin.ask(.heads([]))
        }
        #expect(try origin.reader.messageCount() == 1)
        #expect(try origin.page(PageRequest(), of: "kept").messages.count == 1)
    }
}
