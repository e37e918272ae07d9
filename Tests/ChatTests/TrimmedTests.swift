import Chat
import JSON
import Testing

/// A row that leaves a list is no deletion.
@Suite struct TrimmedTests {
    private let messages = (1...3).map {
        Message(
            id: "m\($0)", conversation: "c", seq: $0, rev: $0, author: "bob", body: "\($0)",
            createdAt: Timestamp(milliseconds: Int64($0)))
    }

    @Test func aTrimmedMessageLeavesTheListAndCanComeBack() {
        let trimmed = MessageDelta(type: .trimmed, message: messages[1])
        let list = merge(messageDeltas: [trimmed], toList: messages)
        #expect(list.map(\.id) == ["m1", "m3"])
        #expect(merge(messages: [messages[1]], toList: list) == messages)
    }

    @Test func theProtocolDoesNotKnowTheWord() throws {
        let text = #"{"type":"trimmed","message":{}}"#
        #expect(throws: RecordError.self) { try MessageDelta(JSONObject(Array(text.utf8))) }
    }
}
