import Chat
import JSON
import Testing
import Wire

/// What the server API takes: bodies and the anchors of a query.
@Suite struct BodyTests {
    private func object(_ text: String) throws -> JSONObject { try JSONObject(Array(text.utf8)) }

    @Test func readsAMessageBesideItsAuthor() throws {
        let content = try MessageContent.decode(
            object(#"{"author":"alice","body":"hi","x":1,"createdAt":"never"}"#), prefix: "")
        let unknown = [JSONMember(key: "x", value: RawJSON(int: 1))]
        #expect(content == MessageContent(body: "hi", unknown: unknown))
    }

    @Test func namesTheFieldBehindThePrefix() throws {
        let object = try object(#"{"body":7,"title":7,"name":7}"#)
        func expect(_ field: String, _ decode: () throws -> Void) {
            let error = #expect(throws: RequestError.self) { try decode() }
            #expect(error?.message.hasPrefix(field) == true)
        }
        expect("[3].body:") { _ = try MessageContent.decode(object, prefix: "[3].") }
        expect("body:") { _ = try MessageEdit.decode(object, prefix: "") }
        expect("title:") { _ = try ConversationFields.decode(object, prefix: "") }
        expect("name:") { _ = try ParticipantFields.decode(object, prefix: "") }
    }

    @Test func theBackendMaySetEveryFieldOfARecord() throws {
        let fields = try ConversationFields.decode(
            object(#"{"title":null,"participants":[],"admins":["a"],"head":{},"topic":"x"}"#),
            prefix: "")
        #expect(
            fields
                == ConversationFields(
                    title: .some(nil), participants: [], admins: ["a"],
                    unknown: [JSONMember(key: "topic", value: RawJSON(string: "x"))]))
        #expect(try ConversationFields.decode(object("{}"), prefix: "") == ConversationFields())
    }

    @Test func readsAParticipant() throws {
        let fields = try ParticipantFields.decode(
            object(#"{"id":"x","name":"Alice","metadata":{"a":1},"lastReadSeq":9,"role":"guest"}"#),
            prefix: "")
        #expect(
            fields
                == ParticipantFields(
                    name: "Alice", metadata: RawJSON(unchecked: Array(#"{"a":1}"#.utf8)),
                    unknown: [JSONMember(key: "role", value: RawJSON(string: "guest"))]))
    }

    @Test func contentOfTheSameMeaningHasTheSameBytes() throws {
        let one = try MessageContent.decode(
            object(#"{"id":"1","body":"a\u0041","metadata":{"b":1,"a":2},"y":1,"x":{"q": 1}}"#),
            prefix: "")
        let same = try MessageContent.decode(
            object(
                #"{"x":{"q":1},"y":1,"body":"aA","attachment":null,"metadata":{"a":2,"b":1}}"#
            ),
            prefix: "")
        #expect(one.canonical() == same.canonical())
        let plain = MessageContent(body: "a")
        #expect(
            plain.canonical()
                == MessageContent(body: "a", metadata: .emptyObject).canonical())
        let others = [
            MessageContent(body: "b"), MessageContent(body: nil),
            MessageContent(body: "a", attachment: .emptyObject),
            MessageContent(body: "a", metadata: RawJSON(unchecked: Array(#"{"a":1}"#.utf8))),
            MessageContent(body: "a", unknown: [JSONMember(key: "x", value: .null)]),
        ]
        #expect(Set(others.map { $0.canonical() } + [plain.canonical()]).count == others.count + 1)
    }

    @Test func countsTheBytesOfContent() {
        let member = JSONMember(key: "xy", value: .null)
        #expect(
            MessageContent(
                id: "m", body: "é", attachment: .emptyObject, metadata: .emptyObject,
                unknown: [member]
            ).size == 12)
    }

    @Test(
        arguments: [
            ("0", .seq(0)), ("7", .seq(7)), ("007", .seq(7)),
            ("9007199254740992", .seq(9_007_199_254_740_992)), ("id:7", .id("7")),
            ("id:id:x", .id("id:x")), ("id:é é", .id("é é")), ("id:\u{301}x", .id("\u{301}x")),
            ("time:1970-01-01T00:00:01Z", .time(Timestamp(milliseconds: 1000))),
            ("time:1970-01-01T01:00:01+01:00", .time(Timestamp(milliseconds: 1000))),
            ("time:1970-01-01T01:00:01 01:00", .time(Timestamp(milliseconds: 1000))),
        ] as [(String, Anchor)])
    func readsAnchorsOfAQuery(text: String, anchor: Anchor) throws {
        #expect(try Anchor.decode(query: text, field: "after") == anchor)
    }

    @Test(arguments: [
        "", "-1", "+1", "1.5", "7 ", "x", "id:", "id:a\n", "time:", "time:yesterday", "Id:x",
        "9007199254740993", "99999999999999999999", "٧",
    ])
    func refusesWhatIsNoAnchor(text: String) {
        let error = #expect(throws: RequestError.self) {
            try Anchor.decode(query: text, field: "after")
        }
        #expect(error?.code == .badRequest)
        #expect(error?.message.hasPrefix("after: ") == true)
        #expect(error?.message.hasSuffix("a date and time of RFC 3339)") == true)
        #expect(error?.message.contains("yesterday") == false)
    }
}
