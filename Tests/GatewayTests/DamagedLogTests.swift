import Foundation
import TestSupport
import Testing

/// Real gateways over a Redis that loses one key of a conversation: nobody takes what is left for
/// the whole of it, whatever the gateway did at that moment.
@Suite struct DamagedLogTests {
    /// Without the head, without which there is no log.
    private static let parts = [
        "marks", "messages", "changes", "ids", "members", "reads", "deleted", "trimmed",
    ]

    private let redis: LinkedRedis
    private let settings: [String: String]

    init() throws {
        redis = try LinkedRedis()
        settings = [
            "upstream.kind": "redis", "page.enabled": "false", "sync.verify_interval": "1s",
            "sync.backoff_max": "1s", "sync.linger": "60s",
        ]
    }

    private func gateway(_ more: [String: String]) throws -> GatewayProcess {
        try GatewayProcess(settings: settings.merging(more) { $1 })
    }

    private func fill(_ gateway: GatewayProcess, _ id: String) throws {
        let api = gateway.api()
        try api.put(id, ["participants": ["alice", "bob"], "title": "before"])
        let messages = (1...20).map { number -> JSONValue in
            ["id": .string("m\(number)"), "author": "alice", "body": .string("\(number)")]
        }
        try api.post(messages, to: id)
    }

    private func lose(_ part: String, _ id: String) throws {
        #expect(try redis.server.ask("DEL", "gapless:{\(id)}:\(part)").int == 1, "\(part)")
    }

    /// What the error that answers says.
    private func refusal(
        _ client: ChatTestClient, _ method: String, _ params: JSONValue
    ) throws -> (code: String, message: String) {
        do {
            try client.request(method, params)
            return ("ok", "")
        } catch let error as ChatTestClient.RequestFailed {
            return (error.code, error.message)
        }
    }

    /// A client that asks is told that it is open, and by name what is damaged.
    private func expectOpen(_ client: ChatTestClient, _ id: String, _ part: String) throws {
        let again = try client.request("subscribeMessages", ["conversation": .string(id)])
        #expect(again["open"] == true, "\(part): \(again)")
        let message: JSONValue = ["conversation": .string(id), "body": "x", "id": "new"]
        let below: JSONValue = ["conversation": .string(id), "before": 3, "limit": 50]
        for (method, params) in [("sendMessage", message), ("fetchMessages", below)] {
            let refused = try refusal(client, method, params)
            #expect(refused.code == "origin_unavailable", "\(part): \(method)")
            #expect(refused.message.contains(part), "\(method): \(refused.message)")
        }
    }

    @Test func aWatcherHearsThatTheLogIsOpenAndNothingElse() throws {
        let gateway = try gateway(redis.directSettings)
        let client = try gateway.client("alice")
        for part in Self.parts {
            let id = "up-\(part)"
            try fill(gateway, id)
            let subscription = try client.request(
                "subscribeMessages", ["conversation": .string(id)])
            #expect(subscription["open"] != true)
            try lose(part, id)
            let told = try client.nextEvent("messages") { $0["conversation"].string == id }
            #expect(told["deltas"].array == [] && told["covers"].array == [], "\(told)")
            #expect(told["open"] == true && told["prev"] == told["asOf"], "\(told)")
            #expect(told["asOf"] == subscription["asOf"])
            try expectOpen(client, id, part)
            #expect(gateway.logs("conversation \(id) is damaged in Redis: \(part)"))
        }
        let health = try gateway.health().json
        #expect(health["status"] == "degraded")
        let trouble = health["troubles"].array?.first { $0["code"] == "log_damaged" }
        #expect(trouble?["remedy"].string?.contains("gapless repair") == true)
        #expect(try gateway.health("/health/ready").status == 200)
        #expect(!gateway.log.contains("new epoch"))
    }

    @Test func whatIsLostWhileAGatewayIsCutOffOrDownIsNoSilence() throws {
        let far = try gateway(redis.directSettings)
        let near = try gateway(redis.linkedSettings)
        var held: [String: JSONValue] = [:]
        let client = try near.client("alice")
        for part in Self.parts {
            let id = "behind-\(part)"
            try fill(far, id)
            held[part] = try client.request("subscribeMessages", ["conversation": .string(id)])
        }
        redis.proxy.set(.refusing)
        #expect(try Deadline.standard.poll { try near.health("/health/ready").status == 503 })
        for part in Self.parts {
            let id = "behind-\(part)"
            let api = far.api()
            try api.call("PATCH", "/v1/conversations/\(id)/messages/m3", ["body": "edited"])
            try api.post([["author": "bob", "body": "missed"]], to: id)
            try lose(part, id)
        }
        redis.proxy.set(.open)
        #expect(try Deadline.standard.poll { try near.health("/health/ready").status == 200 })
        for part in Self.parts { try expectOpen(client, "behind-\(part)", part) }
        // Behind a restart the cache alone knows.
        #expect(try near.terminate() == 0)
        try near.start()
        let other = try near.client("alice")
        for part in Self.parts { try expectOpen(other, "behind-\(part)", part) }
    }

    @Test func aRepairGivesWhatIsLeftANewEpochAndAWatcherLoadsIt() throws {
        let gateway = try gateway(redis.directSettings)
        let client = try gateway.client("alice")
        for part in Self.parts where part != "members" {
            let id = "repaired-\(part)"
            try fill(gateway, id)
            try client.request("subscribeMessages", ["conversation": .string(id)])
            try lose(part, id)
            _ = try client.nextEvent("messages") { $0["conversation"].string == id }
            #expect(try repair(id).contains("has epoch"))
            _ = try client.nextEvent("reset") { $0["conversation"].string == id }
            let page = try client.request(
                "fetchMessages", ["conversation": .string(id), "limit": 50])
            let bodies = (page["messages"].array ?? []).compactMap { $0["body"].string }
            #expect(bodies.count == (part == "messages" ? 0 : 20), "\(part)")
            try client.request("sendMessage", ["conversation": .string(id), "body": "after"])
            #expect(try repair(id).contains("nothing done"))
        }
        #expect(try gateway.health().json["status"] == "ok")
        #expect(gateway.logs("is whole again"))
    }

    @Test func aPutThatNamesAllParticipantsMendsLostMembers() throws {
        let gateway = try gateway(redis.directSettings)
        try fill(gateway, "c1")
        let client = try gateway.client("alice")
        try client.request("subscribeMessages", ["conversation": "c1"])
        try lose("members", "c1")
        #expect(throws: ServerAPI.Refused.self) { try gateway.api().put("c1", ["title": "x"]) }
        try gateway.api().put("c1", ["participants": ["alice", "carol"]])
        let people = try gateway.api().call("GET", "/v1/conversations/c1/participants")
        #expect(
            (people["participants"].array ?? []).compactMap { $0["id"].string }.sorted()
                == ["alice", "carol"])
        try client.request("sendMessage", ["conversation": "c1", "body": "after"])
        let found = try gateway.api().call("GET", "/v1/conversations/c1")
        #expect(found["conversation"]["title"] == "before")
    }

    /// What the command says.
    private func repair(_ id: String) throws -> String {
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-repair-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: log) }
        let child = try ChildProcess(
            try GatewayProcess.binary(),
            [
                "repair", "--conversation", id, "--set", "upstream.kind=redis", "--set",
                "upstream.redis.url=\(redis.server.url)",
            ], log: log.path)
        #expect(Deadline.standard.poll { child.exitStatus != nil })
        let said = String(decoding: try Data(contentsOf: log), as: UTF8.self)
        #expect(child.exitStatus == 0, "\(said)")
        return said
    }
}
