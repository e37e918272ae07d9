import Foundation
import Synchronization
import TestSupport
import Testing

extension Faults {
    /// What it costs that everybody with a long list comes back at once, when little has changed:
    /// bytes as many as what changed, and questions to the origin as many as there are nodes. With
    /// `TESTED_OLD_PROGRAM` the same is asked of 0.1. `TEST_LIST_USERS` says how many come.
    @Suite struct ListStorms {
        private static let users =
            ProcessInfo.processInfo.environment["TEST_LIST_USERS"].flatMap { Int($0) }
            ?? 200
        /// Of each user, of which 1 % change.
        private static let listed = 500
        /// In each conversation.
        private static let members = 100
        private static let conversations = users * listed / members
        /// So many ask for their first list at once, so that neither the gateway nor Redis waits.
        private static let together = 16
        /// One Redis answers everybody.
        private static let patience = Duration.seconds(1800)

        /// What it came to, for each user.
        private struct Cost {
            var bytes: [Int] = []
            var changed: [Int] = []
            var commands = 0.0
            var reads = 0.0
            var time = Duration.zero
            /// How often somebody was asked to come back later.
            var refused = 0
        }

        /// A minute, so that `make faults` alone does it.
        @Test(.enabled(if: Faults.isLong)) func whoComesBackIsToldWhatChanged() throws {
            let redis = try RedisProcess(keeping: .nothing)
            let new = try filled(redis)
            let after = try cost(of: new, redis)
            report("this version", after)
            #expect(after.changed.allSatisfy { $0 > 0 && $0 < Self.listed / 10 })
            // One conversation of a list takes some 600 bytes, the token at most 15 KiB.
            for (bytes, changed) in zip(after.bytes, after.changed) {
                #expect(bytes < 2000 * changed + 20_000, "\(bytes) for \(changed)")
            }
            // One batch for the list and its log, one for its conversations, one for those shown,
            // and what the gateway does to follow the list.
            #expect(after.reads < 40, "\(after.reads) batches a user")
        }

        private static let oldProgram =
            ProcessInfo.processInfo.environment["TESTED_OLD_PROGRAM"]

        /// What it was before, to be read beside the figures of the test above.
        @Test(
            .enabled(if: Faults.isLong), .enabled(if: oldProgram != nil, "it names no program"))
        func whoComesBackToTheOldProgramIsCounted() throws {
            let redis = try RedisProcess(keeping: .nothing)
            try filled(redis).kill()
            let old = try GatewayProcess(
                settings: [
                    "upstream.kind": "redis", "upstream.redis.url": redis.url,
                    "limits.requests_per_second": "5000",
                ], starts: false)
            let program: String = try #require(Self.oldProgram)
            old.program = program
            try old.start()
            let before = try cost(of: old, redis)
            report("0.1", before)
            #expect(before.bytes.count == Self.users)
        }

        /// A gateway of this version, and the lists of all users in its Redis.
        private func filled(_ redis: RedisProcess) throws -> GatewayProcess {
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(["upstream.redis.url": redis.url]) { $1 })
            try fill(gateway)
            return gateway
        }

        private func fill(_ gateway: GatewayProcess) throws {
            let (fillers, port) = (4, gateway.port)
            let failed = Mutex<[any Error]>([])
            DispatchQueue.concurrentPerform(iterations: fillers) { filler in
                do {
                    let api = ServerAPI(
                        port: port, apiKey: GatewayProcess.apiKey, learnsWrites: false)
                    for number in stride(from: filler, to: Self.conversations, by: fillers) {
                        try fill(number, api)
                    }
                } catch {
                    failed.withLock { $0.append(error) }
                }
            }
            if let error = failed.withLock({ $0.first }) { throw error }
        }

        private func fill(_ number: Int, _ api: ServerAPI) throws {
            let people = (0..<Self.members).map { place -> JSONValue in
                .string("u\((number * Self.members + place) % Self.users)")
            }
            try ServerAPI.insist { try api.put("c\(number)", ["participants": .array(people)]) }
            try ServerAPI.insist {
                try api.post(["author": "u0", "body": "first"], to: "c\(number)")
            }
        }

        private func cost(of gateway: GatewayProcess, _ redis: RedisProcess) throws -> Cost {
            let users = (0..<Self.users).map { "u\($0)" }
            let tokens = try tokens(of: users, gateway)
            let api = gateway.api(learnsWrites: false)
            // Spread, so that every user has some of them.
            let parts = max(1, Self.users / Self.members)
            for number in stride(from: 0, to: Self.conversations, by: 100 * parts) {
                for part in 0..<parts {
                    try api.post(
                        ["author": "u0", "body": "changed"],
                        to: "c\((number + part) % Self.conversations)")
                }
            }
            var cost = Cost()
            let clients = try users.map { try gateway.client($0) }
            let before = try figures(redis)
            let began = ContinuousClock.now
            var asked = try zip(clients, tokens).map {
                try $0.send("subscribeConversations", ["since": $1])
            }
            var waiting = Array(clients.indices)
            let deadline = Deadline.after(Self.patience)
            while !waiting.isEmpty, !deadline.isOver {
                // All of them, so that each goes on answering pings.
                waiting = try waiting.filter { place in
                    let client = clients[place]
                    try client.pump()
                    guard let reply = client.takeReply(to: asked[place]) else { return true }
                    guard reply["error"]["code"] == "origin_unavailable" else {
                        try note(reply, client, &cost)
                        return false
                    }
                    cost.refused += 1
                    asked[place] = try client.send(
                        "subscribeConversations", ["since": tokens[place]])
                    return true
                }
                Thread.sleep(forTimeInterval: 0.1)
            }
            #expect(waiting.isEmpty, "\(waiting.count) of \(clients.count) were not answered")
            cost.time = ContinuousClock.now - began
            let after = try figures(redis)
            cost.commands = Double(after.commands - before.commands) / Double(users.count)
            cost.reads = Double(after.reads - before.reads) / Double(users.count)
            for client in clients { client.disconnect() }
            return cost
        }

        /// What everybody knows before it changes.
        private func tokens(of users: [String], _ gateway: GatewayProcess) throws -> [JSONValue] {
            var tokens: [JSONValue] = []
            for first in stride(from: 0, to: users.count, by: Self.together) {
                let clients = try users[first..<min(first + Self.together, users.count)].map {
                    try gateway.client($0)
                }
                let asked = try clients.map { try $0.send("subscribeConversations") }
                for (client, id) in zip(clients, asked) {
                    tokens.append(try client.result(of: id, .after(Self.patience))["token"])
                    client.disconnect()
                }
            }
            return tokens
        }

        /// What the reply cost; who is not told what changed walks through the list.
        private func note(
            _ reply: JSONValue, _ client: ChatTestClient, _ cost: inout Cost
        ) throws {
            #expect(reply["error"].isNull, "\(reply["error"])")
            var answer = reply["result"]
            var bytes = answer.bytes.count
            var changed = answer["conversations"].array?.count ?? 0
            if answer["complete"] != true {
                var params: JSONValue = ["limit": 100]
                repeat {
                    answer = try client.request(
                        "fetchConversations", params, deadline: .after(Self.patience))
                    bytes += answer.bytes.count
                    changed += answer["conversations"].array?.count ?? 0
                    params["cursor"] = answer["next"]
                } while !answer["next"].isNull
            }
            cost.bytes.append(bytes)
            cost.changed.append(changed)
        }

        /// Commands that Redis was sent, and how often it had something to read.
        private func figures(_ redis: RedisProcess) throws -> (commands: Int, reads: Int) {
            let stats = try redis.info("stats")
            return (
                stats["total_commands_processed"].flatMap { Int($0) } ?? 0,
                stats["total_reads_processed"].flatMap { Int($0) } ?? 0
            )
        }

        private func report(_ name: String, _ cost: Cost) {
            func middle(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }
            Faults.report(
                "lists of \(name): \(Self.users) users × \(Self.listed), back at once"
                    + " | bytes a user: median \(middle(cost.bytes)), most \(cost.bytes.max() ?? 0)"
                    + " | conversations shown: median \(middle(cost.changed))"
                    + " | a user: commands \(Int(cost.commands)), reads of Redis \(cost.reads)"
                    + " | all answered in \(cost.time.text) s, \(cost.refused) refusals")
        }
    }
}
