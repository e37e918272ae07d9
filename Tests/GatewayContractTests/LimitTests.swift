import TestSupport
import Testing

/// `limits.*` of `protocol.md` 8, each small, on gateways of their own: what passes them is refused
/// by name, or closed with the code of the table in 2.
@Suite struct LimitTests {
    @Suite(
        .gateway([
            "limits.inbound_frame": "4KiB", "limits.message": "1KiB", "limits.reply": "64KiB",
            "limits.subscriptions": "3", "limits.record": "2KiB", "limits.unknown_fields": "4",
        ]))
    struct Sizes {
        @Test func connectNamesTheLimits() throws {
            let client = try ChatTestClient(port: LiveGateway.get().port)
            let limits = try client.connect(user: "alice")["limits"]
            #expect(limits["inbound_frame"] == 4096 && limits["message"] == 1024)
            #expect(limits["reply"] == 65_536 && limits["subscriptions"] == 3)
            #expect(limits["record"] == 2048 && limits["unknown_fields"] == 4)
            #expect(limits["connect_timeout"] == 10_000 && limits["outbox_hard"] == 4_194_304)
        }

        @Test(arguments: [(4096, nil), (4097, 1009), (100_000, 1009)] as [(Int, UInt16?)])
        func aFrameAboveTheLimitCloses(size: Int, code: UInt16?) throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            let request = #"{"id":5,"method":"unsubscribeConversations"}"#
            let padding = [UInt8](repeating: 0x20, count: size - request.utf8.count)
            try exchange.connection.send(WebSocketFrame(.text, Array(request.utf8) + padding))
            if let code {
                #expect(try exchange.connection.waitForClose() == code)
            } else {
                #expect(try exchange.reply()["result"] == [:])
            }
        }

        @Test func aFragmentedMessageAboveTheLimitCloses() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            let piece = [UInt8](repeating: 0x20, count: 2000)
            try exchange.connection.send(WebSocketFrame(.text, piece, isFinal: false))
            try exchange.connection.send(WebSocketFrame(.continuation, piece, isFinal: false))
            try exchange.connection.send(WebSocketFrame(.continuation, piece))
            #expect(try exchange.connection.waitForClose() == 1009)
        }

        @Test func aMessageAboveTheLimitIsTooLarge() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            func send(_ content: JSONValue) throws -> String {
                var params = content
                params["conversation"] = .string(id)
                return try client.code("sendMessage", params)
            }
            let text = JSONValue.string(String(repeating: "ü", count: 512))
            let long = JSONValue.string(String(repeating: "ü", count: 513))
            #expect(try send(["body": text]) == "ok")
            #expect(try send(["body": long]) == "too_large")
            #expect(try send(["body": "b", "metadata": ["m": text]]) == "too_large")
            #expect(try send(["body": "b", "attachment": ["a": text]]) == "too_large")
            #expect(try send(["body": "b", "extra": text]) == "too_large")
            let answer = try gateway.api().http.send(
                "POST", "/v1/conversations/\(id)/messages", json: ["author": "alice", "body": long])
            #expect(answer.status == 413 && answer.json["error"]["code"] == "too_large")
        }

        @Test func editsCantMakeAMessageThatCouldNotBeSent() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            let text = JSONValue.string(String(repeating: "a", count: 600))
            let place: JSONValue = ["conversation": .string(id), "id": "m1"]
            func change(_ method: String, _ fields: JSONValue) throws -> JSONValue {
                var params = place
                for (name, value) in fields.object ?? [:] { params[name] = value }
                return try client.request(method, params)["message"]
            }
            _ = try change("sendMessage", ["body": text])
            let error = #expect(throws: ChatTestClient.RequestFailed.self) {
                try change("editMessage", ["extra": text])
            }
            #expect(error?.code == "too_large" && error?.retry == "never")
            let path = "/v1/conversations/\(id)/messages/m1"
            let answer = try gateway.api().http.send("PATCH", path, json: ["extra": text])
            #expect(answer.status == 413 && answer.json["error"]["code"] == "too_large")
            let many: JSONValue = ["a": 1, "b": 1, "c": 1, "d": 1, "e": nil]
            #expect(try change("editMessage", many)["rev"] == 3)
            let fifth = #expect(throws: ChatTestClient.RequestFailed.self) {
                try change("editMessage", ["e": 1])
            }
            #expect(fifth?.code == "too_large")
            let edited = try change("editMessage", ["a": nil, "e": 1])
            #expect(edited["a"].isNull && edited["e"] == 1 && edited["body"] == text)
        }

        @Test func aRecordAboveTheLimitIsTooLarge() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            let text = JSONValue.string(String(repeating: "a", count: 1500))
            func update(_ fields: JSONValue) throws -> String {
                var params = fields
                params["conversation"] = .string(id)
                return try client.code("updateConversation", params)
            }
            #expect(try update(["title": text]) == "ok")
            #expect(try update(["extra": text]) == "too_large")
            #expect(try update(["metadata": ["m": text]]) == "too_large")
            let answer = try gateway.api().http.send(
                "PUT", "/v1/conversations/\(id)", json: ["extra": text])
            #expect(answer.status == 413 && answer.json["error"]["code"] == "too_large")
            #expect(try update(["title": "short", "extra": text]) == "ok")
        }

        @Test func aReplyAboveTheLimitHoldsFewerMessages() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let body = JSONValue.string(String(repeating: "a", count: 1000))
            try gateway.api().post(
                (0..<300).map { _ in ["author": "alice", "body": body] }, to: id)
            let client = try gateway.client("alice")
            let page = try client.request(
                "fetchMessages", ["conversation": .string(id), "limit": 300])
            let count = page["messages"].seqs.count
            #expect(page.bytes.count <= 65_536 && count >= 20)
            #expect(page["messages"].seqs == (1...300).reversed().prefix(count).map { $0 })
            #expect(page["hasMore"] == ["before": true, "after": false])
            // What a subscription leaves out for its size is fetched by the gap's own ends.
            let answer = try client.request(
                "subscribeMessages",
                [
                    "conversation": .string(id), "limit": 300,
                    "have": ["head": page["head"], "asOf": 2, "runs": [[1, 40]]],
                ])
            #expect(answer.bytes.count <= 65_536)
            #expect(answer["gaps"].array?.isEmpty == false)
            #expect(Shape.subscription.faults(answer) == [])
            let gap = answer["gaps"][0]
            let filled = try client.request(
                "fetchMessages",
                [
                    "conversation": .string(id), "after": gap["after"], "before": gap["before"],
                    "order": "asc", "limit": 1000,
                ])
            #expect(filled["messages"].seqs.first == (gap["after"].int ?? 0) + 1)
        }

        @Test func subscriptionsAreCounted() throws {
            let gateway = try LiveGateway.get()
            let ids = try (0..<4).map { _ in try gateway.conversation(of: ["alice"]) }
            let client = try gateway.client("alice")
            func subscribe(_ id: String) throws -> String {
                try client.code("subscribeMessages", ["conversation": .string(id)])
            }
            for id in ids.prefix(3) { #expect(try subscribe(id) == "ok") }
            #expect(try subscribe(ids[3]) == "too_large")
            // A resync is no further one, and one that ended makes room.
            #expect(try subscribe(ids[0]) == "ok")
            try client.request("unsubscribeMessages", ["conversation": .string(ids[1])])
            #expect(try subscribe(ids[3]) == "ok")
        }
    }

    @Suite(.gateway(["limits.requests_per_second": "5"]))
    struct Rate {
        @Test func aBurstOfTwiceTheRatePassesAndThenItIsLimited() throws {
            let client = try LiveGateway.get().client("alice")
            let ids = try (0..<60).map { _ in try client.send("unsubscribeConversations") }
            var refused: [ChatTestClient.RequestFailed] = []
            for id in ids {
                do {
                    _ = try client.result(of: id)
                } catch let error as ChatTestClient.RequestFailed { refused.append(error) }
            }
            // `connect` was one of the ten; the machine may have taken time enough for a few more.
            #expect(refused.count >= 10 && refused.count <= 51)
            for error in refused {
                #expect(error.code == "rate_limited" && error.retry == "later")
                #expect((1...1000).contains(error.after ?? 0))
            }
            let passes = try Deadline.standard.poll {
                try client.code("unsubscribeConversations") == "ok"
            }
            #expect(passes)
        }

        @Test func theBudgetIsOfTheUserOnAllConnections() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("user")
            let clients = try (0..<2).map { _ in try gateway.client(user) }
            for _ in 0..<60 { try clients[0].send("unsubscribeConversations") }
            let ids = try (0..<60).map { _ in try clients[1].send("unsubscribeConversations") }
            let refused = ids.count { (try? clients[1].result(of: $0)) == nil }
            #expect(refused >= 10)
            let other = LiveGateway.name("user")
            #expect(try gateway.client(other).code("unsubscribeConversations") == "ok")
        }
    }

    @Suite(.gateway(["limits.bytes_per_second": "64KiB"]))
    struct Bytes {
        @Test func whoSendsTooManyIsReadLaterAndRefusedNothing() throws {
            let gateway = try LiveGateway.get()
            let clients = try (0..<2).map { _ in try gateway.client("alice") }
            let padding = JSONValue.string(String(repeating: "a", count: 30_000))
            let start = ContinuousClock.now
            let ids = try (0..<5).map { _ in
                try clients.map { try $0.send("unsubscribeConversations", ["padding": padding]) }
            }
            let other = try gateway.client("bob")
            #expect(try other.code("unsubscribeConversations") == "ok")
            for pair in ids {
                for (client, id) in zip(clients, pair) { _ = try client.result(of: id) }
            }
            // 300,000 bytes, of which one second's were there at once; what is read is charged
            // after it, and of two loops each may read once more.
            #expect(start.duration(to: .now) >= .seconds(1))
        }
    }

    @Suite(
        .gateway([
            "limits.participants": "3", "limits.admins": "2", "limits.conversations_per_user": "2",
        ]))
    struct People {
        @Test func whatWouldPassTheNumbersIsTooLarge() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"], admins: ["alice"])
            let client = try gateway.client("alice")
            func change(_ method: String, _ users: [String]) throws -> String {
                try client.code(method, ["conversation": .string(id), "users": .strings(users)])
            }
            #expect(try change("addParticipants", ["carol", "dave"]) == "too_large")
            #expect(try change("addParticipants", ["carol"]) == "ok")
            #expect(try change("addAdmins", ["bob", "carol"]) == "too_large")
            #expect(try change("addAdmins", ["bob"]) == "ok")
            let path = "/v1/conversations/\(id)"
            let people: JSONValue = ["participants": ["a", "b", "c", "d"]]
            #expect(try gateway.api().http.send("PUT", path, json: people).status == 413)
            #expect(try gateway.api().http.send("PUT", path + "/participants/dave").status == 413)
        }

        @Test func conversationsPerUserChargesWhoCreates() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("maker")
            let client = try gateway.client(user)
            let params: JSONValue = ["participants": ["bob"], "distinct": true]
            // What others put one into, and leave, takes no room.
            let mallory = try gateway.client(LiveGateway.name("mallory"))
            for _ in 0..<2 {
                let made = try mallory.result(
                    of: mallory.send("createConversation", ["participants": .strings([user])]))
                let id = try #require(made["conversation"]["id"].string)
                let left = try mallory.code("leaveConversation", ["conversation": .string(id)])
                #expect(left == "ok")
            }
            #expect(
                try mallory.code("createConversation", ["participants": []]) == "too_large")
            #expect(try client.code("createConversation", params) == "ok")
            #expect(try client.code("createConversation", ["participants": []]) == "ok")
            #expect(try client.code("createConversation", ["participants": []]) == "too_large")
            // What is there is answered; being added is no creation.
            #expect(try client.code("createConversation", params) == "ok")
            _ = try gateway.conversation(of: [user])
            let other = try gateway.client(LiveGateway.name("other"))
            #expect(
                try other.code("createConversation", ["participants": .strings([user])]) == "ok")
        }
    }

    @Suite(.gateway(["limits.connections": "3", "limits.connections_per_user": "2"]), .serialized)
    struct Connections {
        @Test func oneTooManyIsClosedWith3004AndMayComeBackLater() throws {
            let gateway = try LiveGateway.get()
            var clients = try ["alice", "bob", "carol"].map { try gateway.client($0) }
            let extra = try WebSocketConnection(port: gateway.port)
            #expect(try extra.waitForClose() == 3004)
            for client in clients { try client.settle() }
            clients.removeLast()
            let returned = Deadline.standard.poll {
                (try? gateway.client("dave").code("unsubscribeConversations")) == "ok"
            }
            #expect(returned)
        }

        @Test func oneTooManyOfAUserIsClosedWith3004() throws {
            let gateway = try LiveGateway.get()
            var clients: [ChatTestClient] = []
            let isThere = Deadline.standard.poll {
                (try? clients.append(gateway.client("alice"))) != nil && clients.count == 2
            }
            #expect(isThere)
            let third = try WebSocketConnection(port: gateway.port)
            try third.send(text: #"{"id":1,"method":"connect","params":{"user":"alice"}}"#)
            #expect(try third.waitForClose() == 3004)
            for client in clients { try client.settle() }
        }
    }

    @Suite(.gateway(), .serialized)
    struct Defaults {
        @Test func aUserHasAHundredConnectionsAndNoMore() throws {
            let gateway = try LiveGateway.get()
            let swarm = try ClientSwarm(count: 100, port: gateway.port) { _ in "alice" }
            let extra = try WebSocketConnection(port: gateway.port)
            try extra.send(text: #"{"id":1,"method":"connect","params":{"user":"alice"}}"#)
            #expect(try extra.waitForClose() == 3004)
            #expect(try gateway.client("bob").code("unsubscribeConversations") == "ok")
            try swarm.request("unsubscribeConversations") { _ in [:] }
        }
    }

    @Suite(.gateway(["limits.connections_per_address": "2", "fanout.loops": "2"]), .serialized)
    struct Addresses {
        @Test func oneTooManyOfAnAddressIsClosedWith3004AndMayComeBackLater() throws {
            let gateway = try LiveGateway.get()
            var clients = try ["alice", "bob"].map { try gateway.client($0) }
            #expect(try WebSocketConnection(port: gateway.port).waitForClose() == 3004)
            for client in clients { try client.settle() }
            clients.removeLast()
            let returned = Deadline.standard.poll {
                (try? gateway.client("carol").code("unsubscribeConversations")) == "ok"
            }
            #expect(returned)
        }
    }

    @Suite(.gateway(["limits.reply": "1900KiB", "limits.outbox_hard": "2MiB"]))
    struct Outbox {
        @Test func whoAsksForMoreThanItReadsIsAnsweredAsItReadsAndNobodyElseWaits() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let body = JSONValue.string(String(repeating: "a", count: 18_000))
            let message: JSONValue = ["author": "alice", "body": body]
            try gateway.api().post(Array(repeating: message, count: 100), to: id)
            let greedy = try ChatTestClient(port: gateway.port, receiveBuffer: 65_536)
            try greedy.connect(user: "alice")
            let params: JSONValue = ["conversation": .string(id)]
            // Replies are never shed. The kernel takes some megabytes of them, then they wait; and
            // as nobody reads on from a blocked client, all is asked at once.
            try greedy.send("fetchMessages", params, times: 10)
            let other = try gateway.client("alice")
            #expect(try other.code("fetchMessages", params) == "ok")
            for request in 2...11 {
                let messages = try greedy.result(of: request)["messages"].array ?? []
                #expect(messages.count > 90)
            }
            #expect(try other.code("fetchMessages", params) == "ok")
        }
    }

    @Suite(
        .gateway([
            "limits.connect_timeout": "2s", "limits.ping_interval": "1s",
            "limits.pong_timeout": "1s",
        ]))
    struct Times {
        @Test func whoDoesNotSayConnectIsClosedWith3501() throws {
            let port = try LiveGateway.get().port
            #expect(try WebSocketConnection(port: port).waitForClose() == 3501)
            // A frame that is no request is none either.
            let talker = try WebSocketConnection(port: port)
            try talker.send(text: "nonsense")
            #expect(try talker.waitForClose() == 3501)
        }

        @Test func silenceIsBrokenByAPingEvent() throws {
            let client = try ChatTestClient(port: LiveGateway.get().port)
            #expect(try client.connect(user: "alice")["pingInterval"] == 1)
            for _ in 0..<2 { #expect(try client.nextEvent("ping") == ["event": "ping"]) }
            #expect(!client.connection.hasEnded)
        }

        @Test func whoAnswersNoPingIsClosedWith3003() throws {
            let exchange = try FrameExchange(connectedTo: LiveGateway.get().port)
            exchange.connection.answersPings = false
            #expect(try exchange.connection.waitForClose() == 3003)
        }
    }
}
