import Foundation
import TestSupport
import Testing

/// `protocol.md` 7, the server API's messages: single ones and arrays, changes and heads, as a
/// backend writes and another gateway reads them.
extension DefaultGateway {
    @Suite struct ServerMessageTests {
        private func send(
            _ api: ServerAPI, _ method: String, _ path: String, _ body: JSONValue
        ) throws -> (status: Int, json: JSONValue) {
            let response = try api.http.send(method, path, json: body)
            return (response.status, response.json)
        }

        private func path(_ id: String) -> String { "/v1/conversations/\(id)/messages" }

        @Test func aMessageIsCreatedOnce() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"])
            let message: JSONValue = [
                "id": "x", "author": "no participant", "body": "hi", "metadata": ["a": 1],
                "attachment": ["url": "u"], "extra": [1],
            ]
            let first = try send(api, "POST", path(id), message)
            #expect(
                first.status == 201 && Set((first.json.object ?? [:]).keys) == ["message", "head"])
            let stored = first.json["message"]
            #expect(Shape.message.with(["extra": .exactly([1])]).faults(stored) == [])
            #expect(stored["seq"] == 1 && stored["author"] == "no participant")
            let again = try send(api, "POST", path(id), message)
            #expect(again.status == 200 && again.json == first.json)
            for (name, value) in [
                ("body", "other"), ("author", "somebody"), ("metadata", ["a": 2]), ("extra", [2]),
            ] as [(String, JSONValue)] {
                var other = message
                other[name] = value
                let refused = try send(api, "POST", path(id), other)
                #expect(refused.status == 409, "\(name)")
                #expect(Shape.error.faults(refused.json["error"]) == [])
                #expect(refused.json["error"]["code"] == "conflict")
            }
            let edited = try send(api, "PATCH", path(id) + "/x", ["body": "edited"])
            #expect(edited.status == 200 && edited.json["message"]["body"] == "edited")
            #expect(edited.json["message"]["rev"] == 3)
            let now = try send(api, "POST", path(id), message)
            #expect(now.status == 200 && now.json == edited.json)
            let deleted = try send(api, "DELETE", path(id) + "/x", [:])
            #expect(deleted.status == 200)
            #expect(Shape.tombstone.faults(deleted.json["message"]) == [])
            let read = try api.call("GET", path(id) + "/x")
            #expect(read["message"] == deleted.json["message"])
            #expect(try send(api, "PATCH", path(id) + "/x", ["body": "b"]).status == 409)
        }

        @Test func anArrayIsWrittenWholeOrNotAtAll() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"])
            let many = (1...1000).map { number -> JSONValue in
                ["id": .string("m\(number)"), "author": "alice", "body": .string("text \(number)")]
            }
            let written = try send(api, "POST", path(id), .array(many))
            #expect(written.status == 201)
            #expect(Set((written.json.object ?? [:]).keys) == ["messages", "head"])
            #expect(written.json["messages"].seqs == Array(1...1000))
            #expect(written.json["messages"].column("rev").compactMap(\.int) == Array(2...1001))
            // One taken id, one bad message, one too many: nothing of it is there.
            let taken: JSONValue = ["id": "m7", "author": "alice", "body": "other"]
            let bad: JSONValue = ["author": 7, "body": "b"]
            let good: JSONValue = ["id": "new", "author": "alice", "body": "b"]
            let rows: [(JSONValue, Int)] = [
                ([good, taken], 409), ([taken, good], 409), ([good, bad], 400),
                ([good, ["author": "alice"]], 400), ([good, 7], 400),
                (.array(Array(repeating: good, count: 1001)), 413),
                (
                    [
                        good,
                        [
                            "author": "alice",
                            "body": .string(String(repeating: "a", count: 40_000)),
                        ],
                    ],
                    413
                ),
            ]
            for (body, status) in rows {
                let answer = try send(api, "POST", path(id), body)
                #expect(answer.status == status && Shape.error.faults(answer.json["error"]) == [])
            }
            #expect(try api.http.send("GET", path(id) + "/new").status == 404)
            #expect(try api.conversation(id)["head"]["rev"] == 1001)
            // What was there already is given back as it is.
            let mixed = try send(api, "POST", path(id), [many[0], good, good])
            #expect(mixed.json["messages"].seqs == [1, 1001, 1001])
            #expect([200, 201].contains(mixed.status))
        }

        @Test func anArrayOfLargeMessagesIsTakenFromTheHolderOfAKey() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let largest: JSONValue = [
                "author": "alice", "body": .string(String(repeating: "a", count: 32_768)),
            ]
            let body = JSONValue.array(Array(repeating: largest, count: 150)).bytes
            let written = try gateway.api().http.send("POST", path(id), body: body)
            #expect(written.status == 201 && written.json["messages"].seqs == Array(1...150))
            // Without a key nobody makes the gateway hold as much.
            let head = "POST \(path(id)) HTTP/1.1\r\nHost: a"
            let refused = try HTTPConnection.raw(
                port: gateway.port,
                Array("\(head)\r\nContent-Length: \(body.count)\r\n\r\n".utf8), deadline: .standard)
            #expect(refused.starts(with: Array("HTTP/1.1 401 ".utf8)))
        }

        @Test func changesAreReadToTheirEndInAnySteps() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"], messages: 12)
            try api.edit("m3", in: id, ["body": "edited"])
            try api.put(id, ["title": "T"])
            try api.delete("m8", in: id)
            let head = try api.conversation(id)["head"]
            #expect(head["rev"] == 16)
            let shape = Shape(
                [
                    "messages": .array(.shape(Shape.anyMessage)), "head": .shape(Shape.head),
                    "upTo": .integer(from: 0), "more": .bool,
                ], optional: ["conversation": .shape(Shape.record)])
            for limit in [1, 2, 5, 100] {
                var revs: [Int] = []
                var since = 0
                while true {
                    let answer = try api.call(
                        "GET", "/v1/conversations/\(id)/changes?since=\(since)&limit=\(limit)")
                    #expect(shape.faults(answer) == [] && answer["head"] == head)
                    let messages = answer["messages"].column("rev").compactMap(\.int)
                    let record = [answer["conversation"]["rev"].int].compactMap { $0 }
                    #expect(messages == messages.sorted() && messages.count + record.count <= limit)
                    revs += (messages + record).sorted()
                    let upTo = try answer.required("upTo")
                    #expect(upTo >= since)
                    guard answer["more"] == true else { break }
                    #expect(upTo > since)
                    since = upTo
                    guard revs.count < 100 else { break }
                }
                // Of every slot its newest change: 3 and 8 have moved behind.
                #expect(revs == [2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16], "limit \(limit)")
            }
            let last = try api.call("GET", "/v1/conversations/\(id)/changes?since=16")
            #expect(last["messages"] == [] && last["upTo"] == 16 && last["more"] == false)
            #expect(last["conversation"] == .null)
        }

        @Test func sinceIsConfirmedByItsMark() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let head = try api.conversation(id)["head"]
            let mark = try #require(head["mark"].string)
            for (query, status) in [
                ("since=4&mark=\(ServerAPI.escaped(mark))", 200), ("since=4&mark=another", 409),
                ("since=5", 409), ("since=99&mark=\(ServerAPI.escaped(mark))", 409), ("", 200),
                ("since=0", 200), ("limit=1000", 200), ("since=-1", 400), ("since=x", 400),
                ("limit=0", 400), ("limit=1001", 400),
            ] {
                let answer = try api.http.send("GET", "/v1/conversations/\(id)/changes?\(query)")
                #expect(answer.status == status, "\(query)")
            }
        }

        @Test func headsOfManyAreReadAtOnce() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let ids = try (0..<3).map { try gateway.conversation(of: ["alice"], messages: $0) }
            let asked = JSONValue.strings(ids + ["nowhere"])
            let answer = try api.call("POST", "/v1/heads", ["ids": asked])
            #expect(Set((answer.object ?? [:]).keys) == ["heads"])
            let heads = answer["heads"]
            #expect(Set((heads.object ?? [:]).keys) == Set(ids + ["nowhere"]))
            #expect(heads["nowhere"] == .null)
            for (number, id) in ids.enumerated() {
                #expect(Shape.head.faults(heads[id]) == [])
                #expect(heads[id]["seq"] == .int(number))
                #expect(heads[id] == (try api.conversation(id)["head"]))
            }
            #expect(try api.call("POST", "/v1/heads", ["ids": []]) == ["heads": [:]])
        }

        @Test func idsAreComparedByTheirBytes() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            // The same letter, composed and decomposed: Swift's strings are equal.
            let name = UUID().uuidString
            let ids = ["caf\u{E9} \(name)", "cafe\u{301} \(name)"]
            for (number, id) in ids.enumerated() {
                try api.put(id, ["participants": ["alice"]])
                for _ in 0...number { try api.post(["author": "alice", "body": "x"], to: id) }
            }
            let answer = try api.http.send(
                "POST", "/v1/heads", headers: ["X-API-Key": GatewayProcess.apiKey],
                json: ["ids": .strings(ids + ids)])
            let body = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == 200)
            let sequences = body.matches(of: /"seq":(\d+)/).map { String($0.output.1) }
            #expect(sequences == ["1", "2"], "each once, in the order asked: \(body)")
        }

        @Test func aPageOfTheServerAPIHasThreeFields() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"], messages: 5)
            let page = try api.page(id, "after=id:m2&limit=2&order=asc")
            #expect(Set((page.object ?? [:]).keys) == ["messages", "hasMore", "head"])
            #expect(page["messages"].column("id") == ["m3", "m4"])
            #expect(page["hasMore"] == ["before": true, "after": true])
            #expect(Shape.head.faults(page["head"]) == [])
            #expect(
                try api.page(id, "before=time:2999-01-01T00:00:00Z")["messages"].seqs.count == 5)
            #expect(
                try api.page(id, "after=time:2001-01-01T00:00:00%2B02:00&limit=1&order=asc")[
                    "messages"
                ].seqs == [1])
        }

        @Test func whatTheBackendWritesReachesTheClients() throws {
            let gateway = try LiveGateway.get()
            let api = gateway.api()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            try client.subscribe(id)
            let posted = try api.post(["id": "x", "author": "bot", "body": "b"], to: id)
            #expect(try client.nextEvent("messages")["deltas"][0]["message"] == posted)
            try api.edit("x", in: id, ["body": "c"])
            #expect(try client.nextEvent("messages")["deltas"][0]["type"] == "updated")
            try api.put(id, ["title": "T"])
            #expect(try client.nextEvent("conversation")["conversation"]["title"] == "T")
            try api.remove("alice", from: id)
            #expect(try client.nextEvent("unsubscribed")["reason"] == "removed")
        }
    }
}
