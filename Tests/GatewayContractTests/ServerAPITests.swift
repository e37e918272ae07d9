import TestSupport
import Testing

/// `protocol.md` 7, the server API's conversations, participants and users: each call with its
/// status, the exact fields of its answer, and what it does.
extension DefaultGateway {
    @Suite struct ServerAPITests {
        /// The status of the answer, and its body.
        private func call(
            _ api: ServerAPI, _ method: String, _ path: String, _ body: JSONValue? = nil
        ) throws -> (status: Int, json: JSONValue) {
            let response =
                if let body {
                    try api.http.send(method, path, json: body)
                } else {
                    try api.http.send(method, path)
                }
            #expect(response.headers["content-type"]?.hasPrefix("application/json") == true)
            return (response.status, response.json)
        }

        @Test func aHeadThatIsAskedForTwiceIsAnsweredOnce() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let answer = try gateway.api().http.send(
                "POST", "/v1/heads", json: ["ids": [.string(id), "none", .string(id), "none"]])
            #expect(answer.status == 200)
            #expect(answer.text.ranges(of: "\"\(id)\"").count == 1)
            #expect(answer.text.ranges(of: "\"none\"").count == 1)
        }

        @Test func putCreatesAndThenChangesWhatIsGiven() throws {
            let api = try LiveGateway.get().api()
            let path = "/v1/conversations/" + LiveGateway.name("c")
            let made = try call(
                api, "PUT", path,
                [
                    "title": "Ops", "participants": ["alice", "bob"], "admins": ["alice"],
                    "metadata": ["k": 1], "color": "red",
                ])
            #expect(made.status == 201)
            #expect(Set((made.json.object ?? [:]).keys) == ["conversation"])
            let conversation = made.json["conversation"]
            let shape = Shape.plainConversation.with(["color": .exactly("red")])
            #expect(shape.faults(conversation) == [])
            #expect(conversation["participants"] == ["alice", "bob"])
            #expect(conversation["admins"] == ["alice"] && conversation["rev"] == 1)
            let same = try call(api, "PUT", path, ["title": "Ops"])
            #expect(same.status == 200 && same.json == made.json)
            let changed = try call(
                api, "PUT", path, ["participants": ["carol", "bob"], "admins": [], "title": nil])
            #expect(changed.status == 200)
            let after = changed.json["conversation"]
            #expect(shape.faults(after) == [])
            #expect(Set(after["participants"].array ?? []) == ["bob", "carol"])
            #expect(after["admins"] == [] && after["title"] == .null && after["rev"] == 2)
            #expect(after["metadata"] == ["k": 1])
            let read = try call(api, "GET", path)
            #expect(read.status == 200 && read.json == changed.json)
        }

        @Test func putWithoutABodyCreatesAnEmptyConversation() throws {
            let api = try LiveGateway.get().api()
            let made = try call(api, "PUT", "/v1/conversations/" + LiveGateway.name("c"))
            #expect(made.status == 201)
            #expect(Shape.plainConversation.faults(made.json["conversation"]) == [])
            #expect(made.json["conversation"]["participantCount"] == 0)
        }

        @Test func anIdIsPercentEncodedInThePath() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = LiveGateway.name("a/b c%?#ü")
            let path = "/v1/conversations/\(ServerAPI.escaped(id))"
            let made = try call(api, "PUT", path, ["participants": ["al/ice"]])
            #expect(made.status == 201 && made.json["conversation"]["id"] == .string(id))
            let posted = try call(
                api, "POST", path + "/messages", ["id": "m/1", "author": "al/ice", "body": "b"])
            #expect(posted.status == 201)
            let read = try call(api, "GET", path + "/messages/m%2F1")
            #expect(read.status == 200 && read.json["message"] == posted.json["message"])
            #expect(try call(api, "DELETE", path + "/participants/al%2Fice").status == 200)
            let client = try gateway.client("al/ice")
            #expect(try client.code("fetchMessages", ["conversation": .string(id)]) == "not_found")
        }

        @Test func participantsArePutAndDeleted() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"])
            let path = "/v1/conversations/\(id)/participants"
            let put = try call(
                api, "PUT", "\(path)/bob", ["name": "Bob", "metadata": ["m": 1], "badge": 7])
            #expect([200, 201].contains(put.status))
            #expect(put.json["conversation"]["participants"] == ["alice", "bob"])
            let again = try call(api, "PUT", "\(path)/bob")
            #expect(again.status == 200 && again.json["conversation"]["rev"] == 2)
            let list = try call(api, "GET", path)
            #expect(
                list.status == 200
                    && Shape.participantList.with(
                        ["participants": .any]).faults(list.json) == []
            )
            let bob = list.json["participants"][0]
            let shape = Shape.participant.with([
                "name": .exactly("Bob"), "metadata": .exactly(["m": 1]), "badge": .exactly(7),
            ])
            #expect(shape.faults(bob) == [])
            #expect(Shape.participant.faults(list.json["participants"][1]) == [])
            let part = try call(
                api, "GET", path + "?limit=1&offset=1&order=asc&order_by=created_at")
            #expect(part.json["participants"].column("id") == ["bob"])
            #expect(part.json["total"] == 2 && part.json["limit"] == 1 && part.json["offset"] == 1)
            let all = try call(api, "GET", path + "?limit=0&offset=1")
            #expect(all.json["participants"].column("id") == ["bob", "alice"])
            let gone = try call(api, "DELETE", "\(path)/bob")
            #expect(gone.status == 200)
            #expect(gone.json["conversation"]["participants"] == ["alice"])
        }

        @Test func theListOfAUserIsReadInParts() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let user = LiveGateway.name("us er")
            let ids = try (0..<5).map { _ in try gateway.conversation(of: [user]) }
            let query = "/v1/conversations?user=\(ServerAPI.escaped(user))"
            let whole = try call(api, "GET", query)
            #expect(whole.status == 200)
            #expect(Shape.conversationList.faults(whole.json) == [])
            #expect(Set(whole.json["conversations"].column("id").compactMap(\.string)) == Set(ids))
            var seen: [JSONValue] = []
            var cursor = ""
            repeat {
                let part = try call(api, "GET", query + "&limit=2" + cursor)
                seen += part.json["conversations"].column("id")
                cursor = part.json["next"].string.map { "&cursor=\(ServerAPI.escaped($0))" } ?? ""
            } while !cursor.isEmpty
            #expect(seen == whole.json["conversations"].column("id"))
            let nobody = try call(api, "GET", "/v1/conversations?user=nobody-at-all")
            #expect(nobody.json == ["conversations": [], "total": 0])
        }

        @Test func deleteRemovesTheConversation() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let path = "/v1/conversations/" + (try gateway.conversation(of: ["alice"], messages: 2))
            #expect(try call(api, "DELETE", path).status == 200)
            for (method, suffix) in [
                ("GET", ""), ("DELETE", ""), ("GET", "/messages"), ("GET", "/changes"),
                ("GET", "/participants"), ("GET", "/boundaries"), ("GET", "/messages/m1"),
                ("DELETE", "/messages/m1"), ("DELETE", "/participants/alice"),
            ] {
                let answer = try call(api, method, path + suffix)
                #expect(answer.status == 404, "\(method) \(suffix)")
                #expect(Shape.error.faults(answer.json["error"]) == [])
                #expect(answer.json["error"]["code"] == "not_found")
            }
        }

        @Test func boundariesAndGapsAreWhatTheCacheHolds() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"], messages: 4)
            func boundaries() throws -> (status: Int, json: JSONValue) {
                try call(api, "GET", "/v1/conversations/\(id)/boundaries")
            }
            if GatewayProcess.isMirror {
                // Nobody has looked at it yet.
                #expect(try boundaries().json["boundaries"] == [])
                #expect(try boundaries().json["gaps"][0]["missing"] == 4)
                try gateway.client("alice").request(
                    "fetchMessages", ["conversation": .string(id)])
            }
            let held = try boundaries()
            #expect(held.status == 200)
            #expect(
                held.json["boundaries"] == [
                    ["newest": ["id": "m4", "seq": 4], "oldest": ["id": "m1", "seq": 1]]
                ])
            let gaps = try call(api, "GET", "/v1/gaps")
            #expect(gaps.status == 200 && gaps.json["gaps"] == [])
        }

        @Test(
            arguments: [
                (nil, 3502), ([:], 3502), (["reconnect": false], 3502), (["reconnect": nil], 3502),
                (["reconnect": true], 3000),
            ] as [(JSONValue?, UInt16)])
        func disconnectClosesThatUsersConnections(body: JSONValue?, code: UInt16) throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("us/er")
            let clients = try (0..<2).map { _ in try gateway.client(user) }
            let other = try gateway.client("bystander")
            let path = "/v1/users/\(ServerAPI.escaped(user))/disconnect"
            let answer = try call(gateway.api(), "POST", path, body)
            #expect(answer.status == 200)
            for client in clients {
                let isClosed = try client.wait { $0.connection.hasEnded }
                #expect(isClosed && client.connection.closeCode == code)
                // 3000 is announced by an event that says when to come back.
                #expect(client.events("goaway").count == (code == 3000 ? 1 : 0))
                for event in client.events { #expect(Shape.goawayEvent.faults(event) == []) }
            }
            try other.settle()
            #expect(try call(gateway.api(), "POST", path, body).status == 200)
            #expect(try gateway.client(user).code("unsubscribeConversations") == "ok")
        }

        @Test(arguments: ["/v1/conversations?user=a", "/v1/gaps"])
        func headIsGetWithoutABody(path: String) throws {
            let api = try LiveGateway.get().api()
            let head = try api.http.send("HEAD", path)
            let get = try api.http.send("GET", path)
            #expect(head.status == 200 && head.body.isEmpty && !get.body.isEmpty)
            #expect(head.headers["content-length"] == get.headers["content-length"])
        }

        @Test func theKeyComesInEitherHeader() throws {
            let http = try LiveGateway.get().http()
            let key = GatewayProcess.apiKey
            for (headers, status) in [
                ([:], 401), (["Authorization": "Bearer \(key)"], 200),
                (["authorization": "bearer \(key)"], 200), (["X-API-Key": key], 200),
                (["x-api-key": key], 200), (["Authorization": "Bearer wrong"], 401),
                (["Authorization": key], 401), (["Authorization": "Basic \(key)"], 401),
                (["X-API-Key": "\(key)x"], 401), (["X-API-Key": String(key.dropLast())], 401),
                (["X-API-Key": ""], 401),
            ] as [([String: String], Int)] {
                let response = try http.send("GET", "/v1/gaps", headers: headers)
                #expect(response.status == status, "\(headers)")
                guard status == 401 else { continue }
                #expect(Shape.error.faults(response.json["error"]) == [])
                #expect(response.json["error"]["code"] == "unauthorized")
                #expect(!response.text.contains(key))
            }
        }
    }
}
