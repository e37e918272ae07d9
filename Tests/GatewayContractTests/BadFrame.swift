import TestSupport
import Testing

/// A frame that a client should not send: what it is answered with, and which field the message of
/// the error names. In the texts `@` stands for a conversation in which the sender takes part.
struct BadFrame: Sendable, CustomTestStringConvertible {
    var text: String
    var id = 5
    var code = "bad_request"
    /// What the message must name.
    var field: String
    /// Sent as it is instead of `text`.
    var frame: WebSocketFrame?

    var testDescription: String {
        frame == nil ? text : "\(field), \(frame?.payload.count ?? 0) bytes"
    }

    init(_ text: String, id: Int = 5, code: String = "bad_request", _ field: String) {
        self.text = text
        self.id = id
        self.code = code
        self.field = field
    }

    /// A frame whose bytes no text can hold.
    init(_ frame: WebSocketFrame, _ field: String) {
        self.init("", id: 0, field)
        self.frame = frame
    }

    /// A request with these params.
    init(
        _ method: String, _ params: String, code: String = "bad_request", _ field: String
    ) {
        self.init(
            #"{"id":5,"method":"\#(method)","params":\#(params)}"#, code: code, field)
    }
}

extension BadFrame {
    /// Frames without a usable id: answered under 0.
    static let withoutID: [BadFrame] = [
        .init("", id: 0, "frame"), .init("{", id: 0, "frame"), .init("nonsense", id: 0, "frame"),
        .init("{}", id: 0, "id"), .init("[]", id: 0, "frame"), .init("null", id: 0, "frame"),
        .init("7", id: 0, "frame"), .init(#""text""#, id: 0, "frame"),
        .init(#"[{"id":5,"method":"typing"}]"#, id: 0, "frame"),
        .init(#"{"id":5,"method":"typing"} {"id":6,"method":"typing"}"#, id: 0, "frame"),
        .init(#"{"id":5,"method":"typing",}"#, id: 0, "frame"),
        .init(#"{'id':5,'method':'typing'}"#, id: 0, "frame"),
        .init(#"{"id":5 "method":"typing"}"#, id: 0, "frame"),
        .init(#"{"id":5,"method":"typing\u12"}"#, id: 0, "frame"),
        .init(#"{"id":5,"method":"\ud800"}"#, id: 0, "frame"),
        .init(#"{"id":05,"method":"typing"}"#, id: 0, "frame"),
        .init("\u{FEFF}" + #"{"id":5,"method":"typing"}"#, id: 0, "frame"),
        .init("{\"id\":5,\"method\":\"a\u{1}b\"}", id: 0, "frame"),
        .init(String(repeating: "[", count: 60_000), id: 0, "frame"),
        .init(
            #"{"id":5,"method":"typing","params":"# + String(repeating: "[", count: 70)
                + String(repeating: "]", count: 70) + "}", id: 0, "frame"),
        .init(#"{"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":0,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":-1,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":1.5,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":"5","method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":null,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":true,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":[5],"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":9007199254740992,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(#"{"id":1e400,"method":"fetchConversations"}"#, id: 0, "id"),
        .init(WebSocketFrame(.binary, Array(#"{"id":5,"method":"typing"}"#.utf8)), "binary"),
        .init(WebSocketFrame(.binary, []), "binary"),
        .init(WebSocketFrame(.binary, [0, 0xFF, 0xC0]), "binary"),
    ]

    /// Frames with an id, that are no request.
    static let noRequests: [BadFrame] = [
        .init(#"{"id":5}"#, "method"), .init(#"{"id":5,"method":7}"#, "method"),
        .init(#"{"id":5,"method":null}"#, "method"),
        .init(#"{"id":5,"method":""}"#, code: "unknown_method", "method"),
        .init(#"{"id":5,"method":"FetchMessages"}"#, code: "unknown_method", "method"),
        .init(#"{"id":5,"method":"no such","params":{}}"#, code: "unknown_method", "method"),
        .init(#"{"id":5,"method":"typing","params":[]}"#, "params"),
        .init(#"{"id":5,"method":"typing","params":"x"}"#, "params"),
        .init(#"{"id":5,"method":"typing","params":7}"#, "params"),
        .init("fetchMessages", #"{"conversation":"@","cached":"no"}"#, "cached"),
        .init("fetchMessages", #"{"conversation":"@","cached":0}"#, "cached"),
        .init("connect", #"{"user":"alice"}"#, "connect"),
        .init("refresh", "{}", "token"), .init("refresh", #"{"token":7}"#, "token"),
    ]

    /// Reading methods with bad params.
    static let badReads: [BadFrame] = [
        .init("fetchMessages", "{}", "conversation"),
        .init("fetchMessages", #"{"conversation":7}"#, "conversation"),
        .init("fetchMessages", #"{"conversation":null}"#, "conversation"),
        .init("fetchMessages", #"{"conversation":""}"#, "conversation"),
        .init("fetchMessages", #"{"conversation":"a\u0000b"}"#, "conversation"),
        .init("fetchMessages", #"{"conversation":"a\u009fb"}"#, "conversation"),
        .init(
            "fetchMessages", #"{"conversation":""# + String(repeating: "é", count: 128) + #""}"#,
            "conversation"),
        .init("fetchMessages", #"{"conversation":"@","limit":0}"#, "limit"),
        .init("fetchMessages", #"{"conversation":"@","limit":-1}"#, "limit"),
        .init("fetchMessages", #"{"conversation":"@","limit":1001}"#, "limit"),
        .init("fetchMessages", #"{"conversation":"@","limit":1.5}"#, "limit"),
        .init("fetchMessages", #"{"conversation":"@","limit":"10"}"#, "limit"),
        .init("fetchMessages", #"{"conversation":"@","order":"up"}"#, "order"),
        .init("fetchMessages", #"{"conversation":"@","order":1}"#, "order"),
        .init("fetchMessages", #"{"conversation":"@","before":-1}"#, "before"),
        .init("fetchMessages", #"{"conversation":"@","before":1.5}"#, "before"),
        .init("fetchMessages", #"{"conversation":"@","before":true}"#, "before"),
        .init("fetchMessages", #"{"conversation":"@","after":[]}"#, "after"),
        .init("fetchMessages", #"{"conversation":"@","after":{}}"#, "after"),
        .init("fetchMessages", #"{"conversation":"@","after":{"time":7}}"#, "after"),
        .init("fetchMessages", #"{"conversation":"@","after":{"time":"yesterday"}}"#, "after"),
        .init(
            "fetchMessages", #"{"conversation":"@","after":{"time":"2026-02-30T00:00:00Z"}}"#,
            "after"),
        .init("fetchMessages", #"{"conversation":"@","around":""}"#, "around"),
        .init("fetchMessages", #"{"conversation":"@","around":1,"before":2}"#, "around"),
        .init(
            "fetchMessages", #"{"conversation":"@","before":"no-such-id"}"#, code: "not_found",
            "before"),
        .init("fetchMessages", #"{"conversation":"elsewhere"}"#, code: "not_found", "conversation"),
        .init("fetchConversation", "{}", "conversation"),
        .init("fetchConversations", #"{"limit":0}"#, "limit"),
        .init("fetchConversations", #"{"cursor":7}"#, "cursor"),
        .init("fetchConversations", #"{"cursor":"nonsense"}"#, "cursor"),
        .init("subscribeConversations", #"{"limit":1001}"#, "limit"),
        .init("subscribeConversations", #"{"since":7}"#, "since"),
        .init("fetchParticipants", #"{"conversation":"@","limit":"all"}"#, "limit"),
        .init("fetchParticipants", #"{"conversation":"@","limit":1,"offset":-1}"#, "offset"),
        .init("fetchParticipants", #"{"conversation":"@","order_by":"name"}"#, "order_by"),
        .init("fetchParticipants", #"{"conversation":"@","order":"random"}"#, "order"),
    ]

    /// A `have` that can't be computed with.
    static let badHaves: [BadFrame] = [
        ("7", "have"), ("[]", "have"), (#""x""#, "have"), ("{}", "head"),
        (#"{"head":7,"asOf":1,"runs":[]}"#, "head"),
        (#"{"head":{"seq":1,"rev":1,"mark":"m"},"asOf":1,"runs":[]}"#, "epoch"),
        (#"{"head":{"epoch":"e","rev":1,"mark":"m"},"asOf":1,"runs":[]}"#, "seq"),
        (#"{"head":{"epoch":"e","seq":1,"rev":-1,"mark":"m"},"asOf":1,"runs":[]}"#, "rev"),
        (#"{"head":{"epoch":"e","seq":1,"rev":1,"mark":7},"asOf":1,"runs":[]}"#, "mark"),
        (#"{"head":$,"runs":[]}"#, "asOf"), (#"{"head":$,"asOf":-1,"runs":[]}"#, "asOf"),
        (#"{"head":$,"asOf":"1","runs":[]}"#, "asOf"), (#"{"head":$,"asOf":1}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":{}}"#, "runs"), (#"{"head":$,"asOf":1,"runs":[1]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[1]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[1,2,3]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[0,2]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[3,2]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[1,"2"]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[1,5],[3,8]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[5,6],[1,2]]}"#, "runs"),
        (#"{"head":$,"asOf":1,"runs":[[1,9007199254740992]]}"#, "runs"),
    ].flatMap { have, field in
        ["subscribeMessages", "findBoundaries"].map { method in
            let head = #"{"epoch":"e","seq":1,"rev":1,"mark":"m","floor":1}"#
            let text = have.split(separator: "$", omittingEmptySubsequences: false)
                .joined(separator: head)
            return BadFrame(method, #"{"conversation":"@","have":\#(text)}"#, field)
        }
    }

    /// Writing methods with bad params.
    static let badWrites: [BadFrame] = [
        .init("sendMessage", #"{"body":"b"}"#, "conversation"),
        .init("sendMessage", #"{"conversation":"@"}"#, "body"),
        .init("sendMessage", #"{"conversation":"@","body":7}"#, "body"),
        .init("sendMessage", #"{"conversation":"@","body":["b"]}"#, "body"),
        .init("sendMessage", #"{"conversation":"@","body":"b","id":7}"#, "id"),
        .init("sendMessage", #"{"conversation":"@","body":"b","id":""}"#, "id"),
        .init("sendMessage", #"{"conversation":"@","body":"b","id":"a\nb"}"#, "id"),
        .init("sendMessage", #"{"conversation":"@","body":"b","metadata":[]}"#, "metadata"),
        .init("sendMessage", #"{"conversation":"@","body":"b","metadata":"m"}"#, "metadata"),
        .init("editMessage", #"{"conversation":"@","body":"b"}"#, "id"),
        .init("editMessage", #"{"conversation":"@","id":"m1","body":{}}"#, "body"),
        .init("editMessage", #"{"conversation":"@","id":"m1","metadata":7}"#, "metadata"),
        .init(
            "editMessage", #"{"conversation":"@","id":"no","body":"b"}"#, code: "not_found", "id"),
        .init("deleteMessage", #"{"conversation":"@"}"#, "id"),
        .init("deleteMessage", #"{"conversation":"@","id":7}"#, "id"),
        .init("deleteMessage", #"{"conversation":"@","id":"none"}"#, code: "not_found", "id"),
        .init("createConversation", "{}", "participants"),
        .init("createConversation", #"{"participants":"bob"}"#, "participants"),
        .init("createConversation", #"{"participants":[7]}"#, "participants"),
        .init("createConversation", #"{"participants":["a\u007f"]}"#, "participants"),
        .init("createConversation", #"{"participants":[],"title":7}"#, "title"),
        .init("createConversation", #"{"participants":[],"id":""}"#, "id"),
        .init("createConversation", #"{"participants":[],"distinct":"yes"}"#, "distinct"),
        .init("createConversation", #"{"participants":[],"metadata":7}"#, "metadata"),
        .init("updateConversation", #"{"conversation":"@","title":{}}"#, "title"),
        .init("updateConversation", #"{"conversation":"@","metadata":[1]}"#, "metadata"),
        .init("addParticipants", #"{"conversation":"@"}"#, "users"),
        .init("addParticipants", #"{"conversation":"@","users":"bob"}"#, "users"),
        .init("addParticipants", #"{"conversation":"@","users":[null]}"#, "users"),
        .init("removeParticipants", #"{"conversation":"@","users":{}}"#, "users"),
        .init("addAdmins", #"{"conversation":"@","users":[""]}"#, "users"),
        .init("addAdmins", #"{"conversation":"@","users":["stranger"]}"#, "admins"),
        .init("removeAdmins", #"{"conversation":"@","users":[1]}"#, "users"),
        .init("deleteConversation", "{}", "conversation"),
        .init("leaveConversation", #"{"conversation":[]}"#, "conversation"),
        .init("markRead", #"{"conversation":"@"}"#, "seq"),
        .init("markRead", #"{"conversation":"@","seq":-1}"#, "seq"),
        .init("markRead", #"{"conversation":"@","seq":1.5}"#, "seq"),
        .init("markRead", #"{"conversation":"@","seq":1000}"#, "seq"),
        .init("typing", #"{"conversation":"@"}"#, "state"),
        .init("typing", #"{"conversation":"@","state":"writing"}"#, "state"),
        .init("typing", #"{"conversation":"@","state":1}"#, "state"),
    ]

    static let all = withoutID + noRequests + badReads + badHaves + badWrites
}
