import TestSupport
import Testing

/// `protocol.md` 5: each event, to whom it goes, with its fields and no others.
extension DefaultGateway {
    @Suite struct EventTests {
        /// A conversation of alice and bob, both subscribed.
        private func pair(
            _ gateway: LiveGateway, messages: Int = 0, admins: [String] = []
        ) throws -> (id: String, alice: ChatTestClient, bob: ChatTestClient) {
            let id = try gateway.conversation(
                of: ["alice", "bob"], admins: admins, messages: messages)
            let (alice, bob) = (try gateway.client("alice"), try gateway.client("bob"))
            try alice.subscribe(id)
            try bob.subscribe(id)
            return (id, alice, bob)
        }

        @Test func everyChangeOfAMessageIsADelta() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway)
            var rev = 1
            func check(_ result: JSONValue, _ type: String) throws {
                for client in [alice, bob] {
                    let event = try client.nextEvent("messages")
                    #expect(Shape.messagesEvent.faults(event) == [])
                    #expect(event["conversation"] == .string(id))
                    #expect(
                        event["deltas"] == [
                            ["type": .string(type), "via": "live", "message": result["message"]]
                        ])
                    #expect(event["covers"] == [[1, 1]])
                    #expect(event["prev"] == .int(rev) && event["asOf"] == .int(rev + 1))
                    #expect(event["head"]["rev"] == .int(rev + 1) && event["head"]["seq"] == 1)
                }
                rev += 1
            }
            let message: JSONValue = ["conversation": .string(id), "id": "x"]
            var params = message
            params["body"] = "one"
            try check(alice.request("sendMessage", params), "inserted")
            params["body"] = "two"
            try check(alice.request("editMessage", params), "updated")
            try check(alice.request("deleteMessage", message), "deleted")
        }

        @Test func anArrayOfMessagesIsAsManyChanges() throws {
            let gateway = try LiveGateway.get()
            let (id, _, bob) = try pair(gateway)
            try gateway.api().post(
                (0..<10).map { ["author": "alice", "body": .int($0).text] }, to: id)
            var seqs: [Int] = []
            var position: JSONValue = 1
            while seqs.count < 10 {
                let event = try bob.nextEvent("messages")
                #expect(event["prev"] == position)
                position = event["asOf"]
                seqs += event["deltas"].column("message").compactMap { $0["seq"].int }
            }
            #expect(seqs == Array(1...10) && position == 11)
        }

        @Test func aChangeOfTheRecordIsAConversationEvent() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway, messages: 1)
            let result = try alice.request(
                "updateConversation",
                ["conversation": .string(id), "title": "Ops", "metadata": ["k": 1]])
            let event = try bob.nextEvent("conversation")
            #expect(Shape.conversationEvent.faults(event) == [])
            let record = event["conversation"]
            #expect(record["title"] == "Ops" && record["metadata"] == ["k": 1])
            #expect(record["rev"] == 3 && event["prev"] == 2 && event["asOf"] == 3)
            #expect(event["head"] == result["conversation"]["head"])
            #expect(record["updatedAt"] == result["conversation"]["updatedAt"])
        }

        @Test func typingGoesToSubscribersAndIsStoredNowhere() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway)
            let head = alice.holder(id).head
            for state in ["begin", "pause", "finished"] {
                let params: JSONValue = ["conversation": .string(id), "state": .string(state)]
                #expect(try alice.request("typing", params) == [:])
                let event = try bob.nextEvent("typing")
                #expect(Shape.typingEvent.faults(event) == [])
                #expect(event["user"] == "alice" && event["state"] == .string(state))
            }
            let late = try gateway.client("bob").subscribe(id)
            #expect(late["head"] == head)
        }

        @Test func aReadMarkerThatMovesIsAReadEvent() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway, messages: 5)
            let result = try bob.request("markRead", ["conversation": .string(id), "seq": 3])
            #expect(Shape.readState.faults(result) == [])
            let event = try alice.nextEvent("read")
            #expect(Shape.readEvent.faults(event) == [])
            #expect(event["conversation"] == .string(id))
            #expect(event["user"] == "bob" && event["seq"] == 3)
            // Back, or to where it is, is no move.
            for seq in [3, 1] {
                let same = try bob.request(
                    "markRead", ["conversation": .string(id), "seq": .int(seq)])
                #expect(same["lastReadSeq"] == 3)
            }
            try alice.settle()
            #expect(alice.events("read").isEmpty)
        }

        @Test func whoIsRemovedOrLeavesIsUnsubscribed() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway, admins: ["alice"])
            try alice.request(
                "removeParticipants", ["conversation": .string(id), "users": ["bob"]])
            let event = try bob.nextEvent("unsubscribed")
            #expect(Shape.unsubscribedEvent.faults(event) == [])
            #expect(event["conversation"] == .string(id) && event["reason"] == "removed")
            let seen = try alice.nextEvent("conversation")["conversation"]
            #expect(seen["participantCount"] == 1)
            try alice.request("sendMessage", ["conversation": .string(id), "body": "b"])
            try bob.settle()
            #expect(bob.events.allSatisfy { $0["event"] == "unsubscribed" } && bob.events.isEmpty)
            try alice.request("leaveConversation", ["conversation": .string(id)])
            #expect(try alice.nextEvent("unsubscribed")["reason"] == "removed")
        }

        @Test func aDeletedConversationUnsubscribesAll() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway, admins: ["alice"])
            #expect(try alice.request("deleteConversation", ["conversation": .string(id)]) == [:])
            for client in [alice, bob] {
                let event = try client.nextEvent("unsubscribed")
                #expect(Shape.unsubscribedEvent.faults(event) == [])
                #expect(event["conversation"] == .string(id) && event["reason"] == "deleted")
            }
        }

        @Test func whoOnlyFetchesGetsNoEvents() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway)
            let carol = try gateway.client("bob")
            try carol.request("fetchMessages", ["conversation": .string(id)])
            try alice.request("sendMessage", ["conversation": .string(id), "body": "b"])
            _ = try bob.nextEvent("messages")
            try carol.settle()
            #expect(carol.events.isEmpty)
        }

        @Test func anEventNeverListsTheParticipants() throws {
            let gateway = try LiveGateway.get()
            let (id, alice, bob) = try pair(gateway)
            try bob.request("subscribeConversations")
            try alice.request("addParticipants", ["conversation": .string(id), "users": ["carol"]])
            let record = try bob.nextEvent("conversation")["conversation"]
            #expect(record["participants"] == .null && record["participantCount"] == 3)
            let event = try bob.nextEvent("conversations") {
                $0["deltas"][0]["conversation"]["id"] == .string(id)
            }
            let listed = event["deltas"][0]["conversation"]
            #expect(listed["participants"] == .null && listed["participantCount"] == 3)
        }
    }
}

extension JSONValue {
    /// A number as a string.
    fileprivate var text: JSONValue { .string("\(self)") }
}
