import TestSupport

/// A client that watches its list of conversations: what it shows after every `conversations`
/// event.
final class ListWatcher {
    static let users = (0..<4).map { "lister-\($0)" }

    /// What a list says of a conversation, as far as the event that all get alike says it.
    struct Entry: Equatable {
        let record: JSONValue
        let lastMessage: JSONValue
        let epoch: String
        let rev: Int

        init(_ conversation: JSONValue) {
            record = Truth.slotZero(conversation)
            lastMessage = conversation["lastMessage"]
            epoch = conversation["head"]["epoch"].string ?? ""
            rev = conversation["head"]["rev"].int ?? 0
        }
    }

    let client: ChatTestClient
    private(set) var list: [String: Entry] = [:]
    private(set) var eventCount = 0

    /// - Throws: what the client throws.
    init(_ gateway: GatewayProcess, _ user: String) throws {
        client = try ChatTestClient(port: gateway.port)
        client.onFrame = { [unowned self] in took($0) }
        try client.connect(user: user)
        let answer = try client.request("subscribeConversations", ["limit": 1000])
        // Events that came with the answer stand behind it.
        let later = list
        list = Self.entries(answer).merging(later) { $1 }
    }

    private static func entries(_ answer: JSONValue) -> [String: Entry] {
        let all = (answer["conversations"].array ?? []).map { ($0["id"].string ?? "", Entry($0)) }
        return Dictionary(uniqueKeysWithValues: all)
    }

    private func took(_ frame: JSONValue) {
        guard frame["event"] == "conversations" else { return }
        eventCount += 1
        for delta in frame["deltas"].array ?? [] {
            let conversation = delta["conversation"]
            let isGone = delta["type"] == "deleted"
            list[conversation["id"].string ?? ""] = isGone ? nil : Entry(conversation)
        }
    }

    /// The list as the origin has it.
    ///
    /// - Throws: `Refused`, `TestFailure`.
    static func list(of user: String, _ api: ServerAPI) throws -> [String: Entry] {
        entries(try api.call("GET", "/v1/conversations?user=\(user)&limit=1000"))
    }

    /// Where what it shows is not what the origin has.
    func judge(_ truth: [String: Entry]) -> [String] {
        var faults = eventCount == 0 ? ["nothing was told"] : []
        for id in Set(list.keys).union(truth.keys).sorted() where list[id] != truth[id] {
            let (shown, present) = (list[id], truth[id])
            if shown == nil || present == nil {
                faults.append("\(id) is \(shown == nil ? "not " : "")in the list")
            } else {
                let isSame =
                    (shown?.record == present?.record, shown?.lastMessage == present?.lastMessage)
                faults.append(
                    "\(id): shown at \(shown?.rev ?? 0) of \(present?.rev ?? 0);"
                        + " record same \(isSame.0), last message same \(isSame.1)")
            }
        }
        return faults.map { "\(client.user): list: \($0)" }
    }
}
