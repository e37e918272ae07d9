import TestSupport

/// A client that holds its list of conversations as the contract says: what events and other
/// answers brought since the token's answer counts for nothing when the token is confirmed.
final class ListHolder {
    struct Entry: Equatable {
        var epoch: String
        var rev: Int
        var last: String?

        init(_ conversation: JSONValue) {
            epoch = conversation["head"]["epoch"].string ?? ""
            rev = conversation["head"]["rev"].int ?? 0
            last = conversation["lastMessage"]["body"].string
        }
    }

    let client: ChatTestClient
    private(set) var list: [String: Entry] = [:]
    /// What the token's answer left.
    private var atToken: [String: Entry] = [:]
    private var token: String?
    /// Of the last answer.
    private(set) var isComplete = false
    private(set) var isOpen = false
    private(set) var total = 0

    /// - Throws: what the client throws.
    init(_ gateway: GatewayProcess, _ user: String) throws {
        client = try gateway.client(user)
        client.onFrame = { [unowned self] in took($0) }
        try subscribe()
    }

    /// One for each user, at an origin that may refuse for a moment.
    static func each(_ users: [String], at gateway: GatewayProcess) throws -> [ListHolder] {
        try users.map { user in try insist { try ListHolder(gateway, user) } }
    }

    /// Comes back, perhaps to another gateway, as soon as it is answered.
    func comeBack(to gateway: GatewayProcess) throws {
        try Self.insist {
            do {
                try client.reopen(port: gateway.port)
                try client.connect(user: client.user)
                try subscribe()
            } catch let error as ChatTestClient.RequestFailed {
                client.disconnect()
                throw error
            }
        }
    }

    private static func insist<Answer>(_ call: () throws -> Answer) throws -> Answer {
        try ServerAPI.insist {
            do { return try call() } catch let error as ChatTestClient.RequestFailed {
                throw TestFailure("\(error)")
            }
        }
    }

    private func subscribe() throws {
        var params: JSONValue = ["limit": 1000]
        if let token { params["since"] = .string(token) }
        // The answer is taken in its place among the events.
        try client.request("subscribeConversations", params)
    }

    private func took(_ frame: JSONValue) {
        if frame["event"] == "conversations" {
            for delta in frame["deltas"].array ?? [] {
                let conversation = delta["conversation"]
                let isGone = delta["type"] == "deleted"
                list[conversation["id"].string ?? ""] = isGone ? nil : Entry(conversation)
            }
        } else if frame["result"]["token"].string != nil {
            answered(frame["result"])
        }
    }

    private func answered(_ answer: JSONValue) {
        isComplete = answer["complete"].bool ?? false
        isOpen = answer["open"].bool ?? false
        total = answer["total"].int ?? 0
        token = answer["token"].string
        list = isComplete ? atToken : [:]
        for conversation in answer["conversations"].array ?? [] {
            list[conversation["id"].string ?? ""] = Entry(conversation)
        }
        for id in answer["removed"].array ?? [] { list[id.string ?? ""] = nil }
        atToken = list
    }

    /// The list as the origin has it.
    static func truth(of user: String, _ api: ServerAPI) throws -> [String: Entry] {
        let answer = try api.call("GET", "/v1/conversations?user=\(user)&limit=1000")
        let all = (answer["conversations"].array ?? []).map { ($0["id"].string ?? "", Entry($0)) }
        return Dictionary(uniqueKeysWithValues: all)
    }
}
