import TestSupport
import Testing

/// `protocol.md` 3, `fetchMessages`: anchors, directions, orders, what a page proves and what it
/// says of the rest; and the same pages over the server API.
extension DefaultGateway {
    @Suite struct FetchMessagesTests {
        private let count = 25

        /// 25 messages, of which 7 and 25 are deleted and 12 is edited.
        private func log(_ gateway: LiveGateway) throws -> String {
            let id = try gateway.conversation(of: ["alice", "bob"], messages: count)
            let api = gateway.api()
            try api.delete("m7", in: id)
            try api.delete("m25", in: id)
            try api.edit("m12", in: id, ["body": "edited"])
            return id
        }

        @Test func aPageHasItsFieldsAndNoOthers() throws {
            let gateway = try LiveGateway.get()
            let id = try log(gateway)
            let client = try gateway.client("bob")
            let page = try client.request("fetchMessages", ["conversation": .string(id)])
            #expect(Shape.page.faults(page) == [])
            #expect(page["messages"].seqs == (1...count).reversed())
            #expect(page["covers"] == [[1, .int(count)]])
            #expect(page["gaps"] == [])
            #expect(page["hasMore"] == ["before": false, "after": false])
            #expect(page["asOf"] == page["head"]["rev"])
            #expect(page["head"]["seq"] == .int(count) && page["head"]["floor"] == 1)
            #expect(
                page["boundaries"] == [
                    ["newest": ["id": "m25", "seq": 25], "oldest": ["id": "m1", "seq": 1]]
                ])
            for message in page["messages"].array ?? [] {
                let shape = [7, 25].contains(message["seq"]) ? Shape.tombstone : Shape.message
                #expect(shape.faults(message) == [])
            }
        }

        @Test(.disabled(if: GatewayProcess.isMirror))
        func anEmbeddedCacheIsFreshAndAnswersOnce() throws {
            let gateway = try LiveGateway.get()
            let id = try log(gateway)
            let exchange = try FrameExchange(connectedTo: gateway.port)
            for method in [
                "fetchMessages", "fetchConversation", "fetchParticipants", "fetchConversations",
            ] {
                for cached in ["", #","cached":false"#, #","cached":true"#] {
                    let params = #"{"conversation":"\#(id)"\#(cached)}"#
                    let answer = try exchange.ask(
                        #"{"id":5,"method":"\#(method)","params":\#(params)}"#)
                    #expect(answer["id"] == 5 && answer["cached"] == false, "\(method) \(cached)")
                    #expect(answer["result"].object != nil)
                    #expect(try exchange.isUsable())
                }
            }
        }

        @Test func otherMethodsAnswerWithoutTheWordCached() throws {
            let gateway = try LiveGateway.get()
            let id = try log(gateway)
            let exchange = try FrameExchange(connectedTo: gateway.port)
            for method in ["subscribeMessages", "findBoundaries", "unsubscribeMessages"] {
                let answer = try exchange.ask(
                    #"{"id":5,"method":"\#(method)","params":{"conversation":"\#(id)"}}"#)
                #expect(Set(answer.object?.keys.map { $0 } ?? []) == ["id", "result"], "\(method)")
            }
        }

        @Test func everyPageIsThatOfANaiveModel() throws {
            let gateway = try LiveGateway.get()
            let id = try log(gateway)
            let client = try gateway.client("alice")
            let api = gateway.api()
            let seed = UInt64.random(in: 0...UInt64.max)
            var random = SplitMix64(seed: seed)
            for round in 0..<150 {
                let asked = PageModel.Request.random(count: count, using: &random)
                let expected = PageModel.answer(asked, count: count)
                let context = "seed \(seed), round \(round): \(asked)"
                let page = try client.request("fetchMessages", asked.params(conversation: id))
                #expect(page["messages"].seqs == expected.seqs, "\(context)")
                #expect(page["hasMore"]["before"] == .bool(expected.hasMoreBefore), "\(context)")
                #expect(page["hasMore"]["after"] == .bool(expected.hasMoreAfter), "\(context)")
                #expect(page["covers"] == expected.covers, "\(context)")
                #expect(page["boundaries"] == expected.boundaries, "\(context)")
                let same = try api.page(id, asked.query)
                #expect(same["messages"] == page["messages"], "\(context)")
                #expect(same["hasMore"] == page["hasMore"], "\(context)")
                #expect(same["head"] == page["head"], "\(context)")
            }
        }

        @Test func walkingEitherWayMeetsEveryMessageOnce() throws {
            let gateway = try LiveGateway.get()
            let id = try log(gateway)
            let client = try gateway.client("alice")
            for (side, order) in [("before", "desc"), ("after", "asc")] {
                var seqs: [Int] = []
                var anchor: JSONValue = side == "before" ? 26 : 0
                while true {
                    let page = try client.request(
                        "fetchMessages",
                        [
                            "conversation": .string(id), side: anchor, "limit": 4,
                            "order": .string(order),
                        ])
                    seqs += page["messages"].seqs
                    guard page["hasMore"][side] == true, let last = page["messages"].array?.last
                    else { break }
                    anchor = seqs.count % 8 == 0 ? last["seq"] : last["id"]
                }
                #expect(seqs == (side == "before" ? (1...25).reversed() : Array(1...25)))
            }
        }

        @Test func anEmptyConversationHasAnEmptyPage() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            for params: JSONValue in [
                [:], ["before": 1], ["after": 0], ["around": 1], ["before": 9, "after": 0],
                ["after": ["time": "2020-01-01T00:00:00Z"]],
            ] {
                var params = params
                params["conversation"] = .string(id)
                let page = try client.request("fetchMessages", params)
                #expect(Shape.page.faults(page) == [])
                #expect(page["messages"] == [] && page["covers"] == [] && page["gaps"] == [])
                #expect(page["hasMore"] == ["before": false, "after": false])
                #expect(page["boundaries"] == [] && page["head"]["seq"] == 0)
            }
        }

        @Test func anAnchorBeyondTheLogHasItsSides() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 9)
            let client = try gateway.client("alice")
            for (anchor, seqs) in [(12, [7, 8, 9]), (10, [7, 8, 9]), (0, [1, 2, 3])] {
                let page = try client.request(
                    "fetchMessages",
                    [
                        "conversation": .string(id), "around": .int(anchor), "limit": 3,
                        "order": "asc",
                    ])
                #expect(page["messages"].seqs == seqs, "around \(anchor)")
            }
        }

        @Test func aMomentIsAnAnchor() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 5)
            let api = gateway.api()
            let first = try #require(
                try api.page(id, "limit=1")["messages"][0]["createdAt"].string)
            // The clock of messages has milliseconds; the second batch is to be a later one.
            var later = first
            var posted = 5
            while later == first {
                posted += 1
                let message = try api.post(["author": "alice", "body": "later"], to: id)
                later = try #require(message["createdAt"].string)
            }
            let client = try gateway.client("alice")
            func seqs(_ params: JSONValue) throws -> [Int] {
                var params = params
                params["conversation"] = .string(id)
                params["order"] = "asc"
                return try client.request("fetchMessages", params)["messages"].seqs
            }
            let moment: JSONValue = ["time": .string(later)]
            #expect(try seqs(["before": moment]) == Array(1..<posted))
            #expect(try seqs(["around": moment, "limit": 2]).contains(posted))
            let old: JSONValue = ["time": "2001-02-03T04:05:06+07:00"]
            #expect(try seqs(["after": old]) == Array(1...posted))
            #expect(try seqs(["before": old]) == [])
            let future: JSONValue = ["time": "2999-01-01T00:00:00Z"]
            #expect(try seqs(["before": future]) == Array(1...posted))
            #expect(try seqs(["after": future]) == [])
        }

        @Test(arguments: ["before", "after", "around"])
        func anUnknownIdAsAnchorIsNotFound(side: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let other = try gateway.conversation(of: ["alice"])
            try gateway.api().post(["id": "elsewhere", "author": "alice", "body": "b"], to: other)
            let client = try gateway.client("alice")
            for anchor in ["nowhere", "elsewhere"] {
                let code = try client.code(
                    "fetchMessages", ["conversation": .string(id), side: .string(anchor)])
                #expect(code == "not_found")
            }
        }
    }
}
