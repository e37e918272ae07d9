import TestSupport
import Testing

/// Clients that come and go while a log changes: judged by the oracle after every frame, and whole
/// at the end.
@Suite struct ResumeTests {
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func changesMadeWhileAwayReachItOnResume(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let gateway = try GatewayProcess()
        let api = gateway.api()
        try api.put("c", ["title": "Ops", "participants": ["alice", "bob"]])
        let client = try ChatTestClient(port: gateway.port)
        client.records = true
        try client.connect(user: "alice")
        try client.subscribe("c")
        for round in 0..<12 {
            let isAway = Bool.random(using: &random)
            if isAway { client.disconnect() }
            for _ in 0..<Int.random(in: 0...25, using: &random) { try change(api, &random) }
            if isAway { try client.reconnect() }
            try client.subscribe("c", limit: Int.random(in: 1...40, using: &random))
            try fillGaps(client)
            try expectNewest(client, api, "seed \(seed), round \(round)")
        }
        try api.learnChanges(of: "c")
        let truth = api.truth(of: "c")
        #expect(truth.log?.unknownChanges == [], "seed \(seed)")
        #expect(Oracle(truth).judge(client.recording, "c") == [], "seed \(seed)")
    }

    /// One change of any kind.
    private func change(_ api: ServerAPI, _ random: inout SplitMix64) throws {
        let messages = api.truth(of: "c").log?.messages.filter { $0["deleted"].bool == false } ?? []
        let text = JSONValue.string("text \(random.next())")
        switch (Int.random(in: 0..<10, using: &random), messages.randomElement(using: &random)) {
        case (6...7, let message?):
            try api.edit(message["id"].string ?? "", in: "c", ["body": text])
        case (8, let message?): try api.delete(message["id"].string ?? "", in: "c")
        case (9, _): try api.put("c", ["title": text])
        default: try api.post(["author": "bob", "body": text], to: "c")
        }
    }

    /// What a client does with gaps that are its own to heal: fetches them by their own ends.
    private func fillGaps(_ client: ChatTestClient) throws {
        for _ in 0..<200 {
            let holder = client.holder("c")
            let top = holder.head["seq"].int ?? 0
            var missing = Intervals(top > 0 ? [1...top] : [])
            for range in holder.runs.ranges { missing.remove(range) }
            guard let gap = missing.ranges.last else { return }
            try client.request(
                "fetchMessages",
                [
                    "conversation": "c", "after": .int(gap.lowerBound - 1),
                    "before": .int(gap.upperBound + 1), "limit": 7, "cached": false,
                ])
        }
        throw TestFailure("the gaps never end")
    }

    private func expectNewest(
        _ client: ChatTestClient, _ api: ServerAPI, _ comment: Comment
    ) throws {
        let log = try #require(try api.learnChanges(of: "c").log)
        let isThere = try client.wait { $0.holder("c").head["rev"].int == log.headRev }
        #expect(isThere, comment)
        #expect(client.holder("c").messages == log.messages, comment)
        let rev = try #require(client.holder("c").record?["rev"].int, comment)
        #expect(rev == log.revs[0]?.last, comment)
    }

    @Test func subscribingWhileMessagesPourInLeavesNeitherHoleNorRepeat() async throws {
        let gateway = try GatewayProcess()
        let api = gateway.api()
        try api.put("c", ["participants": ["alice", "bob"]])
        let port = gateway.port
        let pouring = Task.detached {
            let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
            for number in 0..<3000 {
                try api.post(["author": "bob", "body": .string("\(number)")], to: "c")
            }
        }
        defer { pouring.cancel() }
        let client = try ChatTestClient(port: gateway.port)
        client.records = true
        try client.connect(user: "alice")
        for attempt in 0..<300 {
            // Half of them resume with what is held, half begin anew.
            let params: JSONValue =
                attempt % 2 == 0 ? ["conversation": "c"] : client.subscription("c")
            try client.request("subscribeMessages", params)
            if attempt % 3 == 0 { _ = try client.wait(.after(.milliseconds(5))) { _ in false } }
            try client.request("unsubscribeMessages", ["conversation": "c"])
        }
        try client.subscribe("c")
        try await pouring.value
        let truth = try api.learnChanges(of: "c")
        #expect(truth.log?.headSeq == 3000)
        #expect(try client.wait { $0.holder("c").asOf == truth.log?.headRev })
        // 300 answers to each method, and events between them.
        #expect(client.recording.count > 1500)
        #expect(Oracle(truth).judge(client.recording, "c") == [])
    }

    @Test func aConversationDeletedAndCreatedAgainIsNeverMixed() throws {
        let gateway = try GatewayProcess()
        let api = gateway.api()
        try api.put("c", ["participants": ["alice"]])
        try api.post((0..<5).map { ["author": "alice", "body": .string("old \($0)")] }, to: "c")
        let client = try gateway.client("alice")
        try client.subscribe("c")
        let held = client.subscription("c")
        client.disconnect()
        try api.deleteConversation("c")
        try api.put("c", ["participants": ["alice"]])
        try client.reconnect()
        let answer = try client.request("subscribeMessages", held)
        #expect(answer["reset"].bool == true)
        #expect(client.holder("c").messages.isEmpty)

        try api.deleteConversation("c")
        #expect(try client.nextEvent("unsubscribed")["reason"] == "deleted")
        #expect(client.holder("c").have == nil)
    }
}
