import Foundation
import Glibc
import TestSupport
import Testing

extension Faults {
    /// One key of a log is gone, empty, cut or another log's, while a gateway is up, down or
    /// behind: whatever anybody is answered then is whole, or says that it is not; and when it is
    /// mended everybody holds what is there.
    @Suite struct DamagedKeys {
        enum Part: String, CaseIterable, Sendable {
            case meta, marks, messages, changes, ids, members, reads, deleted, trimmed
        }

        enum Damage: String, CaseIterable, Sendable { case deleted, emptied, truncated, swapped }

        /// How the gateway stands when it happens.
        enum Standing: String, CaseIterable, Sendable { case up, down, behind }

        /// `make faults` has each of them five times; a short run some of them, once.
        static let damages = Faults.isLong ? Damage.allCases : [.deleted, .swapped]
        static let parts: [Part] = Faults.isLong ? Part.allCases : [.changes, .members]
        private static let runs = Faults.isLong ? 5 : 1

        @Test(arguments: parts) func nothingIsAnsweredAsWhole(_ part: Part) throws {
            try Self.play("key \(part)") { try Story(part, $0, $1) }
        }

        /// Tells a story with each damage while the gateway stands in each way.
        static func play(
            _ name: String, _ tell: (Damage, Standing) throws -> any DamageStory
        ) throws {
            for damage in damages {
                for standing in Standing.allCases {
                    var said: Set<String> = []
                    var faults = 0
                    var longest: Duration?
                    for run in 0..<runs {
                        let story = try tell(damage, standing)
                        try story.play()
                        said.formUnion(story.said)
                        faults += story.faults.count
                        if let time = story.time { longest = max(longest ?? .zero, time) }
                        let place: Comment = "\(name) \(damage), gateway \(standing), run \(run)"
                        #expect(story.faults.isEmpty, "\(place): \(story.faults.prefix(5))")
                    }
                    Faults.report(
                        "\(name) \(damage), gateway \(standing) | runs \(runs)"
                            + " | \(said.sorted().joined(separator: "; "))"
                            + (longest.map { " | whole after \($0.text) s" } ?? "")
                            + " | silent holes \(faults)")
                }
            }
        }
    }
}

/// A key is damaged, and what everybody is told then.
protocol DamageStory: AnyObject {
    /// What was said of it: the ways in which questions were answered.
    var said: Set<String> { get }
    /// Silent holes.
    var faults: [String] { get }
    /// How long it took until all was whole; nil where that waits for somebody to mend it.
    var time: Duration? { get }

    func play() throws
}

/// One damage of one key, and what everybody is told then.
private final class Story: DamageStory {
    private typealias Part = Faults.DamagedKeys.Part
    private typealias Damage = Faults.DamagedKeys.Damage
    private typealias Standing = Faults.DamagedKeys.Standing

    private let part: Faults.DamagedKeys.Part
    private let damage: Faults.DamagedKeys.Damage
    private let standing: Faults.DamagedKeys.Standing
    private let redis: LinkedRedis
    private let near: GatewayProcess
    private let far: GatewayProcess
    /// The log as it was last, for the clients that hold it.
    private var log: [JSONValue] = []
    private var head = JSONValue.null
    private(set) var said: Set<String> = []
    private(set) var faults: [String] = []
    let time: Duration? = nil

    init(
        _ part: Faults.DamagedKeys.Part, _ damage: Faults.DamagedKeys.Damage,
        _ standing: Faults.DamagedKeys.Standing
    ) throws {
        (self.part, self.damage, self.standing) = (part, damage, standing)
        redis = try LinkedRedis()
        let own = ["upstream.redis.retain": "20", "sync.verify_interval": "1s"]
        let base = Faults.settings.merging(own) { $1 }
        near = try GatewayProcess(settings: base.merging(redis.linkedSettings) { $1 })
        far = try GatewayProcess(settings: base.merging(redis.directSettings) { $1 })
    }

    /// Its log, with everything in it: trimmed messages, edits, a tombstone, read markers.
    private func fill(_ id: String, _ api: ServerAPI) throws {
        try api.put(id, ["participants": ["alice", "bob", "carol"], "title": "Ops"])
        for number in 1...30 {
            let line: JSONValue = ["id": .string("m\(number)"), "author": "bob", "body": "line"]
            try api.post(line, to: id)
        }
        try api.edit("m28", in: id, ["body": "edited"])
        try api.delete("m25", in: id)
    }

    func play() throws {
        let api = far.api(learnsWrites: false)
        for id in ["c1", "c2"] { try fill(id, api) }
        let (alice, bob) = (try near.client("alice"), try far.client("bob"))
        for client in [alice, bob] { try client.subscribe("c1", limit: 1000) }
        try alice.request("markRead", ["conversation": "c1", "seq": 12])
        var view = try alice.request("fetchConversation", ["conversation": "c1"])["conversation"]
        let people = try alice.request("fetchParticipants", ["conversation": "c1"])
        if standing == .down { near.kill() }
        if standing == .behind { redis.proxy.set(.refusing) }
        if standing != .up {
            try api.edit("m27", in: "c1", ["body": "missed"])
            try api.post(["id": "m31", "author": "bob", "body": "missed"], to: "c1")
            view = .null
        }
        log = try api.page("c1", "limit=100&order=asc")["messages"].array ?? []
        head = try api.call("POST", "/v1/heads", ["ids": ["c1"]])["heads"]["c1"]
        #expect(try bob.wait { $0.holder("c1").asOf == self.head["rev"].int })

        try harm()
        switch standing {
        case .up: break
        case .down:
            try near.start()
            try alice.reconnect()
            _ = try? alice.subscribe("c1", limit: 1000)
        case .behind: redis.proxy.set(.open)
        }
        try expectTold(alice, bob)
        try expectNothingFalse(alice, view, people)
        try mend()
        try expectWhole([alice, bob])
    }

    // MARK: what happens

    private var key: String { key("c1") }
    private func key(_ id: String) -> String { "gapless:{\(id)}:\(part.rawValue)" }

    private func harm() throws {
        let server = redis.server
        switch damage {
        case .deleted: try server.ask("DEL", key)
        case .swapped: try server.swap(key, key("c2"))
        case .emptied: try server.empty(key)
        case .truncated: try server.truncate(key)
        }
    }

    /// The log is gone as a whole, and nothing says that it ever was.
    private var isGone: Bool { part == .meta && damage == .deleted }

    // MARK: what clients are told

    private func isTold(_ client: ChatTestClient) -> Bool {
        let holder = client.holder("c1")
        return holder.isOpen || !holder.isSubscribed
    }

    /// The clients that watch are told, and health and log say which conversation and part.
    private func expectTold(_ alice: ChatTestClient, _ bob: ChatTestClient) throws {
        let isTold = try Deadline.standard.poll {
            for client in [alice, bob] { try client.pump() }
            return [alice, bob].allSatisfy(self.isTold)
        }
        if !isTold { faults.append("who watches is not told") }
        said.insert(
            "watchers: "
                + (alice.holder("c1").isSubscribed ? "open" : "told that it ended"))
        guard !isGone else { return }
        let isNamed = Deadline.standard.poll {
            [self.near, self.far].allSatisfy { gateway in
                let health = try? gateway.health().json
                return health?["status"] == "degraded"
                    && health?["upstream"][0]["trouble"].string?.contains("c1") == true
            }
        }
        if !isNamed { faults.append("health does not name it") }
        for gateway in [near, far] where !gateway.logs("conversation c1 is damaged") {
            faults.append("the log of a gateway does not name it")
        }
        said.insert("health degraded, log names conversation and part")
    }

    /// Whatever is answered without a word is what the log was.
    private func expectNothingFalse(
        _ alice: ChatTestClient, _ view: JSONValue, _ people: JSONValue
    ) throws {
        for client in [alice, try near.client("carol"), try far.client("carol")] {
            try look(client, "subscribeMessages", ["conversation": "c1", "limit": 100]) { answer in
                answer["deltas"].array?.map { $0["message"] } ?? []
            }
            try look(client, "fetchMessages", ["conversation": "c1", "limit": 100]) { answer in
                (answer["messages"].array ?? []).reversed()
            }
            if !view.isNull {
                let asked: JSONValue = ["conversation": "c1"]
                if let answer = try result(client, "fetchConversation", asked),
                    client.user == "alice", answer["open"].bool != true,
                    answer["conversation"] != view
                {
                    faults.append("another conversation: \(answer["conversation"])")
                }
                if let answer = try result(client, "fetchParticipants", asked),
                    answer["open"].bool != true, answer["participants"] != people["participants"]
                {
                    faults.append("other participants: \(answer["participants"])")
                }
            }
            try expectListed(client)
        }
        for gateway in [near, far] { try expectRefusing(gateway) }
    }

    private func expectListed(_ client: ChatTestClient) throws {
        guard let list = try result(client, "fetchConversations", [:]) else { return }
        let ids = (list["conversations"].array ?? []).compactMap { $0["id"].string }
        if !ids.contains("c1"), list["open"].bool != true, !isGone {
            faults.append("\(client.user)'s list lacks it: \(ids)")
        }
    }

    /// Nothing is added to what nobody can read, and the same message is not sent twice.
    private func expectRefusing(_ gateway: GatewayProcess) throws {
        do {
            let line: JSONValue = ["id": "m30", "author": "bob", "body": "line"]
            let stored = try gateway.api(learnsWrites: false).post(line, to: "c1")
            faults.append("a message was taken: \(stored["seq"])")
        } catch let error as ServerAPI.Refused {
            said.insert("a write: \(error.code)")
            let isNamed = isGone || error.message.contains(part.rawValue)
            // What is swapped with `meta` contradicts the part that is looked at first.
            if !isNamed, part != .meta { faults.append("not named: \(error.message)") }
            if error.code != (isGone ? "not_found" : "origin_unavailable") {
                faults.append("refused with \(error.code)")
            }
        }
    }

    private func look(
        _ client: ChatTestClient, _ method: String, _ params: JSONValue,
        _ messages: (JSONValue) -> [JSONValue]
    ) throws {
        guard let answer = try result(client, method, params) else { return }
        if answer["open"].bool == true { return }
        let shown = messages(answer).sorted { $0["seq"].int ?? 0 < $1["seq"].int ?? 0 }
        if shown != log {
            faults.append("\(method) of \(client.user) brings \(shown.count) of \(log.count)")
        }
    }

    private func result(
        _ client: ChatTestClient, _ method: String, _ params: JSONValue
    ) throws -> JSONValue? {
        do {
            let answer = try client.request(method, params)
            said.insert("\(method): \(answer["open"].bool == true ? "open" : "whole")")
            return answer
        } catch let error as ChatTestClient.RequestFailed {
            said.insert("\(method): \(error.code)")
            let isExpected =
                error.code == "origin_unavailable" || isGone && error.code == "not_found"
            if !isExpected { faults.append("\(method): \(error.code), \(error.message)") }
            return nil
        }
    }

    // MARK: the end of it

    private func mend() throws {
        let api = far.api(learnsWrites: false)
        let people: JSONValue = ["participants": ["alice", "bob", "carol"], "title": "Ops"]
        if isGone || part == .members {
            try ServerAPI.insist { try api.put("c1", people) }
        } else {
            try repair("c1")
        }
        if damage == .swapped {
            if part == .members {
                try ServerAPI.insist { try api.put("c2", people) }
            } else {
                try repair("c2")
            }
        }
        try ServerAPI.insist {
            try api.post(["id": "mended", "author": "bob", "body": "mended"], to: "c1")
        }
    }

    private func repair(_ id: String) throws {
        let settings = far.settings.filter { $0.key.hasPrefix("upstream") }
        let words = settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
        let child = try ChildProcess(
            try GatewayProcess.binary(), ["repair", "--conversation", id] + words,
            log: far.directory.appendingPathComponent("repair.log").path)
        let isDone = Deadline.standard.poll { child.exitStatus != nil }
        if !isDone || child.exitStatus != 0 { faults.append("repair of \(id) failed") }
    }

    private func expectWhole(_ clients: [ChatTestClient]) throws {
        var latest: [JSONValue] = []
        let isWhole = try Deadline.standard.poll {
            for client in clients {
                try client.pump()
                if !client.holder("c1").isSubscribed { _ = try? client.subscribe("c1", limit: 100) }
            }
            let page = try? self.far.api().page("c1", "limit=100&order=asc")
            latest = page?["messages"].array ?? []
            return !latest.isEmpty
                && clients.allSatisfy { client in
                    let holder = client.holder("c1")
                    return !holder.isOpen && holder.asOf == page?["head"]["rev"].int
                        && holder.messages == latest
                }
        }
        guard !isWhole else { return }
        let held = clients.map {
            "\($0.holder("c1").messages.count) asOf \($0.holder("c1").asOf)"
                + ($0.holder("c1").isOpen ? " open" : "")
        }
        faults.append("not whole when mended: \(held) of \(latest.count)")
    }
}
