import Glibc
import Synchronization
import TestSupport

/// Who makes all changes of slot 0, one after the other, so that each of their values is known:
/// titles, and guests who are taken out and let in again. It also asks for the heads, and has
/// conversations come and go that nobody looks at.
struct Registrar {
    /// What another thread asks of it.
    final class Orders: Sendable {
        private let isCalm = Atomic<Bool>(false)

        /// Nobody is out, and nobody is taken out.
        func calm(_ wanted: Bool) { isCalm.store(wanted, ordering: .relaxed) }
        var wantsCalm: Bool { isCalm.load(ordering: .relaxed) }
    }

    private let apis: [ServerAPI]
    private let conversations: [String]
    private let users: [String]
    private let chronicle: Chronicle
    private let orders: Orders
    private var random: SplitMix64
    private var out: (user: String, conversation: String)?
    private var turn = 0

    /// Starts it on a thread of its own.
    static func start(
        _ gateways: [GatewayProcess], _ conversations: [String], _ users: [String],
        _ chronicle: Chronicle, _ orders: Orders, seed: UInt64
    ) -> Background<Void> {
        let ports = gateways.map(\.port)
        return Background { stop in
            let apis = ports.map {
                ServerAPI(port: $0, apiKey: GatewayProcess.apiKey, learnsWrites: false)
            }
            var registrar = Registrar(
                apis: apis, conversations: conversations, users: users, chronicle: chronicle,
                orders: orders, random: SplitMix64(seed: seed))
            while !stop.isOver {
                try registrar.work()
                usleep(500_000)
            }
            try registrar.letIn()
        }
    }

    private mutating func work() throws {
        turn += 1
        let ids = JSONValue.array(conversations.map(JSONValue.string))
        let heads = try insist { try $0.call("POST", "/v1/heads", ["ids": ids])["heads"] }
        for id in conversations { chronicle.learn(head: heads[id], of: id) }
        if orders.wantsCalm { return try letIn() }
        if turn % 20 == 0 { try comeAndGo() }
        guard turn % 3 == 0, let id = conversations.randomElement(using: &random) else { return }
        if out != nil {
            try letIn()
        } else if random.happens(50), let user = users.randomElement(using: &random) {
            out = (user, id)
            try change(id) { try $0.remove(user, from: id) }
        } else {
            let title = JSONValue.string("title \(turn)")
            try change(id) { try $0.put(id, ["title": title]) }
        }
    }

    private mutating func letIn() throws {
        guard let (user, id) = out else { return }
        out = nil
        try change(id) { try $0.add(user, to: id) }
    }

    /// What is said about slot 0 by the gateway that made the change.
    private func change(_ id: String, _ call: (ServerAPI) throws -> Void) throws {
        let record = try insist { api in
            try call(api)
            return try api.conversation(id)
        }
        chronicle.learn(record: record, of: id)
    }

    /// Conversations by names that were never there before.
    private func comeAndGo() throws {
        let people = JSONValue.array(users.prefix(3).map(JSONValue.string))
        try insist { _ = try $0.put("turn-\(turn)", ["participants": people]) }
        try insist {
            _ = try $0.post(
                ["id": "only", "author": "registrar", "body": "new"], to: "turn-\(turn)")
        }
        guard turn > 20 else { return }
        try insist { api in
            do {
                try api.deleteConversation("turn-\(turn - 20)")
            } catch let error as ServerAPI.Refused where error.code == "not_found" {
                // The first time that it was asked.
            }
        }
    }

    /// Asks one gateway and then the other, until one answers.
    private func insist<Answer>(_ call: (ServerAPI) throws -> Answer) throws -> Answer {
        var place = turn % apis.count
        return try ServerAPI.insist {
            place = (place + 1) % apis.count
            return try call(apis[place])
        }
    }
}
