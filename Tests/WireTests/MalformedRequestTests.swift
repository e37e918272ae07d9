import Chat
import JSON
import Testing
import Wire

/// Frames that are no request: each gets the named error under the id that it had, and no word of
/// what its sender wrote.
@Suite struct MalformedRequestTests {
    /// Stands in the frames wherever a user's own text could.
    private static let secret = "xyzzy-secret"

    struct Row: Sendable, CustomTestStringConvertible {
        var frame: String
        var id: Int
        var code: ErrorCode
        /// What the message must begin with: the field.
        var field: String

        var testDescription: String { frame }

        init(_ frame: String, _ id: Int, _ code: ErrorCode, _ field: String) {
            self.frame = frame
            self.id = id
            self.code = code
            self.field = field
        }

        /// A call with these params, refused with `bad_request` for this field.
        init(_ method: String, _ params: String, _ field: String, _ code: ErrorCode = .badRequest) {
            self.init(
                #"{"id":7,"method":"\#(method)","params":\#(params)}"#, 7, code, "params.\(field):")
        }
    }

    private static let frames: [Row] = [
        Row("", 0, .badRequest, "frame:"),
        Row("xyzzy-secret", 0, .badRequest, "frame:"),
        Row("[]", 0, .badRequest, "frame:"),
        Row("null", 0, .badRequest, "frame:"),
        Row("7", 0, .badRequest, "frame:"),
        Row(#""xyzzy-secret""#, 0, .badRequest, "frame:"),
        Row(#"{"id":7,"method":"fetchConversations"} {}"#, 0, .badRequest, "frame:"),
        Row(#"{"id":7,"method":"fetchConversations""#, 0, .badRequest, "frame:"),
        Row(#"{"id":7,"method":"fetchConversations",}"#, 0, .badRequest, "frame:"),
        Row(#"{"id":7,"method":"xyzzy-secret\ud800"}"#, 0, .badRequest, "frame:"),
        Row("{\"id\":7,\"method\":\"xyzzy-secret\n\"}", 0, .badRequest, "frame:"),
        Row(
            #"{"id":7,"method":"sendMessage","params":{"conversation":"c","metadata":"#
                + String(repeating: #"{"a":"#, count: 70), 0, .badRequest, "frame:"),
        Row("{}", 0, .badRequest, "id:"),
        Row(#"{"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":null,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":0,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":-1,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":1.5,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":"7","method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":"xyzzy-secret","method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":[7],"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":9007199254740992,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":1e400,"method":"fetchConversations"}"#, 0, .badRequest, "id:"),
        Row(#"{"id":7}"#, 7, .badRequest, "method:"),
        Row(#"{"id":7,"method":null}"#, 7, .badRequest, "method:"),
        Row(#"{"id":7,"method":7}"#, 7, .badRequest, "method:"),
        Row(#"{"id":7,"method":["connect"]}"#, 7, .badRequest, "method:"),
        Row(#"{"id":7,"method":""}"#, 7, .unknownMethod, "method:"),
        Row(#"{"id":7,"method":"xyzzy-secret"}"#, 7, .unknownMethod, "method:"),
        Row(#"{"id":7,"method":"FetchMessages","params":{}}"#, 7, .unknownMethod, "method:"),
        Row(#"{"id":7,"method":"connect ","params":{}}"#, 7, .unknownMethod, "method:"),
        Row(#"{"id":9007199254740991,"method":"x"}"#, 9_007_199_254_740_991, .unknownMethod, "m"),
        Row(#"{"id":7,"method":"connect","params":[]}"#, 7, .badRequest, "params:"),
        Row(#"{"id":7,"method":"connect","params":"xyzzy-secret"}"#, 7, .badRequest, "params:"),
        Row(#"{"id":7,"method":"connect","params":1}"#, 7, .badRequest, "params:"),
        Row(#"{"id":7,"method":"connect","params":false}"#, 7, .badRequest, "params:"),
        Row(#"{"id":7,"cached":"no","method":"fetchConversations"}"#, 7, .badRequest, "cached:"),
    ]

    private static let params: [Row] = [
        Row("connect", #"{"token":7}"#, "token"),
        Row("connect", #"{"token":{"a":"xyzzy-secret"}}"#, "token"),
        Row("connect", #"{"user":""}"#, "user"),
        Row("connect", #"{"user":"xyzzy-secret\n"}"#, "user"),
        Row("connect", #"{"user":"xyzzy-secret\u0085"}"#, "user"),
        Row("connect", #"{"user":"\#(String(repeating: "é", count: 128))"}"#, "user"),
        Row("connect", #"{"client":true}"#, "client"),
        Row("connect", #"{"unread":1}"#, "unread"),
        Row("connect", #"{"client":"\#(String(repeating: "x", count: 256))"}"#, "client"),
        Row("refresh", "{}", "token"),
        Row("refresh", #"{"token":null}"#, "token"),
        Row("subscribeMessages", "{}", "conversation"),
        Row("subscribeMessages", #"{"conversation":7}"#, "conversation"),
        Row("subscribeMessages", #"{"conversation":null}"#, "conversation"),
        Row("subscribeMessages", #"{"conversation":""}"#, "conversation"),
        Row("subscribeMessages", #"{"conversation":"xyzzy-secret\u0000"}"#, "conversation"),
        Row("subscribeMessages", #"{"conversation":"c","limit":0}"#, "limit"),
        Row("subscribeMessages", #"{"conversation":"c","limit":1001}"#, "limit"),
        Row("subscribeMessages", #"{"conversation":"c","limit":-5}"#, "limit"),
        Row("subscribeMessages", #"{"conversation":"c","limit":1.5}"#, "limit"),
        Row("subscribeMessages", #"{"conversation":"c","limit":"xyzzy-secret"}"#, "limit"),
        Row("subscribeMessages", #"{"conversation":"c","limit":1e99}"#, "limit"),
        Row("unsubscribeMessages", "{}", "conversation"),
        Row("subscribeConversations", #"{"since":7}"#, "since"),
        Row("subscribeConversations", #"{"limit":0}"#, "limit"),
        Row("fetchConversations", #"{"cursor":[]}"#, "cursor"),
        Row("fetchConversations", #"{"cached":1}"#, "cached"),
        Row("fetchConversation", "{}", "conversation"),
        Row("fetchMessages", #"{"conversation":"c","before":true}"#, "before"),
        Row("fetchMessages", #"{"conversation":"c","before":-1}"#, "before"),
        Row("fetchMessages", #"{"conversation":"c","before":9007199254740993}"#, "before"),
        Row("fetchMessages", #"{"conversation":"c","after":1.5}"#, "after"),
        Row("fetchMessages", #"{"conversation":"c","after":""}"#, "after"),
        Row("fetchMessages", #"{"conversation":"c","after":[1]}"#, "after"),
        Row("fetchMessages", #"{"conversation":"c","around":{}}"#, "around.time"),
        Row("fetchMessages", #"{"conversation":"c","around":{"time":1}}"#, "around.time"),
        Row(
            "fetchMessages", #"{"conversation":"c","around":{"time":"xyzzy-secret"}}"#,
            "around.time"),
        Row("fetchMessages", #"{"conversation":"c","around":1,"after":1}"#, "around"),
        Row("fetchMessages", #"{"conversation":"c","around":1,"before":"m"}"#, "around"),
        Row("fetchMessages", #"{"conversation":"c","order":"xyzzy-secret"}"#, "order"),
        Row("fetchMessages", #"{"conversation":"c","order":1}"#, "order"),
        Row("fetchParticipants", #"{"conversation":"c","limit":"all"}"#, "limit"),
        Row("fetchParticipants", #"{"conversation":"c","limit":5,"offset":-1}"#, "offset"),
        Row("fetchParticipants", #"{"conversation":"c","offset":-1}"#, "offset"),
        Row(
            "fetchParticipants", #"{"conversation":"c","limit":0,"offset":"xyzzy-secret"}"#,
            "offset"),
        Row("fetchParticipants", #"{"conversation":"c","order_by":"xyzzy-secret"}"#, "order_by"),
        Row("fetchParticipants", #"{"conversation":"c","order_by":1}"#, "order_by"),
        Row("sendMessage", #"{"conversation":"c"}"#, "body"),
        Row("sendMessage", #"{"conversation":"c","id":"m"}"#, "body"),
        Row("sendMessage", #"{"conversation":"c","body":null,"attachment":null}"#, "body"),
        Row("sendMessage", #"{"conversation":"c","body":7}"#, "body"),
        Row("sendMessage", #"{"conversation":"c","body":["xyzzy-secret"]}"#, "body"),
        Row("sendMessage", #"{"conversation":"c","body":"b","id":""}"#, "id"),
        Row("sendMessage", #"{"conversation":"c","body":"b","id":7}"#, "id"),
        Row("sendMessage", #"{"conversation":"c","attachment":"xyzzy-secret"}"#, "attachment"),
        Row("sendMessage", #"{"conversation":"c","attachment":[]}"#, "attachment"),
        Row("sendMessage", #"{"conversation":"c","body":"b","metadata":null}"#, "metadata"),
        Row(
            "sendMessage", #"{"conversation":"c","body":"b","metadata":"xyzzy-secret"}"#, "metadata"
        ),
        Row("editMessage", #"{"conversation":"c","body":"b"}"#, "id"),
        Row("editMessage", #"{"conversation":"c","id":"m","body":1}"#, "body"),
        Row("editMessage", #"{"conversation":"c","id":"m","metadata":[]}"#, "metadata"),
        Row("deleteMessage", #"{"conversation":"c"}"#, "id"),
        Row("deleteMessage", #"{"id":"m"}"#, "conversation"),
        Row("createConversation", "{}", "participants"),
        Row("createConversation", #"{"participants":null}"#, "participants"),
        Row("createConversation", #"{"participants":"xyzzy-secret"}"#, "participants"),
        Row("createConversation", #"{"participants":["a",7]}"#, "participants[1]"),
        Row("createConversation", #"{"participants":["xyzzy-secret\t"]}"#, "participants[0]"),
        Row("createConversation", #"{"participants":[],"distinct":1}"#, "distinct"),
        Row("createConversation", #"{"participants":[],"title":7}"#, "title"),
        Row("createConversation", #"{"participants":[],"id":"xyzzy-secret\u007f"}"#, "id"),
        Row(
            "createConversation", #"{"participants":[\#(names(1001))]}"#, "participants",
            .tooLarge),
        Row("updateConversation", #"{"title":"t"}"#, "conversation"),
        Row("updateConversation", #"{"conversation":"c","title":{}}"#, "title"),
        Row("updateConversation", #"{"conversation":"c","metadata":7}"#, "metadata"),
        Row("addParticipants", #"{"conversation":"c"}"#, "users"),
        Row("addParticipants", #"{"conversation":"c","users":[]}"#, "users"),
        Row("addParticipants", #"{"conversation":"c","users":[null]}"#, "users[0]"),
        Row("removeParticipants", #"{"conversation":"c","users":"xyzzy-secret"}"#, "users"),
        Row("addAdmins", #"{"conversation":"c","users":{}}"#, "users"),
        Row("removeAdmins", #"{"conversation":"c","users":[\#(names(1001))]}"#, "users", .tooLarge),
        Row("deleteConversation", "{}", "conversation"),
        Row("leaveConversation", #"{"conversation":[]}"#, "conversation"),
        Row("markRead", #"{"conversation":"c"}"#, "seq"),
        Row("markRead", #"{"conversation":"c","seq":-1}"#, "seq"),
        Row("markRead", #"{"conversation":"c","seq":9007199254740992}"#, "seq"),
        Row("markRead", #"{"conversation":"c","seq":"m"}"#, "seq"),
        Row("typing", #"{"conversation":"c"}"#, "state"),
        Row("typing", #"{"conversation":"c","state":"xyzzy-secret"}"#, "state"),
        Row("typing", #"{"conversation":"c","state":true}"#, "state"),
        Row("setPresence", #"{"state":"xyzzy-secret"}"#, "state"),
        Row("setPresence", #"{"state":true}"#, "state"),
        Row("watchPresence", "{}", "watch"),
        Row("watchPresence", #"{"watch":"xyzzy-secret"}"#, "watch"),
        Row("watchPresence", #"{"watch":["xyzzy-secret"]}"#, "watch[0]"),
        Row("watchPresence", #"{"watch":[{"users":[]}]}"#, "watch[0].conversation"),
        Row("watchPresence", #"{"watch":[{"conversation":"c","users":[7]}]}"#, "watch[0].users[0]"),
    ]

    private static func names(_ count: Int) -> String {
        (0..<count).map { "\"u\($0)\"" }.joined(separator: ",")
    }

    private static func runs(_ count: Int) -> String {
        (1...count).map { "[\($0 * 2),\($0 * 2)]" }.joined(separator: ",")
    }

    private static func have(_ parts: String) -> String {
        #"{"conversation":"c","have":{\#(parts)}}"#
    }

    private static let head = #""head":{"epoch":"e","seq":9,"rev":9,"mark":"m","floor":1}"#

    private static let haves: [Row] = [
        Row("subscribeMessages", #"{"conversation":"c","have":[]}"#, "have"),
        Row("subscribeMessages", have(""), "have.head"),
        Row("subscribeMessages", have(#""head":7"#), "have.head"),
        Row("subscribeMessages", have(#""head":{}"#), "have.head.epoch"),
        Row("subscribeMessages", have(#""head":{"epoch":1}"#), "have.head.epoch"),
        Row("subscribeMessages", have(#""head":{"epoch":"e"}"#), "have.head.mark"),
        Row("subscribeMessages", have(#""head":{"epoch":"e","mark":"m"}"#), "have.head.seq"),
        Row(
            "subscribeMessages", have(#""head":{"epoch":"e","mark":"m","seq":-1}"#), "have.head.seq"
        ),
        Row(
            "subscribeMessages",
            have(#""head":{"epoch":"e","mark":"m","seq":1,"rev":9007199254740992}"#),
            "have.head.rev"),
        Row(
            "subscribeMessages",
            have(#""head":{"epoch":"e","mark":"m","seq":1,"rev":1,"floor":0}"#),
            "have.head.floor"),
        Row(
            "subscribeMessages",
            have(#""head":{"epoch":"\#(String(repeating: "x", count: 256))","mark":"m"}"#),
            "have.head.epoch"),
        Row("subscribeMessages", have(head), "have.asOf"),
        Row("subscribeMessages", have(head + #","asOf":-1"#), "have.asOf"),
        Row("subscribeMessages", have(head + #","asOf":"xyzzy-secret""#), "have.asOf"),
        Row("subscribeMessages", have(head + #","asOf":9"#), "have.runs"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":{}"#), "have.runs"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[7]"#), "have.runs[0]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[1]]"#), "have.runs[0]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[1,2,3]]"#), "have.runs[0]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[0,2]]"#), "have.runs[0][0]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[1,"2"]]"#), "have.runs[0][1]"),
        Row(
            "subscribeMessages", have(head + #","asOf":9,"runs":[[1,9007199254740992]]"#),
            "have.runs[0][1]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[3,2]]"#), "have.runs[0]"),
        Row("subscribeMessages", have(head + #","asOf":9,"runs":[[1,3],[3,4]]"#), "have.runs[1]"),
        Row("findBoundaries", have(head + #","asOf":9,"runs":[[5,6],[1,2]]"#), "have.runs[1]"),
        Row(
            "findBoundaries",
            have(
                head + #","asOf":9,"runs":[\#(runs(1001))]"#
            ),
            "have.runs", .tooLarge),
    ]

    @Test(arguments: frames + params + haves)
    func isAnsweredWithTheNamedError(row: Row) throws {
        let frame = RequestFrame.decode(Array(row.frame.utf8), isBinary: false)
        #expect(frame.id == row.id)
        guard case .failure(let error) = frame.request else {
            Issue.record("was taken for a request")
            return
        }
        #expect(error.code == row.code)
        #expect(error.retry == .never)
        #expect(error.message.hasPrefix(row.field), "\(error.message)")
        #expect(
            error.message.contains("accepted") || error.message.contains("at most")
                || error.message.contains("out of range"), "\(error.message)")
        #expect(!error.message.contains(Self.secret))
        #expect(error.message.utf8.count < 600)
    }

    @Test func thereAreEnoughOfThem() {
        #expect(Self.frames.count + Self.params.count + Self.haves.count >= 60)
    }

    @Test func aBinaryFrameHasNoID() {
        let frame = RequestFrame.decode(
            Array(#"{"id":7,"method":"fetchConversations"}"#.utf8), isBinary: true)
        #expect(frame.id == 0)
        #expect(throws: RequestError.self) { try frame.request.get() }
    }

    @Test(arguments: [
        (#"{"limit":0}"#, "limit: 0 is out of range (1…1000)"),
        (#"{"limit":2.50}"#, "limit: 2.50 (accepted: an integer, 1…1000)"),
        (#"{"limit":true}"#, "limit: true (accepted: an integer, 1…1000)"),
        (#"{"cursor":-7}"#, "cursor: -7 (accepted: a string)"),
        (#"{"cursor":123456789012345678901234567890123}"#, "cursor: a number (accepted: a string)"),
    ])
    func showsNumbersAndWhatIsAccepted(params: String, message: String) {
        let text = #"{"id":1,"method":"fetchConversations","params":\#(params)}"#
        guard
            case .failure(let error) = RequestFrame.decode(Array(text.utf8), isBinary: false)
                .request
        else {
            Issue.record("was taken for a request")
            return
        }
        #expect(error.message == "params.\(message)")
    }
}
