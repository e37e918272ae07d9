import Chat
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// All participants are read in steps, and are still those of one moment.
@Suite struct MemberWalkTests {
    private static let crowd = 3000
    /// The members that one step reads: see `people.lua`.
    private static let step = 500
    private static let all = ParticipantsRequest(limit: 0, order: .asc)

    private func subject(_ server: RedisProcess) throws -> Subject {
        let subject = Subject(Redis(try server.options()))
        try subject.waitUntilOnline()
        return subject
    }

    private func participants(_ subject: Subject) throws -> [Participant] {
        let query = HistoryQuery.participants(conversation: "c1", Self.all)
        guard case .participants(let list) = try subject.ask(query) else {
            throw TestFailure("no participants")
        }
        #expect(list.participants.count == list.total)
        return try list.participants.map { try Participant($0) }
    }

    @Test func aCrowdIsReadInSteps() throws {
        let server = try RedisProcess(keeping: .nothing)
        let subject = try subject(server)
        let users = (0..<Self.crowd).map { "user-\($0)" }
        try subject.conversation("c1", of: users)
        try subject.send("read by its author", by: "user-7")
        func calls(_ command: String) throws -> Int {
            let found = try server.info("commandstats")["cmdstat_\(command)"]
            return found?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
        }
        let before = (walks: try calls("hscan"), wholes: try calls("hgetall"))
        let read = try participants(subject)
        #expect(read.map(\.id) == users)
        #expect(read[7].lastReadSeq == 1 && read[8].lastReadSeq == 0)
        let steps = try calls("hscan") - before.walks
        #expect(steps >= Self.crowd / Self.step / 2, "\(steps)")
        #expect(try calls("hgetall") == before.wholes)
    }

    /// Twenty people get another name in one change, again and again: no answer shows a part of it.
    @Test func anAnswerIsOfOneMoment() throws {
        let server = try RedisProcess(keeping: .nothing)
        let (reader, writer) = (try subject(server), try subject(server))
        try reader.conversation("c1", of: (0..<Self.crowd).map { "user-\($0)" })
        let work = Background { stop in
            var number = 0
            while !stop.isOver {
                number += 1
                let named = stride(from: 0, to: Self.crowd, by: Self.crowd / 20).map { user in
                    NewParticipant(user: "user-\(user)", name: "name \(number)")
                }
                try writer.perform(.addParticipants(conversation: "c1", named))
            }
        }
        for _ in 0..<20 {
            let read = try participants(reader)
            let names = Set(
                stride(from: 0, to: Self.crowd, by: Self.crowd / 20).map { read[$0].name })
            #expect(read.count == Self.crowd && names.count == 1, "\(names)")
        }
        work.end()
        try work.join()
    }

    // MARK: the walk by itself

    private static func step(
        _ users: [String], _ cursor: String, size: Int, record: Int = 1
    ) -> RedisScripts.Answer {
        func text(_ text: String) -> RedisReply { .text(Array(text.utf8)) }
        let rows = users.enumerated().flatMap { at, user in
            [text(user), text("0\t\(at + 1)\t5\t5\t{}")]
        }
        let marks = users.flatMap { [text($0), text("3")] }
        let parts = [
            text("step"), .array(rows), .array(marks), text("e \(size)"), text("\(record)"),
            .integer(size), text(cursor),
        ]
        return RedisScripts.Answer(word: "step", parts: parts)
    }

    @Test func stepsMakeAWhole() {
        var walk = MemberWalk()
        #expect(walk.take(Self.step(["a", "b"], "17", size: 3)) == .goesOn(cursor: "17"))
        // A hash that grows may show the same user again.
        #expect(walk.take(Self.step(["b", "c"], "0", size: 3)) == .isOver)
        #expect(Set(walk.members?.map(\.user) ?? []) == ["a", "b", "c"])
        #expect(walk.members?.count == 3 && walk.places.count == 3)
    }

    /// As where a new master goes on with the cursor of the old one.
    @Test func usersTwiceDoNotStandForOthers() {
        var walk = MemberWalk()
        #expect(walk.take(Self.step(["a", "b"], "17", size: 3)) == .goesOn(cursor: "17"))
        #expect(walk.take(Self.step(["b"], "0", size: 3)) == .isTorn)
        var longer = MemberWalk()
        #expect(longer.take(Self.step(["a", "b"], "17", size: 3)) == .goesOn(cursor: "17"))
        #expect(longer.take(Self.step(["a", "b"], "0", size: 3)) == .isTorn)
    }

    @Test func aChangeMeanwhileTearsIt() {
        var walk = MemberWalk()
        #expect(walk.take(Self.step(["a"], "17", size: 2)) == .goesOn(cursor: "17"))
        #expect(walk.take(Self.step(["b"], "0", size: 2, record: 2)) == .isTorn)
        var short = MemberWalk()
        #expect(short.take(Self.step(["a"], "0", size: 2)) == .isTorn)
        #expect(MemberWalk(tries: MemberWalk.tryLimit - 1).cursor == "0")
        #expect(MemberWalk(tries: MemberWalk.tryLimit).cursor == "all")
    }
}
