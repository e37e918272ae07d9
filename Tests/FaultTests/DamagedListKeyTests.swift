import Foundation
import TestSupport
import Testing

extension Faults {
    /// A key of a user is gone, empty, cut or another user's, while a gateway is up, down or
    /// behind: whatever list anybody is answered then is whole, or says that it is not; and soon it
    /// is whole again, without anybody's doing.
    @Suite struct DamagedListKeys {
        enum Part: String, CaseIterable, Sendable { case list, meta, marks, gone }

        static let parts: [Part] = Faults.isLong ? Part.allCases : [.list]

        @Test(arguments: parts) func noListIsAnsweredAsWhole(_ part: Part) throws {
            try DamagedKeys.play("key of a user \(part)") { try ListStory(part, $0, $1) }
        }
    }
}

/// One damage of one key of alice's, and what lists are told then.
private final class ListStory: DamageStory {
    private typealias Damage = Faults.DamagedKeys.Damage

    private let part: Faults.DamagedListKeys.Part
    private let damage: Faults.DamagedKeys.Damage
    private let standing: Faults.DamagedKeys.Standing
    private let redis: LinkedRedis
    private let near: GatewayProcess
    private let far: GatewayProcess
    /// The conversations that alice is in, and those that she ever was in.
    private var present: Set<String> = []
    private var known: Set<String> = []
    private(set) var said: Set<String> = []
    private(set) var faults: [String] = []
    /// From the damage, or the gateway's return, until lists were whole again.
    private(set) var time: Duration?

    init(
        _ part: Faults.DamagedListKeys.Part, _ damage: Faults.DamagedKeys.Damage,
        _ standing: Faults.DamagedKeys.Standing
    ) throws {
        (self.part, self.damage, self.standing) = (part, damage, standing)
        redis = try LinkedRedis()
        let base = Faults.settings.merging(["sync.verify_interval": "1s"]) { $1 }
        near = try GatewayProcess(settings: base.merging(redis.linkedSettings) { $1 })
        far = try GatewayProcess(settings: base.merging(redis.directSettings) { $1 })
    }

    private func join(_ id: String, _ api: ServerAPI) throws {
        try api.put(id, ["participants": ["alice", "bob"]])
        present.insert(id)
        known.insert(id)
    }

    private func leave(_ id: String, _ api: ServerAPI) throws {
        try api.remove("alice", from: id)
        present.remove(id)
    }

    func play() throws {
        let api = far.api(learnsWrites: false)
        for number in 1...30 { try join("c\(number)", api) }
        for number in 1...10 { try api.put("other\(number)", ["participants": ["carol"]]) }
        for id in ["c28", "c29", "c30"] { try leave(id, api) }
        try api.remove("carol", from: "other10")
        for (user, gateway) in [("alice", near), ("alice", far), ("carol", far)] {
            _ = try gateway.client(user).request("fetchConversations")
        }
        let watcher = try ListWatcher(near, "alice")
        let other = try near.client("alice").request("subscribeConversations", ["limit": 1000])
        let held = Set(ids(other, "conversations"))
        #expect(held == present)
        if standing == .down { near.kill() }
        if standing == .behind { redis.proxy.set(.refusing) }
        if standing != .up {
            try join("missed", api)
            try leave("c3", api)
            try api.post(["author": "bob", "body": "missed"], to: "c5")
        }
        try harm()
        if standing == .down { try near.start() }
        if standing == .behind { redis.proxy.set(.open) }
        let began = ContinuousClock.now
        let isWhole = try Deadline.standard.poll {
            try [self.near, self.far].map { try self.look($0, held, other["token"]) }
                .allSatisfy { $0 }
        }
        time = .now - began
        if !isWhole { faults.append("not whole again") }
        let isNamed = [near, far].contains { $0.log.contains("the list of user alice in Redis") }
        if isNamed { said.insert("the log names the list") }
        if part == .list, !isNamed { faults.append("no log names it") }
        try expectFollowed(watcher, api)
    }

    private func ids(_ answer: JSONValue, _ field: String) -> [String] {
        (answer[field].array ?? []).compactMap { $0["id"].string ?? $0.string }
    }

    // MARK: what happens

    private func key(of user: String) -> String {
        part == .list
            ? "gapless:user:\(user)" : "gapless:departures:{\(user)}:\(part.rawValue)"
    }

    private func harm() throws {
        let (server, key) = (redis.server, key(of: "alice"))
        // What was entered within the last minute may be of a call that is under way.
        let age = """
            for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -2)) do
              redis.call('ZINCRBY', KEYS[1], -100000, name)
            end
            """
        try server.ask("EVAL", age, "1", "gapless:user:carol")
        switch (damage, part) {
        case (.deleted, _): try server.ask("DEL", key)
        case (.swapped, _):
            try server.swap(key, self.key(of: "carol"))
        case (.emptied, .list):
            let script = """
                for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
                  if name:byte() ~= 9 then redis.call('ZREM', KEYS[1], name) end
                end
                """
            try server.ask("EVAL", script, "1", key)
        case (.truncated, .list): try server.ask("ZREM", key, "c7")
        case (.emptied, .meta): try server.ask("HDEL", key, "seq", "base", "gone", "list")
        case (.truncated, .meta): try server.ask("HDEL", key, "gone")
        case (.emptied, _): try server.empty(key)
        case (.truncated, _): try server.truncate(key)
        }
    }

    // MARK: what clients are told

    /// Asks a gateway for alice's list in each way.
    /// - Returns: whether all was answered as whole.
    private func look(
        _ gateway: GatewayProcess, _ held: Set<String>, _ token: JSONValue
    ) throws -> Bool {
        let client = try gateway.client("alice")
        defer { client.disconnect() }
        var isWhole = true
        if let page = try result(client, "fetchConversations", ["limit": 1000]) {
            expect(Set(ids(page, "conversations")), page["total"], "fetchConversations")
        } else {
            isWhole = false
        }
        let params: JSONValue = ["since": token, "limit": 1000]
        if let changes = try result(client, "subscribeConversations", params) {
            let (told, removed) = (ids(changes, "conversations"), ids(changes, "removed"))
            let knows = changes["complete"] == true
            said.insert("a token: \(knows ? "complete" : "the list anew")")
            let shown = knows ? held.union(told).subtracting(removed) : Set(told)
            expect(shown, changes["total"], "subscribeConversations")
            if !known.isSuperset(of: removed) { faults.append("told of others: \(removed)") }
        } else {
            isWhole = false
        }
        do {
            let api = gateway.api(learnsWrites: false)
            let list = try api.call("GET", "/v1/conversations?user=alice&limit=1000")
            expect(Set(ids(list, "conversations")), list["total"], "the server API")
        } catch let error as ServerAPI.Refused {
            isWhole = false
            if error.code != "origin_unavailable" { faults.append("the server API: \(error.code)") }
        }
        return isWhole
    }

    private func expect(_ shown: Set<String>, _ total: JSONValue, _ what: String) {
        guard shown != present || total.int != present.count else { return }
        faults.append(
            "\(what): lacks \(present.subtracting(shown).sorted()), has too many"
                + " \(shown.subtracting(present).sorted()), total \(total)")
    }

    /// - Returns: nil if it is refused, or says that it may not be all.
    private func result(
        _ client: ChatTestClient, _ method: String, _ params: JSONValue
    ) throws -> JSONValue? {
        do {
            let answer = try client.request(method, params)
            said.insert("\(method): \(answer["open"].bool == true ? "open" : "whole")")
            guard answer["open"].bool != true else { return .none }
            return answer
        } catch let error as ChatTestClient.RequestFailed {
            said.insert("\(method): \(error.code)")
            if error.code != "origin_unavailable" {
                faults.append("\(method): \(error.code), \(error.message)")
            }
            return .none
        }
    }

    /// A client that watched all the time, or came back, knows the list, and hears what comes then.
    private func expectFollowed(_ watcher: ListWatcher, _ api: ServerAPI) throws {
        let watcher = standing == .down ? try ListWatcher(near, "alice") : watcher
        try join("later", api)
        try leave("c11", api)
        let isFollowed = try Deadline.standard.poll {
            try watcher.client.pump()
            return Set(watcher.list.keys) == self.present
        }
        guard !isFollowed else { return }
        let shown = Set(watcher.list.keys)
        faults.append(
            "who watches lacks \(present.subtracting(shown).sorted()), has too many"
                + " \(shown.subtracting(present).sorted())")
    }
}
