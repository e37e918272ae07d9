import Glibc
import TestSupport

// What a soak's guests do not come to by themselves: a conversation that nobody watches, somebody
// who takes no part, ids that nobody sent, an answer that comes before a message is written.
extension Inquest {
    /// Who takes part in it and never comes.
    static let sleeper = "sleeper"
    private static let quiet = "quiet"

    /// - Parameters:
    ///   - conversation: one of the soak's.
    ///   - places: the floor of its log, and its end.
    /// - Throws: what a client or the server API throws.
    func probe(
        _ number: Int, _ stage: Stage, _ conversation: String, _ places: ClosedRange<Int>
    ) throws {
        let (near, far) = (stage.near.api(learnsWrites: false), stage.far.api(learnsWrites: false))
        try ServerAPI.insist {
            _ = try near.put(Self.quiet, ["participants": ["prober", .string(Self.sleeper)]])
        }
        let id = "quiet-\(number)"
        let message: JSONValue = ["id": .string(id), "author": "prober", "body": "probe"]
        for (place, api) in [near, far].enumerated() {
            try ServerAPI.insist { _ = try api.post(message, to: Self.quiet) }
            let fates: Set<String> = place == 0 ? ["unwatched", "repeated"] : ["repeated"]
            ask(
                Question(
                    conversation: Self.quiet, id: id, gateway: place, expected: fates))
            ask(
                Question(
                    conversation: Self.quiet, id: id, user: Self.sleeper, gateway: place,
                    expected: fates, expectedReader: ["not_connected"]))
        }
        for place in 0...1 {
            ask(
                Question(
                    conversation: conversation, id: "never-\(number)", gateway: place,
                    expected: ["unknown"]))
            guard places.lowerBound > 1 else { continue }
            ask(
                Question(
                    conversation: conversation, seq: 1, gateway: place,
                    expected: ["trimmed", "unwatched"]))
        }
        try intrude(number, stage, conversation, newest: places.upperBound)
        try overtake(number, stage)
    }

    /// A message is asked about, then written, while the origin answers nobody: it answers the
    /// question first, so that the message is one whose writing is still awaited.
    private func overtake(_ number: Int, _ stage: Stage) throws {
        let id = "overtaken-\(number)"
        let message: JSONValue = ["id": .string(id), "author": "prober", "body": "probe"]
        // Too short for anybody to take it for an outage.
        try stage.redis.server.ask("CLIENT", "PAUSE", "700", "ALL")
        ask(
            Question(
                conversation: Self.quiet, id: id, gateway: 0, expected: ["waiting", "unwatched"]))
        turn()
        usleep(100_000)
        let port = stage.near.port
        let writing = Background { _ in
            let api = ServerAPI(
                port: port, apiKey: GatewayProcess.apiKey, learnsWrites: false)
            _ = try ServerAPI.insist { try api.post(message, to: Self.quiet) }
        }
        turnAll()
        try writing.join()
    }

    /// Somebody who takes no part tries to read and to write.
    private func intrude(
        _ number: Int, _ stage: Stage, _ conversation: String, newest: Int
    ) throws {
        let user = "stranger-\(number)"
        let place = number % 2
        let client = try ChatTestClient(port: stage.gateways[place].port)
        let id = "strange-\(number)"
        try client.connect(user: user, token: stage.keys.token(user, seconds: 60))
        var params: JSONValue = ["conversation": .string(conversation)]
        ask(
            Question(
                conversation: conversation, seq: newest, user: user, gateway: place,
                // A gateway that does not follow the conversation does not know who takes part.
                expectedReader: ["not_participant", "not_watching"]))
        turnAll()
        do {
            try client.request("subscribeMessages", params)
            stage.accuse("a stranger may read \(conversation)")
        } catch is ChatTestClient.RequestFailed {}
        params["id"] = .string(id)
        params["body"] = "strange"
        do {
            try client.request("sendMessage", params)
            stage.accuse("a stranger may write to \(conversation)")
        } catch is ChatTestClient.RequestFailed {}
        ask(
            Question(
                conversation: conversation, id: id, user: user, gateway: place,
                expected: ["refused"], expectedReader: ["read_refused"]))
        turnAll()
        client.disconnect()
    }

    private func turnAll() {
        let deadline = Deadline.after(.seconds(10))
        while isAsking, !deadline.isOver {
            turn()
            usleep(5000)
        }
    }
}
