import TestSupport
import Testing

/// `protocol.md` 4: what `subscribeMessages` answers to a client that holds nothing, something, or
/// something that was never so; and that events continue exactly from there.
extension DefaultGateway {
    @Suite struct SubscribeTests {
        private func have(
            _ head: JSONValue, asOf: Int? = nil, _ runs: JSONValue
        ) -> JSONValue {
            ["head": head, "asOf": asOf.map { .int($0) } ?? head["rev"], "runs": runs]
        }

        private func gaps(_ answer: JSONValue) -> [JSONValue] {
            (answer["gaps"].array ?? []).map { [$0["after"], $0["before"], $0["cause"]] }
        }

        /// Waits until this gateway has so many changes of the log: with an origin elsewhere its
        /// feed may tell of a write a moment after that was answered.
        private func follow(_ client: ChatTestClient, _ id: String, to rev: Int?) throws {
            let isThere = try Deadline.standard.poll {
                let page = try client.request(
                    "fetchMessages", ["conversation": .string(id), "limit": 1])
                return page["head"]["rev"].int == rev && page["asOf"].int == rev
            }
            #expect(isThere)
        }

        @Test func withoutHaveItBeginsWithTheLatest() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], messages: 120)
            let client = try gateway.client("bob")
            for (limit, low) in [(nil, 21), (1, 120), (7, 114), (1000, 1)] as [(Int?, Int)] {
                var params: JSONValue = ["conversation": .string(id)]
                if let limit { params["limit"] = .int(limit) }
                let answer = try client.request("subscribeMessages", params)
                #expect(Shape.subscription.faults(answer) == [])
                let deltas = answer["deltas"]
                #expect(
                    deltas.column("message").compactMap { $0["seq"].int }
                        == (low...120).reversed())
                #expect(Set(deltas.column("type")) == ["inserted"])
                #expect(answer["covers"] == [[.int(low), 120]])
                // What is older is not a gap.
                #expect(answer["gaps"] == [] && answer["open"] == .null && answer["reset"] == .null)
                #expect(answer["asOf"] == 121 && answer["head"]["rev"] == 121)
                #expect(
                    answer["boundaries"] == [
                        [
                            "newest": ["id": "m120", "seq": 120],
                            "oldest": ["id": .string("m\(low)"), "seq": .int(low)],
                        ]
                    ])
                #expect(answer["conversation"]["participants"] == ["alice", "bob"])
            }
        }

        @Test func anEmptyConversationIsEmpty() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let answer = try gateway.client("alice").subscribe(id)
            #expect(Shape.subscription.faults(answer) == [])
            #expect(answer["deltas"] == [] && answer["covers"] == [] && answer["gaps"] == [])
            #expect(answer["boundaries"] == [] && answer["head"]["seq"] == 0)
        }

        @Test func withHaveChangesComeFirstAndThenWhatIsAbove() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 20)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            let api = gateway.api()
            try api.edit("m3", in: id, ["body": "edited"])
            try api.delete("m9", in: id)
            try api.edit("m15", in: id, ["body": "not held"])
            try api.post(
                [["author": "alice", "body": "21"], ["author": "alice", "body": "22"]], to: id)
            try follow(client, id, to: head["rev"].int.map { $0 + 5 })
            let answer = try client.request(
                "subscribeMessages",
                ["conversation": .string(id), "have": have(head, [[2, 5], [8, 10]])])
            #expect(Shape.subscription.faults(answer) == [])
            let deltas = answer["deltas"].array ?? []
            #expect(
                deltas.compactMap { $0["message"]["seq"].int }
                    == [9, 3] + (11...22).reversed())
            #expect(deltas.prefix(2).map { $0["type"] } == ["deleted", "updated"])
            #expect(Set(deltas.dropFirst(2).map { $0["type"] }) == ["inserted"])
            #expect(Shape.tombstone.faults(deltas[0]["message"]) == [])
            // The hole that the client had is named, not filled; what lies below its oldest run is
            // not spoken of.
            #expect(gaps(answer) == [[5, 8, "cold"]])
            #expect(answer["gaps"][0]["missing"] == 2)
            #expect(
                answer["boundaries"].column("newest").compactMap { $0["seq"].int } == [22, 5])
            #expect(
                answer["boundaries"].column("oldest").compactMap { $0["seq"].int } == [8, 2])
            #expect(answer["asOf"] == answer["head"]["rev"])
        }

        @Test func whatDoesNotFitIsAGap() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 20)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            let api = gateway.api()
            for number in [2, 4, 6] { try api.edit("m\(number)", in: id, ["body": "edited"]) }
            try follow(client, id, to: head["rev"].int.map { $0 + 3 })
            let params: JSONValue = [
                "conversation": .string(id), "have": have(head, [[1, 10]]), "limit": 2,
            ]
            let few = try client.request("subscribeMessages", params)
            #expect(few["deltas"].column("message").compactMap { $0["seq"].int } == [6, 4])
            #expect(gaps(few) == [[1, 3, "limit"], [10, 21, "limit"]])
            var wider = params
            wider["limit"] = 5
            let more = try client.request("subscribeMessages", wider)
            #expect(
                more["deltas"].column("message").compactMap { $0["seq"].int } == [6, 4, 2, 20, 19])
            #expect(gaps(more) == [[10, 19, "limit"]])
        }

        @Test func gapsOfALimitAreJoinedToSixteen() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 100)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            let api = gateway.api()
            for number in stride(from: 2, through: 80, by: 2) {
                try api.edit("m\(number)", in: id, ["body": "edited"])
            }
            try follow(client, id, to: head["rev"].int.map { $0 + 40 })
            let answer = try client.request(
                "subscribeMessages",
                ["conversation": .string(id), "have": have(head, [[1, 100]]), "limit": 1])
            let gaps = answer["gaps"].array ?? []
            #expect(gaps.count <= 16 && gaps.allSatisfy { $0["cause"] == "limit" })
            // A cache may lack the value of some, and join more than it must.
            #expect(gaps.count == 16 || GatewayProcess.isMirror)
            let covered = Set(
                gaps.flatMap { gap -> [Int] in
                    Array(((gap["after"].int ?? 0) + 1)..<(gap["before"].int ?? 0))
                })
            // Every outdated place is in one; 80 came.
            #expect(Set(stride(from: 2, to: 80, by: 2)).isSubset(of: covered))
        }

        @Test func aHaveThatTheLogDoesNotConfirmIsReset() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 10)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            var otherEpoch = head
            otherEpoch["epoch"] = "another"
            var above = head
            above["rev"] = 99
            var otherMark = head
            otherMark["mark"] = "another"
            for wrong in [otherEpoch, above, otherMark] {
                let answer = try client.request(
                    "subscribeMessages",
                    [
                        "conversation": .string(id), "have": have(wrong, asOf: 5, [[1, 4]]),
                        "limit": 3,
                    ])
                #expect(Shape.subscription.faults(answer) == [])
                #expect(answer["reset"] == true && answer["gaps"] == [])
                #expect(answer["covers"] == [[8, 10]] && answer["head"] == head)
                #expect(Set(answer["deltas"].column("type")) == ["inserted"])
            }
            let right = try client.request(
                "subscribeMessages", ["conversation": .string(id), "have": have(head, [[1, 10]])])
            #expect(right["reset"] == .null && right["deltas"] == [])
        }

        @Test(arguments: [1, 1000, 1001])
        func aThousandRunsAreTaken(count: Int) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 10)
            let client = try gateway.client("alice")
            let head = try client.request("fetchMessages", ["conversation": .string(id)])["head"]
            let runs = (0..<count).map { number -> JSONValue in
                [.int(number * 2 + 1), .int(number * 2 + 1)]
            }
            let params: JSONValue = ["conversation": .string(id), "have": have(head, .array(runs))]
            for method in ["subscribeMessages", "findBoundaries"] {
                let code = try client.code(method, params)
                #expect(code == (count > 1000 ? "too_large" : "ok"), "\(method)")
            }
            #expect(try client.code("unsubscribeConversations") == "ok")
        }

        @Test func eventsContinueFromTheAnswerAndAResyncIsAtomic() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let client = try gateway.client("alice")
            var position = try client.subscribe(id)["asOf"]
            let api = gateway.api()
            for number in 4...6 {
                try api.post(["author": "alice", "body": "b"], to: id)
                let event = try client.nextEvent("messages")
                #expect(
                    event["prev"] == position && event["covers"] == [[.int(number), .int(number)]])
                position = event["asOf"]
            }
            let resync = try client.subscribe(id)
            #expect(resync["asOf"] == position && resync["deltas"] == [] && resync["gaps"] == [])
            try api.post(["author": "alice", "body": "b"], to: id)
            #expect(try client.nextEvent("messages")["prev"] == position)
            #expect(client.holder(id).messages.count == 7)
        }

        @Test func unsubscribingEndsTheEventsAndMayBeRepeated() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            try client.subscribe(id)
            for _ in 0..<2 {
                let params: JSONValue = ["conversation": .string(id)]
                #expect(try client.request("unsubscribeMessages", params) == [:])
            }
            try gateway.api().post(["author": "alice", "body": "b"], to: id)
            try client.settle()
            #expect(client.events("messages").isEmpty)
        }

        @Test func boundariesAreOfTheHaveOrOfTheCache() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 10)
            let client = try gateway.client("alice")
            // A cache holds what was asked for.
            try client.request("fetchMessages", ["conversation": .string(id)])
            let whole = try client.request("findBoundaries", ["conversation": .string(id)])
            #expect(Shape.boundaries.faults(whole) == [])
            #expect(
                whole["boundaries"] == [
                    ["newest": ["id": "m10", "seq": 10], "oldest": ["id": "m1", "seq": 1]]
                ])
            #expect(whole["gaps"] == [])
            let part = try client.request(
                "findBoundaries",
                [
                    "conversation": .string(id),
                    "have": have(whole["head"], [[1, 2], [5, 5], [7, 8]]),
                ])
            #expect(Shape.boundaries.faults(part) == [])
            #expect(
                part["boundaries"].column("newest").compactMap { $0["id"].string }
                    == ["m8", "m5", "m2"])
            #expect(
                part["boundaries"].column("oldest").compactMap { $0["id"].string }
                    == ["m7", "m5", "m1"])
            let gaps = part["gaps"].array ?? []
            #expect(
                gaps.map { [$0["after"], $0["before"], $0["missing"]] as JSONValue }
                    == [[2, 5, 2], [5, 7, 1], [8, 11, 2]])
        }

        @Test func aConversationDeletedAndCreatedAgainIsAnotherLog() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 5)
            let client = try gateway.client("alice")
            let old = try client.subscribe(id)["head"]
            let api = gateway.api()
            try api.deleteConversation(id)
            #expect(try client.nextEvent("unsubscribed")["reason"] == "deleted")
            try api.call("PUT", "/v1/conversations/\(id)", ["participants": ["alice"]])
            try api.call(
                "POST", "/v1/conversations/\(id)/messages", ["author": "alice", "body": "new"])
            let answer = try client.request(
                "subscribeMessages", ["conversation": .string(id), "have": have(old, [[1, 5]])])
            #expect(answer["reset"] == true && answer["covers"] == [[1, 1]])
            #expect(answer["head"]["epoch"] != old["epoch"])
        }
    }
}
