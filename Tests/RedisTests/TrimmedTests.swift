import Chat
import Ports
import Glibc
import TestSupport
import Testing
import Wire

@testable import Upstream

/// A message that was trimmed is known by its id for a while: sent again, it is no second one.
@Suite struct TrimmedTests {
    private let server: RedisProcess

    init() throws { server = try RedisProcess(keeping: .nothing) }

    private func subject(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> Subject {
        let subject = Subject(
            Redis(
                try server.options {
                    $0.retain = 10
                    change(&$0)
                }))
        try subject.waitUntilOnline()
        try subject.conversation()
        return subject
    }

    @Test func theSameAgainIsAnsweredWithWhatIsLeft() throws {
        let subject = try subject()
        let first = try subject.send("1", id: "m1")
        try subject.send("2", id: "m2")
        try subject.perform(.edit(conversation: "c1", id: "m2", MessageEdit(body: "edited")))
        try subject.perform(.delete(conversation: "c1", id: "m2"))
        for number in 3...30 { try subject.send("\(number)", id: "m\(number)") }
        let head = try subject.head()
        let again = try subject.send("1", id: "m1")
        let created = first.createdAt.description
        #expect(
            String(decoding: again.json, as: UTF8.self)
                == #"{"id":"m1","conversation":"c1","seq":1,"rev":2,"author":"alice","#
                + #""createdAt":"\#(created)","trimmed":true}"#)
        // As of its insertion, whatever it became.
        #expect(try subject.send("2", id: "m2").rev == 3)
        #expect(refusal { try subject.send("other", id: "m1") } == .conflict)
        #expect(refusal { try subject.send("1", id: "m1", by: "bob") } == .conflict)
        #expect(try subject.head() == head, "none of it is a change")
    }

    @Test func inAnArrayItStandsAmongTheNewOnes() throws {
        let subject = try subject()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        let messages = ["m1", "new", "m20"].map { id in
            let body = id == "new" ? id : String(id.dropFirst())
            return NewMessage(author: "alice", content: MessageContent(id: id, body: body))
        }
        guard
            case .messages(let sent, _, let isNew) = try subject.perform(
                .send(conversation: "c1", messages))
        else { throw TestFailure("no messages") }
        #expect(sent.map(\.seq) == [1, 21, 20] && isNew)
    }

    @Test func nothingElseFindsIt() throws {
        let subject = try subject()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        #expect(refusal { try subject.page(PageRequest(before: .id("m1"))) } == .notFound)
        #expect(refusal { try subject.ask(.message(conversation: "c1", id: "m1")) } == .notFound)
        let edit = Operation.edit(conversation: "c1", id: "m1", MessageEdit(body: "x"))
        #expect(refusal { try subject.perform(edit) } == .notFound)
        #expect(
            refusal { try subject.perform(.delete(conversation: "c1", id: "m1")) } == .notFound)
    }

    @Test func anIdIsFreeAfterItsTime() throws {
        let subject = try subject { $0.retainIds = 1000 }
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        #expect(try subject.send("1", id: "m1").seq == 1)
        sleep(2)
        #expect(try subject.send("1", id: "m1").seq == 21)
        // And no more of them is kept than of those that are gone.
        for number in 30...45 { try subject.send("\(number)", id: "m\(number)") }
        let ids = try server.ask("HKEYS", "gapless:{c1}:trimmed")
        #expect(!ids.texts.contains("m2") && ids.texts.contains("m1"))
    }

    @Test func anotherLogOfTheNameKnowsNothingOfIt() throws {
        let subject = try subject()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        let kept = try server.ask("HGET", "gapless:{c1}:trimmed", "m1")
        try subject.perform(.deleteConversation("c1"))
        #expect(try server.ask("EXISTS", "gapless:{c1}:trimmed") == .integer(0))
        try subject.conversation()
        #expect(try subject.send("1", id: "m1").seq == 1)
        // What an earlier version leaves behind, which does not know the key.
        for number in 2...20 { try subject.send("\(number)", id: "n\(number)") }
        guard case .bytes(let bytes) = kept else { throw TestFailure("nothing kept") }
        try server.untag("c1")
        try server.ask(
            "HSET", "gapless:{c1}:trimmed", "m9", String(decoding: bytes, as: UTF8.self))
        #expect(try subject.send("9", id: "m9").seq == 21)
    }

    @Test func ofManyTheOldestIsForgotten() throws {
        let subject = try subject()
        for number in 1...20 { try subject.send("\(number)", id: "m\(number)") }
        // As after a hundred thousand more.
        try server.ask(
            "HSET", "gapless:{c1}:meta", "seq", "100020", "floor", "100011", "places", "2")
        try subject.send("next", id: "next")
        let ids = try server.ask("HKEYS", "gapless:{c1}:trimmed")
        #expect(!ids.texts.contains("m1") && !ids.texts.contains("m8"))
    }
}

extension RedisValue {
    /// The texts of an array.
    fileprivate var texts: [String] {
        guard case .list(let values) = self else { return [] }
        return values.compactMap {
            if case .bytes(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }
}
