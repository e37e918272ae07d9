import Chat
import JSON
import Testing
import Wire

/// What an application's values may nest, so that each frame that carries them can be read.
@Suite struct NestingTests {
    private func nested(_ levels: Int) throws -> RawJSON {
        try RawJSON(
            Array((String(repeating: #"{"[":"#, count: levels - 1) + "{}").utf8)
                + Array(repeating: UInt8(ascii: "}"), count: levels - 1))
    }

    @Test func aLevelIsAnArrayOrAnObject() throws {
        #expect(Nesting.isKept(by: try nested(32)))
        #expect(!Nesting.isKept(by: try nested(33)))
        let text = #"["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\"]"#
        #expect(Nesting.isKept(by: try RawJSON(Array(text.utf8))))
        let wide = "[" + Array(repeating: "[]", count: 100).joined(separator: ",") + "]"
        #expect(Nesting.isKept(by: try RawJSON(Array(wide.utf8))))
    }

    @Test(arguments: ["attachment", "metadata", "mine"])
    func aMessageWithDeeperValuesIsRefused(_ field: String) throws {
        func decoded(_ levels: Int) throws -> MessageContent {
            let body = #"{"body":"b","\#(field)":"#
            let value = String(decoding: try nested(levels).bytes, as: UTF8.self)
            return try MessageContent.decode(
                try JSONObject(Array((body + value + "}").utf8)), prefix: "")
        }
        #expect(try decoded(32).body == "b")
        let error = #expect(throws: RequestError.self) { try decoded(33) }
        #expect(error?.code == .badRequest)
        let name = field == "mine" ? "an unknown field" : field
        #expect(error?.message.hasPrefix("\(name): nested too deep") == true)
    }

    @Test func whatIsTakenIsReadInEveryFrame() throws {
        let value = try nested(Nesting.limit)
        let moment = Timestamp(milliseconds: 0)
        let head = Head(epoch: "e", seq: 1, rev: 1, mark: "m")
        let message = EncodedMessage.encode(
            id: "m", conversation: "c", seq: 1, rev: 1, author: "a", body: nil, attachment: value,
            metadata: value, createdAt: moment, editedAt: nil, deleted: false,
            unknown: [JSONMember(key: "mine", value: value)])
        let record = Record(
            id: "c", title: nil, participants: [], admins: [], metadata: value, createdAt: moment,
            updatedAt: moment, rev: 1, unknown: [])
        let frame = ServerFrame.conversations(.updated, record, lastMessage: message, head: head)
        #expect(throws: Never.self) { try JSONObject(frame) }
    }
}
