import Chat
import Engine
import Foundation
import JSON
import Ports
import Rules
import Simulation
import Testing
import Wire

/// What the journal tells of a message: each fate by a story, and the bounds of the journal itself.
@Suite struct JournalTests {
    private static var limits: Limits {
        var limits = Limits()
        limits.journal.bytes = 1 << 20
        limits.journal.age = 3_600_000
        return limits
    }

    /// A conversation of Ann and Ben, and Ben who watches it.
    private func watched(_ limits: Limits = Self.limits) -> (rig: Rig, ben: SessionID) {
        let rig = Rig(limits)
        rig.create()
        let ben = rig.connect("ben")
        rig.subscribe(ben)
        return (rig, ben)
    }

    @Test func aMessageOfAClientIsFollowedFromItsAuthorToASocket() {
        let (rig, ben) = watched()
        let ann = rig.connect("ann")
        rig.isHoldingWrites = true
        rig.send(ann, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"secret""#)
        #expect(rig.explain(id: "m1").fate == .waiting)
        rig.now.milliseconds += 500
        rig.performWrites()
        let told = rig.explain(id: "m1")
        #expect(told.fate == .told && told.seq == 1)
        #expect(told.steps.map(\.what) == ["accepted", "arrived", "committed", "told"])
        #expect(told.steps[0].facts.map(\.name) == ["verb", "user", "session"])
        #expect(told.steps[0].facts[1].value == .text("ann"))
        #expect(told.steps[1].at.milliseconds - told.steps[0].at.milliseconds == 500)
        #expect(told.readers.map(\.session) == [ben] && told.counts == [.written: 1])
        #expect(told.readers[0].at == rig.now)
        #expect(rig.explain(seq: 1).id == "m1")
        #expect(!"\(told)".contains("secret"))
    }

    @Test func aRefusedMessageSaysWhoRefusedItAndWhy() {
        let (rig, _) = watched()
        let eve = rig.connect("eve")
        rig.send(eve, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        let refused = rig.explain(id: "m1")
        #expect(refused.fate == .refused)
        #expect(refused.steps.map(\.what) == ["accepted", "refused"])
        #expect(refused.steps[1].facts[0].value == .text("not_found"))
    }

    @Test func whatIsRefusedByALimitIsRefusedBeforeTheOriginIsAsked() {
        var limits = Self.limits
        limits.clients.sends = false
        let (rig, ben) = watched(limits)
        rig.send(ben, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        let refused = rig.explain(id: "m1")
        #expect(refused.fate == .refused)
        #expect(refused.steps.last?.facts[0].value == .text("forbidden"))
    }

    @Test func aRepeatedMessageIsSaidToBeOne() {
        let (rig, _) = watched()
        let ann = rig.connect("ann")
        let params = #""conversation":"c1","id":"m1","body":"x""#
        rig.send(ann, 2, "sendMessage", params)
        rig.send(ann, 3, "sendMessage", params)
        let twice = rig.explain(id: "m1")
        #expect(twice.fate == .told)
        #expect(twice.steps.contains { $0.what == "repeated" })
    }

    @Test func anEditIsNoRepetition() {
        let (rig, _) = watched()
        let ann = rig.connect("ann")
        rig.send(ann, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        rig.send(ann, 3, "editMessage", #""conversation":"c1","id":"m1","body":"y""#)
        let edited = rig.explain(id: "m1")
        #expect(edited.fate == .told && !edited.steps.contains { $0.what == "repeated" })
        #expect(edited.steps.filter { $0.what == "committed" }.count == 2)
    }

    /// A write of many messages is one line in the life of each.
    @Test(arguments: [nil, "m7"]) func aMessageOfAnArrayHasItsOwnLinesOnly(_ id: String?) {
        let (rig, _) = watched()
        let messages = (1...100).map { number in
            NewMessage(
                author: "ann",
                content: MessageContent(id: number == 7 ? id : nil, body: "\(number)"))
        }
        rig.engine.noteSend(
            .send(conversation: "c1", messages), token: 1 << 63, trace: "")
        rig.engine.noteSent(
            token: 1 << 63,
            .success(
                .messages(
                    (1...100).map { Self.message($0, "m\($0)") },
                    at: Written("c1", MachineSamples.head(101)), isNew: true)))
        let one = rig.explain(id: "m7")
        #expect(one.steps.map(\.what) == ["accepted", "committed"] && one.seq == 7)
    }

    @Test func nobodyIsYetToBeToldOfWhatIsNotThere() {
        let (rig, _) = watched()
        #expect(rig.explain(id: "nothing", origin: .none).fate == .unknown)
        #expect(rig.explain(id: "nothing", origin: .none).readers.isEmpty)
        let eve = rig.connect("eve")
        rig.send(eve, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        #expect(rig.explain(id: "m1", origin: .none).readers.isEmpty)
    }

    @Test func whatWasSentBeforeTheJournalBeginsIsKnownByItsRepetition() {
        let (rig, _) = watched()
        var content = MessageContent(body: "x")
        content.id = "m1"
        _ = rig.writeUntold(
            .send(conversation: "c1", [NewMessage(author: "ann", content: content)]))
        let ann = rig.connect("ann")
        rig.send(ann, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        #expect(rig.explain(id: "m1").fate == .repeated)
    }

    @Test func committedAndNotToldOfIsAFateOfItsOwn() {
        let (rig, ben) = watched()
        let answer = Result<Outcome, RequestError>.success(
            .messages(
                [Self.message(7, "m7")], at: Written("c1", MachineSamples.head(8)), isNew: true))
        rig.engine.noteSend(
            .send(
                conversation: "c1",
                [NewMessage(author: "ann", content: MessageContent(id: "m7"))]),
            token: 1 << 63, trace: "00-ab-cd-01")
        rig.engine.noteSent(token: 1 << 63, answer)
        let committed = rig.explain(id: "m7")
        #expect(committed.fate == .committed)
        #expect(committed.steps.map(\.what) == ["accepted", "trace", "committed"])
        #expect(committed.steps[0].facts.last?.value == .text("server API"))
        #expect(committed.readers.map(\.fate) == [.watching] && committed.readers[0].session == ben)
    }

    @Test func whatNobodyWatchedIsUnwatched() {
        let rig = Rig(Self.limits)
        rig.create()
        rig.say("x")
        #expect(rig.explain(seq: 1).fate == .unwatched)
        #expect(rig.explain(seq: 2).fate == .unknown)
    }

    @Test func whatTheOriginAloneKnowsIsEarlierOrUnwatched() {
        let (rig, _) = watched()
        let old = Timestamp(milliseconds: Doorkeeper.start.milliseconds - 1)
        #expect(
            rig.explain(seq: 3, origin: .message(Self.message(3, "m3", at: old))).fate == .earlier)
        #expect(
            rig.explain(seq: 3, origin: .message(Self.message(3, "m3", at: rig.now))).fate
                == .unwatched)
        #expect(rig.explain(seq: 3, origin: .none).fate == .unknown)
    }

    @Test func aSlowReaderQueuesAndIsThenWritten() {
        let (rig, ben) = watched()
        rig.blocked = [ben]
        rig.say("1")
        rig.say("2")
        #expect(rig.fate(of: ben, 1) == .written && rig.fate(of: ben, 2) == .queued)
        rig.now.milliseconds += 2000
        rig.blocked = []
        rig.engine.sockets.progressed(ben, unsent: 0, at: rig.now)
        rig.turn()
        let late = rig.explain(seq: 2).readers[0]
        #expect(late.fate == .writtenLate && late.at == rig.now)
    }

    @Test func whatWasShedIsCoalescedIntoItsGapUntilItIsFetched() {
        var limits = Self.limits
        limits.outboxSoft = 2000
        let (rig, ben) = watched(limits)
        rig.blocked = [ben]
        for _ in 0..<20 { rig.say(String(repeating: "x", count: 200)) }
        while rig.engine.hasMore { rig.turn() }
        let shed = rig.explain(seq: 10).readers[0]
        #expect(shed.fate == .coalesced)
        let facts = shed.steps.last?.facts ?? []
        #expect(facts.map(\.name) == ["after", "before", "waiting_bytes"])
        #expect(facts[0].value == .number(1))
        #expect(rig.fate(of: ben, 1) == .written)
        rig.blocked = []
        rig.engine.sockets.progressed(ben, unsent: 0, at: rig.now)
        rig.turn()
        rig.send(ben, 9, "fetchMessages", #""conversation":"c1","after":9,"before":11"#)
        #expect(rig.fate(of: ben, 10) == .fetched && rig.fate(of: ben, 11) == .coalesced)
    }

    @Test func whatWaitedWhenTheConnectionEndedIsDiscardedAndThenResumed() {
        let (rig, ben) = watched()
        rig.blocked = [ben]
        rig.say("1")
        rig.say("2")
        rig.engine.closed(ben)
        rig.turn()
        let gone = rig.explain(seq: 2).readers[0]
        #expect(gone.fate == .discarded && !gone.isConnected && !gone.isSubscribed)
        let again = rig.connect("ben")
        rig.subscribe(again)
        #expect(rig.fate(of: again, 2) == .resumed)
    }

    @Test func whoComesBackHoldsWhatItSaysThatItHolds() throws {
        let (rig, ben) = watched()
        rig.say("1")
        rig.say("2")
        let frame = try #require(rig.take(ben).last)
        let head = try #require(frame["head"]?.object)
        let have = #"{"head":\#(String(decoding: head.bytes, as: UTF8.self))"#
        rig.say("3")
        let again = rig.connect("ben")
        let runs = #","asOf":\#(head["rev"]?.int ?? 0),"runs":[[1,2]]}"#
        rig.send(again, 2, "subscribeMessages", #""conversation":"c1","have":\#(have)\#(runs)"#)
        #expect(rig.fate(of: again, 2) == .held && rig.fate(of: again, 3) == .resumed)
    }

    @Test func whatDoesNotFitIsLeftOutAndWhatIsOlderIsBelow() throws {
        let (rig, ben) = watched()
        for at in 1...5 { rig.say("\(at)") }
        let again = rig.connect("ben")
        rig.send(again, 2, "subscribeMessages", #""conversation":"c1","limit":2"#)
        #expect(rig.fate(of: again, 5) == .resumed && rig.fate(of: again, 3) == .below)
        let head = try #require(rig.take(ben).last?["head"]?.object)
        let text = String(decoding: head.bytes, as: UTF8.self)
        let third = rig.connect("ben")
        let have = #"{"head":\#(text),"asOf":\#(head["rev"]?.int ?? 0),"runs":[[1,1]]}"#
        rig.send(
            third, 2, "subscribeMessages", #""conversation":"c1","limit":2,"have":\#(have)"#)
        #expect(rig.fate(of: third, 1) == .held && rig.fate(of: third, 2) == .leftOut)
    }

    @Test func whoDoesNotWatchIsSaidNotTo() {
        let (rig, ben) = watched()
        rig.say("1")
        let ann = rig.connect("ann")
        #expect(rig.fate(of: ann, 1, user: "ann") == .notWatching)
        #expect(rig.explain(seq: 1, user: "eve").readers.map(\.fate) == [.notParticipant])
        let eve = rig.connect("eve")
        #expect(rig.fate(of: eve, 1, user: "eve") == .notParticipant)
        rig.send(eve, 2, "fetchMessages", #""conversation":"c1""#)
        #expect(rig.fate(of: eve, 1, user: "eve") == .readRefused)
        rig.send(ann, 2, "unsubscribeMessages", #""conversation":"c1""#)
        rig.create("c1", ["ann", "ben", "dan"])
        #expect(rig.explain(seq: 1, user: "dan").readers.map(\.fate) == [.notConnected])
        rig.send(ben, 5, "unsubscribeMessages", #""conversation":"c1""#)
        rig.say("2")
        #expect(rig.fate(of: ben, 2) == .left && rig.fate(of: ben, 1) == .written)
    }

    @Test func aSubscriptionOlderThanTheJournalIsSaidToBe() {
        var limits = Self.limits
        limits.journal.age = 1000
        let (rig, ben) = watched(limits)
        rig.now.milliseconds += 500
        rig.say("1")
        rig.now.milliseconds += 5000
        rig.say("2")
        #expect(rig.fate(of: ben, 1) == .earlier && rig.fate(of: ben, 2) == .written)
        #expect(rig.explain(seq: 1).begins ?? rig.now > Doorkeeper.start)
    }

    @Test func theJournalStaysWithinItsBytes() throws {
        var limits = Self.limits
        limits.journal.bytes = 20_000
        let (rig, ben) = watched(limits)
        for at in 1...1000 { rig.say("\(at)") }
        let journal = try #require(rig.engine.journal)
        #expect(journal.bytes <= 20_000 && journal.length > 50)
        #expect(rig.fate(of: ben, 1000) == .written && rig.fate(of: ben, 1) == .earlier)
    }

    @Test func anEventToManyIsOneEntry() throws {
        let (rig, _) = watched()
        for _ in 0..<100 { rig.subscribe(rig.connect("ann")) }
        let journal = try #require(rig.engine.journal)
        let before = journal.length
        rig.say("1")
        #expect(journal.length - before == 2)
        #expect(rig.explain(seq: 1).counts == [.written: 101])
    }

    @Test func withoutBytesThereIsNone() {
        let rig = Rig()
        rig.create()
        #expect(rig.engine.journal == nil)
        #expect(rig.explain(seq: 1).begins == nil)
    }

    @Test func whatAnOutageHidIsOwedAndThenFilled() throws {
        let world = try ReplicaStory.begin(messages: 3, limits: Self.limits)
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.say(1)
        #expect(world.explain(4)?.fate == .unknown)
        #expect(world.explain(4)?.readers.map(\.fate) == [.watching])
        try world.release(.link)
        try world.pass(20)
        let caught = try #require(world.explain(4))
        #expect(caught.fate == .told && caught.steps.contains { $0.what == "caught_up" })
        #expect(caught.readers.map(\.fate) == [.written])
        try world.settle()
    }

    /// More than a catch-up reads at once: the newest page is told first, and the gap below it.
    @Test func whatLiesBelowTheNewestPageIsOwedAndThenFilled() throws {
        let world = try ReplicaStory.begin(messages: 10, limits: Self.limits) {
            $0.page = 2
            $0.pages = 1
        }
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.say(20)
        world.hold(.answers)
        try world.release(.link)
        var fates: [Fate] = []
        for _ in 0..<60 {
            try world.answerOnce()
            let fate = world.explain(15)?.readers.first?.fate
            if let fate, fates.last != fate { fates.append(fate) }
        }
        #expect(fates == [.watching, .owed, .filled])
        try world.release(.answers)
        try world.settle()
    }

    @Test func whatTheOriginTrimmedIsTrimmed() throws {
        let world = try ReplicaStory.begin(messages: 10, limits: Self.limits)
        try world.subscribe(0)
        try world.leave(0)
        world.retain(3)
        try world.say(2)
        try world.join(0)
        try world.subscribe(0, resuming: true)
        try world.pass(20)
        let trimmed = try #require(world.explain(2))
        #expect(trimmed.fate == .trimmed)
        #expect(trimmed.readers.last?.fate == .trimmed)
        try world.join(1)
        try world.subscribe(1)
        try world.pass(20)
        #expect(world.explain(2)?.readers.last?.fate == .below)
        #expect(world.explain(12)?.readers.last?.fate == .resumed)
        try world.settle()
    }

    /// Where nobody watches, the gateway has heard nothing of it.
    @Test func whatTheOriginAloneKnowsToBeTrimmedIsTrimmed() {
        let rig = Rig(Self.limits)
        #expect(rig.explain(seq: 3, origin: .none, floor: 3).fate == .unknown)
        #expect(rig.explain(seq: 2, origin: .none, floor: 3).fate == .trimmed)
        #expect(rig.explain(seq: 2, origin: .none).fate == .unknown)
    }

    @Test func theReferenceHasEveryFateInTheSameWords() throws {
        var path = #filePath.split(separator: "/").dropLast(3).map(String.init)
        path += ["deploy", "reference", "protocol.md"]
        let page = try String(contentsOfFile: "/" + path.joined(separator: "/"), encoding: .utf8)
        for fate in Fate.allCases {
            #expect(page.contains("\n| `\(fate.rawValue)` | \(fate.meaning) |\n"), "\(fate)")
        }
    }

    @Test func everyFateHasItsOwnWords() {
        #expect(Set(Fate.allCases.map(\.meaning)).count == Fate.allCases.count)
    }

    private static func message(
        _ seq: Int, _ id: String, at time: Timestamp = Doorkeeper.start
    ) -> EncodedMessage {
        EncodedMessage(
            seq: seq, rev: seq, id: id, author: "ann", isDeleted: false, createdAt: time, json: [])
    }
}

extension Rig {
    fileprivate func subscribe(_ session: SessionID) {
        send(session, 100, "subscribeMessages", #""conversation":"c1""#)
    }

    func explain(
        seq: Int? = nil, id: String? = nil, user: String? = nil,
        origin: Explanation.Origin = .unasked, floor: Int? = nil
    ) -> Explanation {
        var question = Explanation.Question(conversation: "c1", seq: seq, id: id, user: user)
        (question.origin, question.floor) = (origin, floor)
        return engine.report.explain(question, at: now)
    }

    func fate(of session: SessionID, _ seq: Int, user: String? = nil) -> Fate? {
        explain(seq: seq, user: user).readers.first { $0.session == session }?.fate
    }
}
