import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// What events showed since a token may be lost at the origin, which then confirms the token.
@Suite struct LostListTests {
    private struct Room: SpokenFor {
        var session = ClientSession(ClientSession.Options { 0 })
        var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 0))
        var asked: [JSONObject] = []

        mutating func tell(_ type: String, _ record: String) throws {
            let event =
                "{\"event\":\"conversations\",\"deltas\":"
                + "[{\"type\":\"\(type)\",\"conversation\":\(record)}]}"
            session.received(Array(event.utf8), now)
            try turn()
        }

        /// - Returns: the token with which it asked.
        mutating func subscribe(
            _ records: [String], removed: [String] = [], total: Int, isComplete: Bool
        ) throws -> String? {
            let (id, params) = try take("subscribeConversations")
            let gone = removed.map { "\"\($0)\"" }.joined(separator: ",")
            try answer(
                id,
                "\"result\":{\"conversations\":[\(records.joined(separator: ","))],"
                    + "\"removed\":[\(gone)],\"total\":\(total),\"token\":\"t\(total)\","
                    + "\"complete\":\(isComplete)}")
            return params["since"]?.string
        }

        mutating func comeBack() throws {
            session.closed(code: nil, now)
            asked = []
            try turn()
            try connect()
        }

        /// The revs of what is shown.
        var shown: [String: Int] {
            Dictionary(session.list.conversations.map { ($0.id, $0.head?.rev ?? 0) }) { $1 }
        }
    }

    private static func record(_ id: String, _ rev: Int) -> String {
        "{\"id\":\"\(id)\",\"rev\":1,\"head\":{\"epoch\":\"e\",\"seq\":\(rev - 1),"
            + "\"rev\":\(rev),\"mark\":\"m\",\"floor\":1}}"
    }

    /// One that was written to, joined and left since the token.
    private func room() throws -> Room {
        var room = Room()
        room.session.watchList(room.now)
        try room.connect()
        let token = try room.subscribe(
            ["stays", "left"].map { Self.record($0, 2) }, total: 2, isComplete: false)
        #expect(token == nil)
        try room.tell("updated", Self.record("stays", 3))
        try room.tell("inserted", Self.record("joined", 1))
        try room.tell("deleted", "{\"id\":\"left\"}")
        #expect(room.shown == ["stays": 3, "joined": 1])
        return room
    }

    @Test func whatWasLostSinceTheTokenIsTakenBack() throws {
        var room = try room()
        try room.comeBack()
        #expect(try room.subscribe([], total: 2, isComplete: true) == "t2")
        #expect(room.shown == ["stays": 2, "left": 2])
        // The next token stands for just that.
        try room.comeBack()
        _ = try room.subscribe([], removed: ["left"], total: 1, isComplete: true)
        #expect(room.shown == ["stays": 2])
    }

    @Test func whatWasNotLostIsInTheAnswer() throws {
        var room = try room()
        try room.comeBack()
        _ = try room.subscribe(
            [Self.record("stays", 4), Self.record("joined", 1)], removed: ["left"], total: 2,
            isComplete: true)
        #expect(room.shown == ["stays": 4, "joined": 1])
    }

    @Test func whatIsNotConfirmedIsDropped() throws {
        var room = try room()
        try room.comeBack()
        _ = try room.subscribe([Self.record("left", 2)], total: 1, isComplete: false)
        #expect(room.shown == ["left": 2])
    }
}
