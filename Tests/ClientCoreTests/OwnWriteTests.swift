import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// What was written and acknowledged is named by each question about the conversation, until the
/// gateway says that the log has lost it.
@Suite struct OwnWriteTests: SpokenFor {
    var session = ClientSession(.init { 0.5 })
    var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    var asked: [JSONObject] = []

    private static let reads = [
        "fetchMessages", "fetchConversation", "fetchParticipants", "subscribeMessages",
    ]

    private func head(_ rev: Int, _ epoch: String = "e") -> String {
        "{\"epoch\":\"\(epoch)\",\"seq\":1,\"rev\":\(rev),\"mark\":\"m\(rev)\",\"floor\":1}"
    }

    /// The rev that the next question names; nil if it names none.
    private mutating func named(_ method: String, of conversation: String = "c") throws -> Int? {
        session.request(1, method, RequestParams(conversation: conversation))
        try turn()
        let (_, params) = try take(method)
        let least = params["atLeast"]?.object
        if let least { #expect(Set(least.members.map(\.key)) == ["epoch", "rev", "mark"]) }
        return least?["rev"]?.int
    }

    private mutating func write(_ method: String, _ result: String) throws {
        session.request(2, method, RequestParams(conversation: "c"))
        try turn()
        try answer(method, "\"result\":{\(result)}")
    }

    @Test(arguments: reads) mutating func eachQuestionNamesIt(_ method: String) throws {
        try connect()
        #expect(try named(method) == nil)
        try write("sendMessage", "\"message\":{},\"head\":\(head(7))")
        #expect(try named(method) == 7)
        #expect(try named(method, of: "d") == nil)
        // An older answer says less, a newer one more.
        try write("editMessage", "\"message\":{},\"head\":\(head(6))")
        #expect(try named(method) == 7)
        try write("addAdmins", "\"conversation\":{\"id\":\"c\",\"head\":\(head(9))}")
        #expect(try named(method) == 9)
        // So does the next connection, to whatever gateway.
        session.closed(code: nil, now)
        asked = []
        try turn()
        try connect()
        #expect(try named(method) == 9)
    }

    @Test mutating func whatIsReadIsNoChangeOfOnesOwn() throws {
        try connect()
        try write("fetchConversation", "\"conversation\":{\"id\":\"c\",\"head\":\(head(9))}")
        #expect(try named("fetchMessages") == nil)
    }

    /// Subscribes as of 5, and writes the change 7.
    private mutating func writeWhileSubscribed() throws {
        try connect()
        session.subscribe(to: "c")
        try turn()
        try answer(
            "subscribeMessages",
            "\"result\":{\"deltas\":[],\"covers\":[],\"gaps\":[],\"asOf\":5,\"head\":\(head(5))}")
        try write("updateConversation", "\"conversation\":{\"id\":\"c\",\"head\":\(head(7))}")
    }

    @Test mutating func aLogThatLostItBeginsAnew() throws {
        try writeWhileSubscribed()
        session.fetch("c", PageRequest(), token: 1)
        try turn()
        let (id, params) = try take("fetchMessages")
        #expect(params["atLeast"]?.object?["rev"]?.int == 7)
        let reset = "{\"event\":\"reset\",\"conversation\":\"c\",\"head\":\(head(6))}"
        session.received(Array(reset.utf8), now)
        try turn()
        try answer(
            id,
            "\"cached\":false,\"result\":{\"reset\":true,\"messages\":[],\"covers\":[],"
                + "\"gaps\":[],\"asOf\":6,\"head\":\(head(6)),"
                + "\"hasMore\":{\"before\":false,\"after\":false}}")
        #expect(try take("subscribeMessages").params["have"] == nil)
        #expect(session.holder(of: "c")?.head == nil)
        #expect(try named("fetchMessages") == nil)
    }

    @Test mutating func anotherLogTakesItAlong() throws {
        try writeWhileSubscribed()
        let reset = "{\"event\":\"reset\",\"conversation\":\"c\",\"head\":\(head(2, "f"))}"
        session.received(Array(reset.utf8), now)
        try turn()
        #expect(try take("subscribeMessages").params["atLeast"] == nil)
        #expect(try named("fetchMessages") == nil)
    }
}
