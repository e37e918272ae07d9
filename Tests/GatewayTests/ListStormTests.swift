import TestSupport
import Testing

/// Many come back to long lists of which little changed: what that costs, in bytes and in questions
/// to the origin.
@Suite struct ListStormTests {
    private static let users = 20
    private static let conversations = 500

    @Test func whoComesBackIsGivenWhatChanged() throws {
        let redis = try LinkedRedis()
        var settings = redis.directSettings
        settings["page.enabled"] = "false"
        settings["upstream.kind"] = "redis"
        let writer = try GatewayProcess(settings: settings)
        let api = writer.api()
        let users = (1...Self.users).map { "user\($0)" }
        for number in 1...Self.conversations {
            try api.put("c\(number)", ["participants": .array(users.map { .string($0) })])
        }
        func list(_ user: String, since token: JSONValue?) throws -> JSONValue {
            var params: JSONValue = [:]
            if let token { params["since"] = token }
            let client = try writer.client(user)
            return try client.result(of: client.send("subscribeConversations", params))
        }
        let before = try users.map { try list($0, since: nil) }
        #expect(before.allSatisfy { $0["complete"] == false })
        for number in 1...Self.conversations / 100 {
            try api.post(["author": "x", "body": "news"], to: "c\(number * 7)")
        }
        // Another gateway, which has seen none of them.
        let reader = try GatewayProcess(settings: settings)
        var bytes: [Int] = []
        for (at, user) in users.enumerated() {
            let client = try reader.client(user)
            let changes = try client.result(
                of: client.send("subscribeConversations", ["since": before[at]["token"]]))
            let ids = Set((changes["conversations"].array ?? []).compactMap { $0["id"].string })
            #expect(changes["complete"] == true && changes["total"] == 500)
            #expect(ids.isSuperset(of: (1...5).map { "c\($0 * 7)" }) && ids.count <= 60)
            bytes.append(changes.bytes.count)
        }
        let questions = try reader.fetches().values.reduce(0, +)
        let most = bytes.max() ?? 0
        let first = before[0].bytes.count
        print(
            "lists: \(most) bytes an answer, \(first) for the first 100 of a list anew,"
                + " \(questions) questions for \(users.count) users")
        #expect(most < first)
        // The list, what changed in it, and the heads of all in hundreds, which users share.
        #expect(questions <= 4 * users.count + 2 * Self.conversations)
    }
}
