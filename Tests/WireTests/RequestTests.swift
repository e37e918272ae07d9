import Chat
import JSON
import TestSupport
import Testing
import Wire

/// Frames that are requests: every method with every param.
@Suite struct RequestTests {
    private func request(_ method: String, _ params: String) throws -> Request {
        let text = #"{"id":7,"method":"\#(method)","params":\#(params)}"#
        return try RequestFrame.decode(Array(text.utf8), isBinary: false).request.get()
    }

    private func json(_ text: String) throws -> RawJSON { try RawJSON(Array(text.utf8)) }

    @Test func readsConnections() throws {
        #expect(try request("connect", "{}") == .connect(token: nil, user: nil, client: nil))
        #expect(
            try request("connect", #"{"token":"t","user":"alice","client":"page/1"}"#)
                == .connect(token: "t", user: "alice", client: "page/1"))
        #expect(
            try request("connect", #"{"unread":true}"#)
                == .connect(token: nil, user: nil, client: nil, unread: true))
        #expect(try request("refresh", #"{"token":"t"}"#) == .refresh(token: "t"))
    }

    @Test func readsSubscriptions() throws {
        #expect(
            try request("subscribeMessages", #"{"conversation":"c"}"#)
                == .subscribeMessages(conversation: "c", have: nil, limit: 100))
        let have = #"""
            {"head":{"epoch":"e","seq":96,"rev":57,"mark":"m","floor":3},
            "asOf":55,"runs":[[1,50],[80,96]]}
            """#
        let expected = Have(
            head: Head(epoch: "e", seq: 96, rev: 57, mark: "m", floor: 3), asOf: 55,
            runs: [[1, 50], [80, 96]])
        #expect(
            try request("subscribeMessages", #"{"conversation":"c","have":\#(have),"limit":7}"#)
                == .subscribeMessages(conversation: "c", have: expected, limit: 7))
        #expect(
            try request("findBoundaries", #"{"conversation":"c","have":\#(have)}"#)
                == .findBoundaries(conversation: "c", have: expected))
        #expect(
            try request("findBoundaries", #"{"conversation":"c","have":null}"#)
                == .findBoundaries(conversation: "c", have: nil))
        #expect(
            try request("unsubscribeMessages", #"{"conversation":"c"}"#)
                == .unsubscribeMessages(conversation: "c"))
        #expect(
            try request("subscribeConversations", "{}")
                == .subscribeConversations(since: nil, limit: 100))
        #expect(
            try request("subscribeConversations", #"{"since":"t","limit":1000}"#)
                == .subscribeConversations(since: "t", limit: 1000))
        #expect(try request("unsubscribeConversations", "{}") == .unsubscribeConversations)
    }

    @Test func joinsRunsThatTouchAndTakesEmptyOnes() throws {
        func runs(_ text: String) throws -> Coverage? {
            let have = #"{"head":{"epoch":"","seq":0,"rev":0,"mark":""},"asOf":0,"runs":\#(text)}"#
            guard
                case .subscribeMessages(_, let have, _) = try request(
                    "subscribeMessages", #"{"conversation":"c","have":\#(have)}"#)
            else { return nil }
            #expect(have?.head == Head(epoch: "", seq: 0, rev: 0, mark: "", floor: 1))
            return have?.runs
        }
        #expect(try runs("[[1,3],[4,6],[8,8]]") == [[1, 6], [8, 8]])
        #expect(try runs("[]") == Coverage())
        #expect(try runs("[ [1.0, 3e0],[8 ,8]]") == [[1, 3], [8, 8]])
        let most = (1...1000).map { "[\($0 * 2),\($0 * 2)]" }.joined(separator: ",")
        #expect(try runs("[\(most)]")?.runs.count == 1000)
    }

    @Test func readsPages() throws {
        #expect(
            try request("fetchMessages", #"{"conversation":"c"}"#)
                == .fetchMessages(conversation: "c", PageRequest()))
        #expect(
            try request(
                "fetchMessages",
                #"{"conversation":"c","before":90.0,"after":0,"limit":1,"order":"asc"}"#)
                == .fetchMessages(
                    conversation: "c",
                    PageRequest(before: .seq(90), after: .seq(0), limit: 1, order: .asc)))
        #expect(
            try request("fetchMessages", #"{"conversation":"c","around":"7","before":null}"#)
                == .fetchMessages(conversation: "c", PageRequest(around: .id("7"))))
        #expect(
            try request(
                "fetchMessages",
                #"{"conversation":"c","after":{"time":"1970-01-01T01:00:01.5+01:00"}}"#)
                == .fetchMessages(
                    conversation: "c",
                    PageRequest(after: .time(Timestamp(milliseconds: 1500)))))
        #expect(
            try request("fetchMessages", #"{"conversation":"c","before":9007199254740992}"#)
                == .fetchMessages(
                    conversation: "c", PageRequest(before: .seq(9_007_199_254_740_992))))
    }

    @Test func readsLists() throws {
        #expect(
            try request("fetchConversations", "{}") == .fetchConversations(limit: 100, cursor: nil))
        #expect(
            try request("fetchConversations", #"{"limit":2,"cursor":"x"}"#)
                == .fetchConversations(limit: 2, cursor: "x"))
        #expect(
            try request("fetchConversation", #"{"conversation":"c"}"#) == .fetchConversation("c"))
        #expect(
            try request("fetchParticipants", #"{"conversation":"c"}"#)
                == .fetchParticipants(conversation: "c", ParticipantsRequest()))
        #expect(
            try request(
                "fetchParticipants",
                #"{"conversation":"c","limit":-3,"offset":7,"order_by":"created_at","#
                    + #""order":"asc"}"#
            )
                == .fetchParticipants(
                    conversation: "c", ParticipantsRequest(limit: -3, offset: 0, order: .asc)))
        #expect(
            try request("fetchParticipants", #"{"conversation":"c","limit":5000,"offset":7}"#)
                == .fetchParticipants(
                    conversation: "c", ParticipantsRequest(limit: 5000, offset: 7)))
    }

    @Test func readsMessagesAndKeepsWhatItDoesNotKnow() throws {
        let params = #"""
            {"conversation":"c","id":"m","body":"","attachment":{"a":1.0},"metadata":{ },
            "mood":"ok",
            "seq":9,"author":"mallory","deleted":true,"cached":false,
            "mood":{"x":[1]},"é":null}
            """#
        let content = MessageContent(
            id: "m", body: "", attachment: try json(#"{"a":1.0}"#), metadata: try json("{ }"),
            unknown: [
                JSONMember(key: "mood", value: try json(#"{"x":[1]}"#)),
                JSONMember(key: "é", value: .null),
            ])
        #expect(try request("sendMessage", params) == .sendMessage(conversation: "c", content))
        #expect(
            try request("sendMessage", #"{"conversation":"c","metadata":{}}"#)
                == .sendMessage(conversation: "c", MessageContent(metadata: .emptyObject)))
        #expect(
            try request("sendMessage", #"{"conversation":"c","sticker":7}"#)
                == .sendMessage(
                    conversation: "c",
                    MessageContent(unknown: [JSONMember(key: "sticker", value: RawJSON(int: 7))])))
    }

    @Test func tellsAnAbsentBodyFromNone() throws {
        func edit(_ fields: String) throws -> MessageEdit? {
            guard
                case .editMessage("c", "m", let edit) = try request(
                    "editMessage", #"{"conversation":"c","id":"m"\#(fields)}"#)
            else { return nil }
            return edit
        }
        #expect(try edit("") == MessageEdit())
        #expect(try edit(#","body":null"#) == MessageEdit(body: .some(nil)))
        #expect(
            try edit(#","body":"b","metadata":{}"#)
                == MessageEdit(body: "b", metadata: .emptyObject))
        #expect(
            try edit(#","mood":1,"attachment":{}"#)
                == MessageEdit(unknown: [JSONMember(key: "mood", value: RawJSON(int: 1))]))
        #expect(
            try request("deleteMessage", #"{"conversation":"c","id":"m"}"#)
                == .deleteMessage(conversation: "c", id: "m"))
    }

    @Test func readsChangesOfConversations() throws {
        #expect(
            try request(
                "createConversation",
                #"{"id":"c","title":"t","participants":["a","b"],"metadata":{},"distinct":true,"#
                    + #""admins":["x"],"x":1}"#
            )
                == .createConversation(
                    id: "c",
                    ConversationFields(
                        title: "t", metadata: .emptyObject, participants: ["a", "b"],
                        unknown: [JSONMember(key: "x", value: RawJSON(int: 1))]),
                    distinct: true))
        #expect(
            try request("createConversation", #"{"participants":[],"title":null,"id":null}"#)
                == .createConversation(
                    id: nil, ConversationFields(title: .some(nil), participants: []),
                    distinct: false))
        #expect(
            try request("updateConversation", #"{"conversation":"c","participants":["x"]}"#)
                == .updateConversation(conversation: "c", ConversationFields()))
        #expect(
            try request("deleteConversation", #"{"conversation":"c"}"#) == .deleteConversation("c"))
        #expect(
            try request("leaveConversation", #"{"conversation":"c"}"#) == .leaveConversation("c"))
    }

    @Test func readsChangesOfParticipants() throws {
        let params = #"{"conversation":"c","users":["a","b"]}"#
        let users = ["a", "b"]
        #expect(
            try request("addParticipants", params)
                == .addParticipants(conversation: "c", users: users))
        #expect(
            try request("removeParticipants", params)
                == .removeParticipants(conversation: "c", users: users))
        #expect(try request("addAdmins", params) == .addAdmins(conversation: "c", users: users))
        #expect(
            try request("removeAdmins", params) == .removeAdmins(conversation: "c", users: users))
        #expect(
            try request("markRead", #"{"conversation":"c","seq":0}"#)
                == .markRead(conversation: "c", seq: 0))
        for state in TypingState.allCases {
            #expect(
                try request("typing", #"{"conversation":"c","state":"\#(state.rawValue)"}"#)
                    == .typing(conversation: "c", state))
        }
    }

    @Test func aFrameWithoutParamsHasNone() throws {
        for text in [
            #"{"id":9007199254740991,"method":"fetchConversations"}"#,
            #" { "method" : "fetchConversations" , "params" : null , "id" : 9007199254740991.0 } "#,
            #"{"id":1,"id":9007199254740991,"method":"fetchConversations","params":{"x":[{}]}}"#,
        ] {
            let frame = RequestFrame.decode(Array(text.utf8), isBinary: false)
            #expect(frame.id == 9_007_199_254_740_991)
            #expect(try frame.request.get() == .fetchConversations(limit: 100, cursor: nil))
            #expect(frame.takesCached)
        }
    }

    @Test func findsWhetherACachedAnswerIsWanted() {
        for (text, expected) in [
            (#"{"id":1,"method":"fetchConversations","params":{"cached":false}}"#, false),
            (#"{"id":1,"method":"fetchConversations","cached":false}"#, false),
            (
                #"{"id":1,"method":"fetchConversations","params":{"cached":true},"cached":false}"#,
                true
            ),
            (#"{"id":1,"method":"fetchConversations","params":{"cached":null}}"#, true),
        ] {
            let frame = RequestFrame.decode(Array(text.utf8), isBinary: false)
            #expect(frame.takesCached == expected)
        }
    }

    @Test func noBytesMakeItFail() throws {
        let frame = Array(
            #"""
            {"id":7,"method":"subscribeMessages","params":{"conversation":"é","limit":10,
            "have":{"head":{"epoch":"e","seq":9,"rev":12,"mark":"m","floor":1},
            "asOf":12,"runs":[[1,5],[7,9]]}}}
            """#.utf8)
        var requests = 0
        for seed in UInt64(1)...5000 {
            var random = SplitMix64(seed: seed)
            var bytes = frame
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                bytes[at] = Array(#"{}[]",:0129-.eé\u"#.utf8).randomElement(using: &random) ?? 0
            }
            let decoded = RequestFrame.decode(bytes, isBinary: false)
            let isRequest = (try? decoded.request.get()) != nil
            if isRequest { requests += 1 }
            #expect(decoded.id > 0 || !isRequest, "seed \(seed)")
        }
        #expect(requests > 500 && requests < 4500, "\(requests) of 5000 are requests")
    }

    @Test func idsReachTo255Bytes() throws {
        for id in [String(repeating: "x", count: 255), "é", "a b", "\u{A0}", "日本", "a/b?c"] {
            #expect(
                try request("fetchConversation", #"{"conversation":"\#(id)"}"#)
                    == .fetchConversation(id))
        }
    }
}
