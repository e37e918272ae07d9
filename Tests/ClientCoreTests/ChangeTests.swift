import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// Edits, deletions and read markers that are written offline: each is made once, with the value
/// that it was written of, and a conflict is told.
@Suite struct ChangeTests {
    /// A session with a gateway that a test speaks for.
    private struct Room: SpokenFor {
        var session = ClientSession(ClientSession.Options { 0 })
        var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 0))
        var asked: [JSONObject] = []
        var epoch = "e"

        mutating func subscribe() throws {
            session.subscribe(to: "c")
            try turn()
            let have = asked.last { $0["method"]?.string == "subscribeMessages" }
            let isReset = have?["params"]?.object?["have"] != nil && epoch != "e"
            try answer(
                "subscribeMessages",
                "\"result\":{\"deltas\":[\(isReset || epoch != "e" ? "" : delta)],"
                    + "\"covers\":\(epoch == "e" ? "[[1,1]]" : "[]"),\"gaps\":[],\"asOf\":5,"
                    + "\"reset\":\(isReset),\"head\":{\"epoch\":\"\(epoch)\",\"seq\":1,\"rev\":5,"
                    + "\"mark\":\"x\",\"floor\":1}}")
        }

        private var delta: String { "{\"type\":\"inserted\",\"message\":\(message(5))}" }

        func message(_ rev: Int) -> String {
            "{\"id\":\"m\",\"conversation\":\"c\",\"seq\":1,\"rev\":\(rev),\"author\":\"alice\","
                + "\"body\":\"b\",\"createdAt\":\"2026-11-20T10:00:00.000Z\"}"
        }

        mutating func lose() throws {
            session.closed(code: nil, now)
            asked = []
            try turn()
        }

        mutating func pass(_ milliseconds: Int64) throws {
            now.monotonic += milliseconds
            session.tick(now)
            try turn()
        }

        mutating func edit(_ id: String, _ body: String) throws {
            session.change(
                Change(id: id, message: "m", kind: .edit(body: body, metadata: nil)), in: "c")
            try turn()
        }

        var edits: [JSONObject] {
            asked.filter { $0["method"]?.string == "editMessage" }
                .compactMap { $0["params"]?.object }
        }
    }

    private func live() throws -> Room {
        var room = Room()
        try room.connect()
        try room.subscribe()
        return room
    }

    @Test func whatIsEditedOfflineGoesWithTheRevItWasWrittenOf() throws {
        var room = try live()
        try room.lose()
        try room.edit("1", "first")
        try room.edit("2", "second")
        #expect(room.session.changes(of: "c").map(\.ifRev) == [5, 5])
        try room.connect()
        // First it has to be known whether the log is the same.
        #expect(room.edits.isEmpty)
        try room.subscribe()
        #expect(
            room.edits.map { $0["ifRev"]?.int } == [5] && room.edits[0]["body"]?.string == "first")
        try room.answer("editMessage", "\"result\":{\"message\":\(room.message(9))}")
        #expect(room.edits.map { $0["ifRev"]?.int } == [9])
        // Lost on the way, it goes again, as it was.
        try room.lose()
        try room.connect()
        try room.subscribe()
        #expect(room.edits.map { $0["ifRev"]?.int } == [9])
        try room.answer("editMessage", "\"result\":{\"message\":\(room.message(10))}")
        #expect(room.session.changes(of: "c").isEmpty)
    }

    /// Reactions go again after an outage, whatever became of the message, and each key once.
    @Test func ofReactionsThatWaitTheLastOfAKeyCounts() throws {
        var room = try live()
        try room.lose()
        for (id, key, isOn) in [("1", "+1", true), ("2", "ha", true), ("3", "+1", false)] {
            room.session.change(
                Change(id: id, message: "m", kind: .react(key: key, isOn: isOn)), in: "c")
        }
        try room.edit("4", "text")
        #expect(room.session.changes(of: "c").map(\.id) == ["2", "3", "4"])
        for change in room.session.changes(of: "c") {
            #expect(Change(json: change.json)?.kind == change.kind)
        }
        try room.connect()
        try room.subscribe()
        var told: [String] = []
        for (number, rev) in [("ha", 6), ("+1", 7)] {
            let params = try #require(room.asked.last?["params"]?.object)
            #expect(room.asked.last?["method"]?.string == "react" && params["ifRev"] == nil)
            told.append("\(params["key"]?.string ?? "") \(params["on"]?.bool ?? false)")
            #expect(params["key"]?.string == number)
            try room.answer("react", "\"result\":{\"message\":\(room.message(rev)),\"own\":[]}")
        }
        #expect(told == ["ha true", "+1 false"])
        // A reaction replaces no value that was seen.
        #expect(room.edits.map { $0["ifRev"]?.int } == [5])
    }

    @Test func aConflictIsToldAndDecidedBySomebody() throws {
        var room = try live()
        try room.edit("1", "mine")
        try room.answer(
            "editMessage",
            "\"error\":{\"code\":\"conflict\",\"message\":\"ifRev\",\"retry\":\"never\"}")
        let change = try #require(room.session.changes(of: "c").first)
        guard case .conflict(let error) = change.state else {
            Issue.record("\(change.state)")
            return
        }
        #expect(error.code == .conflict)
        // What is held at the next start is of the first generation there.
        var stored = change
        stored.generation = 0
        #expect(Change(json: change.json) == stored)
        room.session.retryChange("1", of: "c")
        try room.turn()
        #expect(room.edits.count == 1 && room.edits[0]["ifRev"] == nil)
        room.session.discardChange("1", of: "c")
        #expect(room.session.changes(of: "c").isEmpty)
    }

    @Test func anotherLogIsAConflictWithoutBeingAsked() throws {
        var room = try live()
        try room.lose()
        try room.edit("1", "mine")
        room.epoch = "f"
        try room.connect()
        try room.subscribe()
        guard case .conflict? = room.session.changes(of: "c").first?.state else {
            Issue.record("it was sent to another log")
            return
        }
        #expect(room.edits.isEmpty)
    }

    /// A backup that was restored keeps the epoch, and gives numbers a second time.
    @Test func aLogThatLostItsEndIsAConflictToo() throws {
        var room = try live()
        try room.edit("1", "mine")
        try room.edit("2", "mine again")
        room.session.received(
            Array(
                ("{\"event\":\"reset\",\"conversation\":\"c\",\"head\":{\"epoch\":\"e\",\"seq\":1,"
                    + "\"rev\":5,\"mark\":\"y\",\"floor\":1}}").utf8), room.now)
        try room.turn()
        room.asked.removeAll { $0["method"]?.string == "editMessage" }
        try room.subscribe()
        #expect(room.edits.isEmpty)
        let states = room.session.changes(of: "c").map(\.state)
        #expect(states.count == 2 && !states.contains(.sending))
    }

    /// The user who edits has not seen what came since the view was drawn.
    @Test func whatAViewShowedIsWhatIsChanged() throws {
        var room = try live()
        var change = Change(id: "1", message: "m", kind: .delete)
        (change.ifRev, change.epoch) = (4, "e")
        change.generation = try #require(room.session.holder(of: "c")).generation
        room.session.change(change, in: "c")
        try room.turn()
        let deletions = room.asked.filter { $0["method"]?.string == "deleteMessage" }
        #expect(deletions.map { $0["params"]?.object?["ifRev"]?.int } == [4])
    }

    /// The answer to one's own send is shown where nobody follows the conversation, without a head.
    @Test func whatIsOnlyShownIsEditedWithItsRev() throws {
        var room = Room()
        try room.connect()
        let sentAt = Timestamp(milliseconds: 0)
        room.session.send(Draft(id: "m", body: "b", createdAt: sentAt), to: "c")
        try room.turn()
        try room.answer("sendMessage", "\"result\":{\"message\":\(room.message(7))}")
        try room.edit("1", "mine")
        #expect(room.edits.map { $0["ifRev"]?.int } == [7])
        #expect(room.session.changes(of: "c").map(\.epoch) == [nil])
    }

    /// A view that does not show one's own edit yet shows what that edit was of.
    @Test func whatOnesOwnEditReplacedIsNoConflict() throws {
        var room = try live()
        try room.edit("1", "mine")
        try room.answer("editMessage", "\"result\":{\"message\":\(room.message(9))}")
        var change = Change(id: "2", message: "m", kind: .edit(body: "again", metadata: nil))
        (change.ifRev, change.epoch) = (5, "e")
        change.generation = try #require(room.session.holder(of: "c")).generation
        room.session.change(change, in: "c")
        try room.turn()
        #expect(room.edits.map { $0["ifRev"]?.int } == [9])
    }

    @Test func whereNobodyFollowsTheLogIsAskedFor() throws {
        var room = try live()
        try room.lose()
        room.session.unsubscribe(from: "c")
        try room.edit("1", "mine")
        try room.connect()
        #expect(room.edits.isEmpty)
        try room.answer(
            "fetchConversation",
            "\"result\":{\"conversation\":{\"id\":\"c\",\"metadata\":{},\"rev\":1,"
                + "\"createdAt\":\"2026-11-20T10:00:00.000Z\","
                + "\"updatedAt\":\"2026-11-20T10:00:00.000Z\",\"head\":{\"epoch\":\"e\",\"seq\":1,"
                + "\"rev\":5,\"mark\":\"x\",\"floor\":1}}}")
        #expect(room.edits.map { $0["ifRev"]?.int } == [5])
    }

    /// What changed between the two subscriptions, nobody told of that page.
    @Test func aPageOfAnEarlierSubscriptionProvesNothing() throws {
        var room = try live()
        room.session.fetch("c", PageRequest(after: .seq(1), limit: 5), token: 7)
        try room.turn()
        room.session.unsubscribe(from: "c")
        try room.turn()
        try room.subscribe()
        try room.answer(
            "fetchMessages",
            "\"result\":{\"messages\":[],\"covers\":[[2,3]],\"gaps\":[],\"asOf\":5,"
                + "\"head\":{\"epoch\":\"e\",\"seq\":3,\"rev\":5,\"mark\":\"x\",\"floor\":1},"
                + "\"hasMore\":{\"before\":true,\"after\":false}}")
        #expect(room.session.holder(of: "c")?.runs == [[1, 1]])
    }

    @Test func onlyTheFurthestReadMarkerIsTold() throws {
        var room = try live()
        try room.lose()
        room.session.markRead("c", upTo: 7)
        room.session.markRead("c", upTo: 5)
        #expect(room.session.unsentRead(of: "c") == 7)
        try room.connect()
        let told = room.asked.filter { $0["method"]?.string == "markRead" }
        #expect(told.map { $0["params"]?.object?["seq"]?.int } == [7])
        try room.answer("markRead", "\"result\":{\"lastReadSeq\":7,\"unreadCount\":0}")
        #expect(room.session.unsentRead(of: "c") == nil)
    }

    @Test func aReadMarkerThatIsRefusedForNowIsToldAgainByItself() throws {
        var room = try live()
        room.session.markRead("c", upTo: 7)
        try room.turn()
        let refusal =
            "\"error\":{\"code\":\"origin_unavailable\",\"message\":\"it is away\","
            + "\"retry\":\"later\",\"after\":300}"
        try room.answer("markRead", refusal)
        #expect(room.session.unsentRead(of: "c") == 7)
        try room.pass(299)
        #expect(room.asked.count { $0["method"]?.string == "markRead" } == 0)
        try room.pass(1)
        try room.answer("markRead", "\"result\":{\"lastReadSeq\":7,\"unreadCount\":0}")
        #expect(room.session.unsentRead(of: "c") == nil)
    }
}
