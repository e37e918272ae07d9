import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// A list of conversations that is longer than one answer: an app that wants the whole list reads
/// it to its end, and another one reads it by windows.
@Suite struct ListWindowTests {
    /// A session with a gateway that has so many conversations, and that a test speaks for.
    private struct Room: SpokenFor {
        var session = ClientSession(ClientSession.Options { 0 })
        var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 0))
        var asked: [JSONObject] = []
        let count: Int

        /// Answers the subscription: with the top of the list, or, if it names a token, with
        /// nothing that changed.
        mutating func subscribe() throws {
            let (id, params) = try take("subscribeConversations")
            let isResumed = params["since"]?.string != nil
            try answer(
                id,
                "\"result\":{\"conversations\":[\(isResumed ? "" : records(0, 100))],"
                    + "\"removed\":[],\"total\":\(count),\"token\":\"t\",\"complete\":\(isResumed)}"
            )
        }

        /// Answers the page that was asked for; false if none was.
        mutating func serve() throws -> Bool {
            guard isAsking else { return false }
            let (id, params) = try take("fetchConversations")
            let from = params["cursor"]?.string.flatMap { Int($0) } ?? 0
            let next = from + 100 < count ? ",\"next\":\"\(from + 100)\"" : ""
            try answer(
                id,
                "\"result\":{\"conversations\":[\(records(from, 100))],"
                    + "\"total\":\(count)\(next)}")
            return true
        }

        mutating func refuse(after milliseconds: Int) throws {
            try answer(
                try take("fetchConversations").id,
                "\"error\":{\"code\":\"rate_limited\",\"message\":\"no\",\"retry\":\"later\","
                    + "\"after\":\(milliseconds)}")
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

        var isAsking: Bool { asked.contains { $0["method"]?.string == "fetchConversations" } }
        var known: Int { session.list.conversations.count }

        private func records(_ from: Int, _ limit: Int) -> String {
            (from..<max(from, min(count, from + limit)))
                .map { "{\"id\":\"c\($0)\",\"rev\":1}" }.joined(separator: ",")
        }
    }

    private func room(_ count: Int, isWhole: Bool) throws -> Room {
        var room = Room(count: count)
        room.session.watchList(room.now, isWhole: isWhole)
        try room.connect()
        try room.subscribe()
        return room
    }

    @Test(arguments: [99, 100, 101, 450, 2_345]) func theWholeListIsRead(_ count: Int) throws {
        var room = try room(count, isWhole: true)
        while try room.serve() {}
        #expect(room.known == count && !room.session.list.hasMore)
    }

    @Test func aLongListIsReadByWindows() throws {
        var room = try room(450, isWhole: false)
        while try room.serve() {}
        #expect(room.known == 300 && room.session.list.hasMore)
        room.session.loadMoreOfList()
        room.session.loadMoreOfList()
        try room.turn()
        #expect(room.asked.count == 1)
        while try room.serve() {}
        #expect(room.known == 400 && room.session.list.hasMore)
        room.session.loadMoreOfList()
        try room.turn()
        while try room.serve() {}
        #expect(room.known == 450 && !room.session.list.hasMore)
        room.session.loadMoreOfList()
        try room.turn()
        #expect(!room.isAsking)
    }

    @Test func anAppThatWantsAllOfItGetsTheRest() throws {
        var room = try room(450, isWhole: false)
        while try room.serve() {}
        #expect(room.known == 300)
        room.session.watchList(room.now, isWhole: true)
        try room.turn()
        while try room.serve() {}
        #expect(room.known == 450 && !room.session.list.hasMore)
    }

    /// The token of the subscription says nothing of what was not walked yet.
    @Test func aWalkGoesOnAfterAnOutage() throws {
        var room = try room(450, isWhole: true)
        #expect(try room.serve())
        #expect(try room.serve())
        #expect(room.known == 200)
        try room.lose()
        try room.connect()
        try room.subscribe()
        while try room.serve() {}
        #expect(room.known == 450 && !room.session.list.hasMore)
    }

    @Test func aRefusedPageIsAskedForAgain() throws {
        var room = try room(450, isWhole: true)
        try room.refuse(after: 500)
        #expect(!room.isAsking)
        try room.pass(499)
        #expect(!room.isAsking)
        try room.pass(1)
        while try room.serve() {}
        #expect(room.known == 450)
    }
}
