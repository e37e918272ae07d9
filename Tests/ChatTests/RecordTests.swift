import Chat
import JSON
import Testing

/// The records read from JSON and written again.
@Suite struct RecordTests {
    private static let message = """
        {"id":"01J","conversation":"c1","seq":42,"rev":57,"author":"alice","body":"hi",\
        "attachment":null,"metadata":{},"createdAt":"2026-11-20T10:00:00.000Z","editedAt":null,\
        "deleted":false}
        """
    private static let conversation = """
        {"id":"c1","title":"Ops","participants":["alice","bob"],"participantCount":2,\
        "admins":["alice"],"metadata":{"n":1.50},"createdAt":"2026-11-20T10:00:00.000Z",\
        "updatedAt":"2026-11-20T10:00:01.000Z","rev":12,"lastMessage":\(message),\
        "head":{"epoch":"e","seq":42,"rev":57,"mark":"m","floor":1},"unreadCount":3,\
        "lastReadSeq":39}
        """
    private static let participant = """
        {"id":"alice","name":"Alice","lastReadSeq":39,"createdAt":"2026-11-20T10:00:00.000Z",\
        "updatedAt":"2026-11-20T10:00:00.000Z","metadata":{}}
        """

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func theObjectsOfTheProtocolAreWrittenAsTheyWereRead() throws {
        let message = try Message(Self.bytes(Self.message))
        #expect(message.seq == 42 && message.rev == 57 && message.body == "hi")
        #expect(Self.text(message.json) == Self.message)
        let conversation = try Conversation(Self.bytes(Self.conversation))
        #expect(conversation.lastMessage == message && conversation.head?.rev == 57)
        #expect(Self.text(conversation.json) == Self.conversation)
        let participant = try Participant(Self.bytes(Self.participant))
        #expect(participant.lastReadSeq == 39)
        #expect(Self.text(participant.json) == Self.participant)
    }

    @Test func unknownFieldsAreKeptWithTheirTexts() throws {
        let unknown = #""x-n":1.10e+2,"x-s":"caf\u00e9","x-o":{"a":[1,2.50],"a":null}"#
        func widened(_ text: String) -> String { text.dropLast() + "," + unknown + "}" }
        let message = widened(Self.message)
        #expect(Self.text(try Message(Self.bytes(message)).json) == message)
        let conversation = widened(
            Self.conversation.replacing(#""floor":1"#, with: #""floor":1,"shard":7.0"#))
        #expect(Self.text(try Conversation(Self.bytes(conversation)).json) == conversation)
        let participant = widened(Self.participant)
        #expect(Self.text(try Participant(Self.bytes(participant)).json) == participant)

        let delta = #"{"type":"updated","via":"fill","message":\#(message),\#(unknown)}"#
        var writer = JSONWriter()
        try MessageDelta(JSONObject(Self.bytes(delta))).write(to: &writer)
        #expect(Self.text(writer.bytes) == delta)
    }

    @Test func aTombstoneCarriesNoContent() throws {
        let text = Self.message.replacing("false", with: "true")
        let tombstone = try Message(Self.bytes(text))
        #expect(tombstone.isDeleted && tombstone.body == nil)
        #expect(
            Self.text(tombstone.json) == """
                {"id":"01J","conversation":"c1","seq":42,"rev":57,"author":"alice",\
                "createdAt":"2026-11-20T10:00:00.000Z","editedAt":null,"deleted":true}
                """)
        #expect(try Message(tombstone.json) == tombstone)
        let message = try Message(Self.bytes(Self.message))
        #expect(MessageDelta(type: .deleted, message: message).message == tombstone)
    }

    @Test func aListWithoutNumberingIsRead() throws {
        let message = try Message(
            Self.bytes(
                """
                {"id":"m","conversation":"c","author":"a","createdAt":"2018-01-11T07:18:53.791103Z"}
                """))
        #expect(message.seq == nil && message.rev == nil && message.metadata == .emptyObject)
        #expect(message.createdAt.milliseconds == 1_515_655_133_791)
        #expect(try Message(message.json) == message)
    }

    @Test func aRemovalCarriesTheBareId() throws {
        let text = #"{"type":"deleted","conversation":{"id":"c1"}}"#
        let delta = try ConversationDelta(JSONObject(Self.bytes(text)))
        #expect(delta == ConversationDelta(type: .deleted, conversation: Conversation(id: "c1")))
        var writer = JSONWriter()
        delta.write(to: &writer)
        #expect(Self.text(writer.bytes) == text)
    }

    @Test func aBoundaryIsWrittenAsItWasRead() throws {
        let text = #"{"newest":{"id":"a","seq":42},"oldest":{"id":"b","seq":30}}"#
        let boundary = try Boundary(JSONObject(Self.bytes(text)))
        #expect(boundary.newest == Boundary.End(id: "a", seq: 42))
        #expect(boundary.oldest == Boundary.End(id: "b", seq: 30))
        var writer = JSONWriter()
        boundary.write(to: &writer)
        #expect(Self.text(writer.bytes) == text)
    }

    @Test(arguments: [
        (#""id":"01J""#, #""id":"""#, "id"),
        (#""id":"01J""#, #""id":7"#, "id"),
        (#""id":"01J","#, "", "id"),
        (#""conversation":"c1","#, "", "conversation"),
        (#""conversation":"c1""#, #""conversation":null"#, "conversation"),
        (#""author":"alice","#, "", "author"),
        (#""author":"alice""#, #""author":["secret"]"#, "author"),
        (#""seq":42"#, #""seq":0"#, "seq"),
        (#""seq":42"#, #""seq":-1"#, "seq"),
        (#""seq":42"#, #""seq":4.5"#, "seq"),
        (#""seq":42"#, #""seq":"secret""#, "seq"),
        (#""seq":42"#, #""seq":9007199254740992"#, "seq"),
        (#""seq":42"#, #""seq":1e400"#, "seq"),
        (#""rev":57"#, #""rev":true"#, "rev"),
        (#""body":"hi""#, #""body":{"secret":1}"#, "body"),
        (#""metadata":{}"#, #""metadata":["secret"]"#, "metadata"),
        (#""createdAt":"2026-11-20T10:00:00.000Z""#, #""createdAt":"secret""#, "createdAt"),
        (#""createdAt":"2026-11-20T10:00:00.000Z","#, "", "createdAt"),
        (#""editedAt":null"#, #""editedAt":12"#, "editedAt"),
        (#""deleted":false"#, #""deleted":0"#, "deleted"),
        ("{", "[", ""), (#""hi""#, #""hi"#, ""),
    ])
    func aMalformedMessageIsRefusedByField(of text: String, as other: String, field: String) {
        let malformed = Self.message.replacing(text, with: other, maxReplacements: 1)
        #expect(malformed != Self.message)
        let error = #expect(throws: RecordError.self) { try Message(Self.bytes(malformed)) }
        #expect(error?.field == field && error?.record == "message")
        #expect(error?.description.contains("secret") == false)

        // The same inside a conversation: the error names the way there.
        let outer = Self.conversation.replacing(Self.message, with: malformed)
        let inside = #expect(throws: RecordError.self) { try Conversation(Self.bytes(outer)) }
        #expect(inside?.record == "conversation")
        let expected = field.isEmpty ? "" : "lastMessage." + field
        #expect(inside?.field == expected)
        #expect(inside?.description.contains("secret") == false)
    }

    @Test(arguments: [
        (#""title":"Ops""#, #""title":7"#, "title"),
        (#"["alice","bob"]"#, #"["alice",7]"#, "participants"),
        (#"["alice","bob"]"#, #"["alice",""]"#, "participants"),
        (#""participantCount":2"#, #""participantCount":-1"#, "participantCount"),
        (#""admins":["alice"]"#, #""admins":"alice""#, "admins"),
        (#""rev":12"#, #""rev":0"#, "rev"),
        (#""epoch":"e""#, #""epoch":null"#, "head.epoch"),
        (#""mark":"m","#, "", "head.mark"),
        (#""floor":1"#, #""floor":0"#, "head.floor"),
        (#""unreadCount":3"#, #""unreadCount":"3""#, "unreadCount"),
        (#""lastReadSeq":39"#, #""lastReadSeq":-1"#, "lastReadSeq"),
        (#""updatedAt":"2026-11-20T10:00:01.000Z""#, #""updatedAt":"yesterday""#, "updatedAt"),
        (#""id":"c1","#, "", "id"),
    ])
    func aMalformedConversationIsRefusedByField(of text: String, as other: String, field: String) {
        let malformed = Self.conversation.replacing(text, with: other, maxReplacements: 1)
        #expect(malformed != Self.conversation)
        let error = #expect(throws: RecordError.self) { try Conversation(Self.bytes(malformed)) }
        #expect(error?.field == field)
    }

    @Test func anErrorIsASentence() {
        let error = #expect(throws: RecordError.self) {
            try Message(Self.bytes(Self.message.replacing("42", with: "[]")))
        }
        #expect(
            error?.description
                == "read message: seq is an array (accepted: an integer from 1 to 2^53 - 1)")
        let unknown = #expect(throws: RecordError.self) {
            try MessageDelta(JSONObject(Self.bytes(#"{"type":"moved"}"#)))
        }
        #expect(
            unknown?.description == """
                read messageDelta: type is another string (accepted: inserted, updated, deleted)
                """)
    }
}
