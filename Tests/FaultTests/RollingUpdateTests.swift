import Foundation
import Glibc
import TestSupport
import Testing

/// The program of version 0.1, which `make update` builds and names.
private let oldProgram = ProcessInfo.processInfo.environment["TESTED_OLD_PROGRAM"]

extension Faults {
    /// Gateways of 0.1 and of this version on one Redis, one after the other replaced and led back
    /// under load; and what 0.1 has left, opened. Not part of a run that names no program of 0.1.
    @Suite(.enabled(if: oldProgram != nil, "TESTED_OLD_PROGRAM names no program of 0.1"))
    struct RollingUpdates {
        private static let conversations = ["c0", "c1", "c2"]
        private static let settings = [
            "log.level": "info", "page.enabled": "false", "limits.requests_per_second": "5000",
        ]

        /// Somebody who watches everything at one gateway, and comes back to it with what is held.
        private final class Guest {
            let client: ChatTestClient
            let user: String
            private(set) var resets: [String] = []

            init(_ gateway: GatewayProcess, _ user: String) throws {
                self.user = user
                client = try ChatTestClient(port: gateway.port)
                client.queuesEvents = false
                client.onFrame = { [unowned self] frame in
                    guard ["reset", "unsubscribed"].contains(frame["event"]) else { return }
                    resets.append("\(frame)")
                }
                try client.connect(user: user)
                try subscribe()
            }

            private func subscribe() throws {
                for id in conversations where !client.holder(id).isSubscribed {
                    let answer = try client.subscribe(id, limit: 1000)
                    if answer["reset"].bool == true, answer["open"].bool != true {
                        resets.append("\(id): \(answer["head"])")
                    }
                }
            }

            /// Reads what has come, or comes back.
            func look() throws {
                do {
                    if client.connection.hasEnded { try client.reconnect() }
                    try client.pump()
                    try subscribe()
                } catch is ChatTestClient.RequestFailed {
                    // For now; it asks again.
                } catch is TestFailure {
                    client.disconnect()
                } catch is WebSocketConnection.UpgradeRefused {
                    client.disconnect()
                }
            }
        }

        /// Sends, edits and deletes at whichever gateway answers, and keeps what was acknowledged.
        private func writer(
            _ name: String, _ ports: [Int]
        ) -> Background<[String: [String: JSONValue]]> {
            Background { stop in
                let apis = ports.map {
                    ServerAPI(port: $0, apiKey: GatewayProcess.apiKey, learnsWrites: false)
                }
                var kept: [String: [String: JSONValue]] = [:]
                var count = 0
                func call(_ body: (ServerAPI) throws -> JSONValue) throws -> JSONValue {
                    var place = count
                    return try ServerAPI.insist {
                        place += 1
                        return try body(apis[place % apis.count])
                    }
                }
                while !stop.isOver {
                    count += 1
                    let conversation = Self.conversations[count % Self.conversations.count]
                    let id = "\(name)-\(count)"
                    let message = try call {
                        try $0.post(
                            [
                                "id": .string(id), "author": .string(name),
                                "body": .string("\(count)"),
                            ],
                            to: conversation)
                    }
                    kept[conversation, default: [:]][id] = message
                    if count % 5 == 0, let some = kept[conversation]?.keys.sorted().last {
                        kept[conversation]?[some] = try call {
                            try $0.edit(
                                some, in: conversation, ["body": .string("edited \(count)")])
                        }
                    }
                    usleep(4000)
                }
                return kept
            }
        }

        @Test func nothingIsLostWhileOldAndNewShareARedis() throws {
            let redis = try RedisProcess(keeping: .written)
            let settings = Self.settings.merging([
                "upstream.kind": "redis", "upstream.redis.url": redis.url,
            ]) { $1 }
            let gateways = try (0..<2).map { _ in
                let gateway = try GatewayProcess(settings: settings, starts: false)
                gateway.program = oldProgram
                try gateway.start()
                return gateway
            }
            for id in Self.conversations {
                try gateways[0].api().put(id, ["participants": ["guest-0", "guest-1"]])
            }
            let guests = try gateways.enumerated().map { try Guest($1, "guest-\($0)") }
            let writers = (0..<2).map { writer("writer-\($0)", gateways.map(\.port)) }
            func live(_ time: Duration, until: () throws -> Bool = { false }) throws -> Bool {
                let deadline = Deadline.after(time)
                while !deadline.isOver {
                    for guest in guests { try guest.look() }
                    if try until() { return true }
                    usleep(5000)
                }
                return false
            }
            // Forth, back to 0.1 as after a release that was no good, and forth again.
            _ = try live(.seconds(2))
            for (place, program) in [(0, nil), (1, nil), (0, oldProgram), (1, nil), (0, nil)] {
                let gateway = gateways[place]
                gateway.signal(SIGTERM)
                #expect(try live(.seconds(30)) { !gateway.isRunning })
                gateway.program = program
                // 0.1 opens no file of a later version; with Redis it is a cache.
                if program == oldProgram { try removeCache(of: gateway) }
                try gateway.start(waits: false)
                let isReady = try live(.seconds(60)) {
                    (try? gateway.health("/health/ready").status) == 200
                }
                #expect(isReady, "not ready: \(gateway.log.suffix(1000))")
                _ = try live(.seconds(2))
            }
            for writer in writers { writer.end() }
            _ = try live(.seconds(60)) { writers.allSatisfy(\.isDone) }
            let kept = try writers.map { try $0.join() }

            let api = gateways[0].api()
            var count = 0
            for id in Self.conversations {
                let log = try api.learnChanges(of: id).log
                let messages = log?.messages ?? []
                let byID = Dictionary(messages.map { ($0["id"].string ?? "", $0) }) { first, _ in
                    Issue.record("\(id): \(first["id"]) is there twice")
                    return first
                }
                for (message, value) in kept.flatMap({ $0[id] ?? [:] }) {
                    count += 1
                    #expect(byID[message] == value, "\(id): \(message)")
                }
                #expect(messages.count == kept.reduce(0) { $0 + ($1[id]?.count ?? 0) }, "\(id)")
                let isWhole = try live(.seconds(20)) {
                    guests.allSatisfy {
                        let holder = $0.client.holder(id)
                        return !holder.isOpen && holder.asOf == log?.headRev
                    }
                }
                #expect(isWhole, "\(id)")
                for guest in guests {
                    try guest.client.heal(id)
                    #expect(guest.client.holder(id).messages == messages, "\(guest.user), \(id)")
                }
            }
            for guest in guests { #expect(guest.resets == [], "\(guest.user)") }
            #expect(count > 200)
            Faults.report(
                "0.1 and this version on one Redis, five replacements under load"
                    + " | acknowledged \(count) | lost 0 | resets 0")
        }

        private func removeCache(of gateway: GatewayProcess) throws {
            let files = FileManager.default
            for file in try files.contentsOfDirectory(atPath: gateway.directory.path)
            where file.hasPrefix("gapless.db") {
                try files.removeItem(at: gateway.directory.appendingPathComponent(file))
            }
        }

        /// What 0.1 has left in a Redis and its cache, and as an embedded log, is all there.
        @Test(arguments: ["redis", "embedded"])
        func whatTheOldOneLeftOpens(_ kind: String) throws {
            let redis = kind == "redis" ? try RedisProcess(keeping: .written) : nil
            var settings = Self.settings.merging(["upstream.kind": kind]) { $1 }
            if let redis { settings["upstream.redis.url"] = redis.url }
            let gateway = try GatewayProcess(settings: settings, starts: false)
            gateway.program = oldProgram
            try gateway.start()
            let api = gateway.api(learnsWrites: false)
            try api.put(
                "c0", ["participants": ["guest-0", "guest-1"], "title": "old", "kept": [1]])
            for number in 1...300 {
                let line: JSONValue = [
                    "id": .string("m\(number)"), "author": "guest-1", "body": .string("\(number)"),
                ]
                try api.post(line, to: "c0")
            }
            for number in 1...20 {
                try api.edit("m\(number * 3)", in: "c0", ["body": "edited"])
                if number % 4 == 0 { try api.delete("m\(200 + number)", in: "c0") }
            }
            let reader = try gateway.client("guest-0")
            try reader.subscribe("c0", limit: 1000)
            try reader.request("markRead", ["conversation": "c0", "seq": 100])
            let asked: JSONValue = ["conversation": "c0"]
            func everything(_ client: ChatTestClient) throws -> [JSONValue] {
                try [
                    client.request("fetchConversation", asked)["conversation"],
                    client.request("fetchConversations")["conversations"],
                    client.request("fetchParticipants", asked)["participants"],
                    client.request("fetchMessages", ["conversation": "c0", "limit": 1000])[
                        "messages"],
                ]
            }
            let before = try everything(reader)
            #expect(try gateway.terminate() == 0)
            gateway.program = nil
            try gateway.start()
            let held = reader.holder("c0").messages
            try reader.reconnect()
            let answer = try reader.subscribe("c0", limit: 1000)
            #expect(answer["reset"].isNull && answer["deltas"].array?.isEmpty == true)
            #expect(reader.holder("c0").messages == held && held.count == 300)
            for (old, new) in zip(before, try everything(reader)) { #expect(old == new) }
            // The same message sent again is the same, and it goes on.
            let again = gateway.api(learnsWrites: false)
            let first = try again.post(
                ["id": "m1", "author": "guest-1", "body": "1"], to: "c0")
            #expect(first["seq"] == 1)
            let next = try again.post(["id": "m301", "author": "guest-1", "body": "x"], to: "c0")
            #expect(next["seq"] == 301)
            #expect(try gateway.health().json["status"] == "ok")
        }
    }
}
