import TestSupport
import Testing

/// A gateway whose feed from Redis stands still while its commands go on. A client whose write was
/// acknowledged reads it, or is told that the answer is open.
@Suite struct StandingFeedTests {
    private let redis: LinkedRedis
    private let near: GatewayProcess
    private let far: GatewayProcess

    init() throws {
        redis = try LinkedRedis(word: "SUBSCRIBE")
        let kind = ["upstream.kind": "redis", "page.enabled": "false"]
        near = try GatewayProcess(settings: redis.linkedSettings.merging(kind) { $1 })
        far = try GatewayProcess(settings: redis.directSettings.merging(kind) { $1 })
        try far.api().put("c1", ["participants": ["alice", "bob"]])
    }

    /// Whether a page has the message, or says that it may lack it.
    private func isTrue(_ page: JSONValue, about message: JSONValue) -> Bool {
        let found = page["messages"].array?.first { $0["id"] == message["id"] }
        return page["open"] == true || found?["rev"] == message["rev"]
    }

    private let page: JSONValue = ["conversation": "c1", "cached": false]

    @Test func oneReadsOnesOwn() throws {
        let alice = try near.client("alice")
        try alice.subscribe("c1")
        for number in 1...6 {
            redis.proxy.set(.muted)
            var own = try alice.request(
                "sendMessage", ["conversation": "c1", "body": .string("\(number)")])["message"]
            #expect(try isTrue(alice.request("fetchMessages", page), about: own))
            own = try alice.request("deleteMessage", ["conversation": "c1", "id": own["id"]])[
                "message"]
            #expect(try isTrue(alice.request("fetchMessages", page), about: own))
            // The backend was acknowledged it by this gateway, and anybody asks.
            own = try near.api().post(["author": "bob", "body": "b"], to: "c1")
            #expect(try isTrue(alice.request("fetchMessages", page), about: own))
            redis.proxy.set(.open)
            try alice.settle("c1")
        }
    }

    @Test func oneReadsWhatAnotherGatewayAcknowledged() throws {
        let (alice, bob) = (try far.client("alice"), try near.client("alice"))
        try bob.subscribe("c1")
        for number in 1...6 {
            redis.proxy.set(.muted)
            let answer = try alice.request(
                "sendMessage", ["conversation": "c1", "body": .string("\(number)")])
            var params = page
            params["atLeast"] = answer["head"]
            #expect(try isTrue(bob.request("fetchMessages", params), about: answer["message"]))
            redis.proxy.set(.open)
            try bob.settle("c1")
        }
    }
}

extension ChatTestClient {
    /// Lets the feed bring what it has held back.
    fileprivate func settle(_ conversation: String) throws {
        _ = try wait(.after(.milliseconds(300))) { _ in false }
        _ = try wait { !$0.holder(conversation).isOpen }
    }
}
