import Glibc
import TestSupport
import Testing

/// Two gateways on one origin.
private struct Pair {
    enum Kind: String, CaseIterable { case redis, postgres }

    let near: GatewayProcess
    let far: GatewayProcess
    private let redis: RedisProcess?
    private let postgres: PostgresProcess?

    init(_ kind: Kind) throws {
        var own: [String: String]
        switch kind {
        case .redis:
            let server = try RedisProcess()
            (redis, postgres) = (server, nil)
            own = ["upstream.redis.url": server.url]
        case .postgres:
            let server = try PostgresProcess()
            (redis, postgres) = (nil, server)
            own = ["upstream.kind": "postgres", "upstream.postgres.url": try server.database()]
        }
        own = Faults.settings.merging(own) { $1 }
        near = try GatewayProcess(settings: own)
        far = try GatewayProcess(settings: own)
    }
}

extension Faults {
    /// A gateway that stood still (SIGSTOP) for longer than the deadline of its link knows nothing
    /// of what happened meanwhile, and says so until the origin has told it.
    @Suite struct StoodStill {
        /// What was asked while it stood still is there before anything else is.
        @Test(arguments: Pair.Kind.allCases)
        fileprivate func itAnswersNothingOfThePastAsThePresent(_ kind: Pair.Kind) throws {
            let pair = try Pair(kind)
            let api = pair.far.api()
            try api.put("c1", ["participants": ["alice", "bob"]])
            let reader = try pair.near.client("alice")
            try reader.subscribe("c1")
            let page: JSONValue = ["conversation": "c1", "cached": false]
            for number in 1...(Faults.isLong ? 20 : 4) {
                let before = try api.post(["author": "bob", "body": "before"], to: "c1")
                #expect(try reader.wait { $0.holder("c1").messages.count == 2 * number - 1 })
                pair.near.signal(SIGSTOP)
                defer { pair.near.signal(SIGCONT) }
                let own = try api.post(["author": "bob", "body": "during"], to: "c1")
                let asked = try (1...3).map { _ in try reader.send("fetchMessages", page) }
                usleep(3_000_000 + UInt32(number) * 40_000)
                pair.near.signal(SIGCONT)
                for id in asked {
                    let answer: JSONValue
                    do {
                        answer = try reader.result(of: id)
                    } catch let error as ChatTestClient.RequestFailed
                        where error.code == "origin_unavailable"
                    {
                        // It says that it can't know.
                        continue
                    }
                    let newest = answer["messages"].array?.first?["seq"]
                    #expect(
                        answer["open"] == true || newest == own["seq"],
                        "\(newest ?? .null), \(before["seq"]) was before the pause")
                }
                #expect(try reader.wait { $0.holder("c1").messages.count == 2 * number })
            }
        }
    }
}
