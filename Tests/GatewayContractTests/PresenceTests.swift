import TestSupport
import Testing

/// `protocol.md` 2, Who is there: who is there, by one gateway; what two of one origin tell of each
/// other is in `PresenceOriginTests`.
@Suite(
    .gateway([
        "presence.interval": "100ms", "presence.linger": "1s", "presence.lease": "1s",
        "presence.grace": "1s", "limits.presence": "5",
    ])
) struct PresenceTests {
    /// The state and the moment of a user in an answer or an event.
    private static func of(_ user: String, in list: JSONValue) -> JSONValue? {
        list.array?.first { $0["user"].string == user }
    }

    private static func watch(_ id: String, _ users: [String]? = nil) -> JSONValue {
        var entry: JSONValue = ["conversation": .string(id)]
        if let users { entry["users"] = .strings(users) }
        return ["watch": [entry]]
    }

    /// Waits until the client was told that the user is so.
    @discardableResult
    private static func told(
        _ client: ChatTestClient, _ user: String, _ state: String
    ) throws -> JSONValue {
        let event = try client.nextEvent("presence") {
            of(user, in: $0["changes"])?["state"].string == state
        }
        return try #require(of(user, in: event["changes"]))
    }

    /// Asks until the origin has been heard for long enough to say it.
    private static func settled(
        _ client: ChatTestClient, _ params: JSONValue, _ user: String, _ state: String
    ) throws -> JSONValue {
        var last: JSONValue = .null
        _ = Deadline.after(.seconds(20)).poll {
            last = (try? client.request("watchPresence", params)["presence"]) ?? .null
            return of(user, in: last)?["state"].string == state
        }
        // What was told between two calls is in the answer to the second.
        while !client.events("presence").isEmpty { _ = try client.nextEvent("presence") }
        return try #require(of(user, in: last), "\(last)")
    }

    @Test func whoConnectsAndGoesIsTold() throws {
        let gateway = try LiveGateway.get()
        let (ann, bob) = (LiveGateway.name("ann"), LiveGateway.name("bob"))
        let id = try gateway.conversation(of: [ann, bob])
        let watcher = try gateway.client(ann)
        let absent = try Self.settled(watcher, Self.watch(id), bob, "absent")
        #expect(absent["since"].isNull)
        let friend = try gateway.client(bob)
        let came = try Self.told(watcher, bob, "present")
        #expect(came["since"].string != nil)
        try friend.request("setPresence", ["state": "away"])
        try Self.told(watcher, bob, "away")
        try friend.request("setPresence", ["state": "present"])
        try Self.told(watcher, bob, "present")
        friend.disconnect()
        let left = try Self.told(watcher, bob, "absent")
        #expect(left["since"].string != nil)
        // The next answer says what the event said.
        let answer = try watcher.request("watchPresence", Self.watch(id))["presence"]
        #expect(Self.of(bob, in: answer) == left)
        #expect(Self.of(ann, in: answer)?["state"] == "present")
    }

    @Test func whoIsHiddenIsAbsentAfterTheLinger() throws {
        let gateway = try LiveGateway.get()
        let (ann, bob) = (LiveGateway.name("ann"), LiveGateway.name("bob"))
        let id = try gateway.conversation(of: [ann, bob])
        let (watcher, friend) = (try gateway.client(ann), try gateway.client(bob))
        _ = try Self.settled(watcher, Self.watch(id, [bob]), bob, "present")
        try friend.request("setPresence", ["state": "hidden"])
        try Self.told(watcher, bob, "absent")
        let second = try ChatTestClient(port: gateway.port)
        try second.request("connect", ["user": .string(bob), "presence": "hidden"])
        try friend.request("setPresence", ["state": "away"])
        try Self.told(watcher, bob, "away")
    }

    @Test func whoIsBackWithinTheLingerIsNotMissed() throws {
        let gateway = try LiveGateway.get()
        let (ann, bob) = (LiveGateway.name("ann"), LiveGateway.name("bob"))
        let id = try gateway.conversation(of: [ann, bob])
        let (watcher, friend) = (try gateway.client(ann), try gateway.client(bob))
        let before = try Self.settled(watcher, Self.watch(id), bob, "present")
        friend.disconnect()
        let again = try gateway.client(bob)
        // What the gateway says of somebody else later comes later.
        try again.request("setPresence", ["state": "away"])
        let away = try watcher.nextEvent("presence")
        #expect(away["changes"].array?.count == 1)
        #expect(away["changes"][0]["state"] == "away")
        #expect(before["state"] == "present")
    }

    @Test func strangersAreAbsentAndNobodyLearnsMore() throws {
        let gateway = try LiveGateway.get()
        let (ann, bob) = (LiveGateway.name("ann"), LiveGateway.name("bob"))
        let stranger = LiveGateway.name("eve")
        let id = try gateway.conversation(of: [ann, bob])
        let (watcher, friend) = (try gateway.client(ann), try gateway.client(bob))
        _ = try Self.settled(watcher, Self.watch(id), bob, "present")
        let eve = try gateway.client(stranger)
        let nothing: JSONValue = ["user": .string(bob), "state": "absent"]
        let asked = Self.watch(id, [bob])
        #expect(try eve.request("watchPresence", asked)["presence"] == [nothing])
        #expect(try eve.request("watchPresence", Self.watch(id))["presence"] == [])
        let unknown = Self.watch(LiveGateway.name("none"), [bob])
        #expect(try eve.request("watchPresence", unknown)["presence"] == [nothing])
        let both = Self.watch(id, [stranger, bob])
        let answer = try watcher.request("watchPresence", both)["presence"]
        #expect(answer[0] == ["user": .string(stranger), "state": "absent"])
        #expect(answer[1]["state"] == "present")
        // Who is let in is shown, and who is put out is not, as soon as the gateway hears it.
        try watcher.subscribe(id)
        let api = gateway.api()
        try api.add(stranger, to: id)
        try Self.told(watcher, stranger, "present")
        _ = try eve.request("watchPresence", Self.watch(id))
        try api.remove(stranger, from: id)
        #expect(try Self.told(watcher, stranger, "absent")["since"].isNull)
        #expect(try Self.told(eve, bob, "absent")["since"].isNull)
        _ = friend
    }

    @Test func limitsAndFieldsAreHeld() throws {
        let gateway = try LiveGateway.get()
        let users = (1...6).map { LiveGateway.name("user\($0)") }
        let id = try gateway.conversation(of: users)
        let client = try gateway.client(users[0])
        #expect(try client.code("watchPresence", Self.watch(id)) == "too_large")
        #expect(try client.code("watchPresence", Self.watch(id, users)) == "too_large")
        #expect(try client.code("watchPresence", Self.watch(id, Array(users.prefix(5)))) == "ok")
        // What was refused leaves what was watched before as it was.
        #expect(try client.code("watchPresence", Self.watch(id)) == "too_large")
        _ = try Self.settled(client, Self.watch(id, [users[1]]), users[1], "absent")
        #expect(try client.code("watchPresence", Self.watch(id)) == "too_large")
        let friend = try gateway.client(users[1])
        try Self.told(client, users[1], "present")
        _ = friend
        #expect(try client.code("watchPresence") == "bad_request")
        #expect(try client.code("watchPresence", ["watch": "all"]) == "bad_request")
        #expect(try client.code("watchPresence", ["watch": [[:]]]) == "bad_request")
        #expect(try client.code("setPresence") == "bad_request")
        #expect(try client.code("setPresence", ["state": "asleep"]) == "bad_request")
        #expect(try client.request("watchPresence", ["watch": []]) == ["presence": []])
        let api = gateway.api()
        let list = users.joined(separator: ",")
        func status(_ method: String, _ path: String) throws -> Int {
            do {
                try api.call(method, path)
                return 200
            } catch let refused as ServerAPI.Refused {
                return refused.status
            }
        }
        #expect(try status("GET", "/v1/presence?users=\(list)") == 413)
        #expect(try status("GET", "/v1/conversations/\(id)/presence") == 413)
        // The head of a request has room for some 400 long ids.
        let many = (0..<1000).map { "\($0)-" + String(repeating: "x", count: 32) }
        let long = many.joined(separator: ",")
        #expect(try status("GET", "/v1/presence?users=\(long)") == 431)
        #expect(try status("GET", "/v1/presence") == 400)
        #expect(try status("GET", "/v1/conversations/none/presence") == 404)
        #expect(try status("POST", "/v1/presence?users=a") == 405)
    }

    @Test func theBackendSeesEverybody() throws {
        let gateway = try LiveGateway.get()
        let (ann, bob) = (LiveGateway.name("ann"), LiveGateway.name("b,ob"))
        let id = try gateway.conversation(of: [ann, bob])
        let friend = try gateway.client(ann)
        let api = gateway.api()
        func seen(_ path: String) throws -> [String: String] {
            let answer = try api.call("GET", path)["presence"].array ?? []
            let pairs = answer.map { ($0["user"].string ?? "", $0["state"].string ?? "") }
            return Dictionary(pairs) { $1 }
        }
        let asked = "/v1/presence?users=\(ann)&user=\(ServerAPI.escaped(bob))"
        let wanted = [ann: "present", bob: "absent"]
        #expect(Deadline.after(.seconds(20)).poll { (try? seen(asked)) == wanted })
        #expect(try seen("/v1/conversations/\(id)/presence") == wanted)
        _ = friend
    }
}

/// Clients that may not.
@Suite(.gateway(["clients.presence": "no"])) struct PresenceOffTests {
    @Test func clientsMayNotAndTheBackendStillSees() throws {
        let gateway = try LiveGateway.get()
        let ann = LiveGateway.name("ann")
        let client = try gateway.client(ann)
        #expect(try client.code("setPresence", ["state": "away"]) == "forbidden")
        #expect(try client.code("watchPresence", ["watch": []]) == "forbidden")
        let hidden = try ChatTestClient(port: gateway.port)
        let connect: JSONValue = ["user": .string(ann), "presence": "hidden"]
        #expect(try hidden.code("connect", connect) == "forbidden")
        let isSeen = Deadline.after(.seconds(20)).poll {
            let answer = try? gateway.api().call("GET", "/v1/presence?users=\(ann)")
            return answer?["presence"][0]["state"] == "present"
        }
        #expect(isSeen)
    }
}
