import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// The main job, end to end: real conversations go in by `gapless replay`, come out live at 50
    /// clients, and are there after a crash.
    @Suite struct ReplayedDays {
        static let clientCount = 50

        @Test func everyClientHoldsEveryDayAndSoDoesTheFileAfterAKill() throws {
            let days = try ChatLog.days()
            let gateway = try GatewayProcess()
            try createConversations(days, gateway.api())
            let swarm = try ClientSwarm(count: Self.clientCount, port: gateway.port) {
                "watcher-\($0)"
            }
            let lists = swarm.clients.map(LiveList.init)
            try swarm.request("subscribeConversations") { _ in [:] }
            for day in days {
                try swarm.request("subscribeMessages") { $0.subscription(day.conversation) }
            }
            try replay(days, into: gateway, watchedBy: swarm)
            try expectLive(days, swarm)
            try expectListed(days, swarm, lists)

            gateway.kill()
            try gateway.start()
            try expectStored(days, gateway)
        }

        /// The test is only as good as its own reader: this is what those who made the data
        /// counted. (They count 2,972 people; one of them has a line without a text.)
        @Test func theLogsAreReadAsTheirAuthorsCountedThem() throws {
            let days = try ChatLog.days()
            guard days.count == 21 else { return #expect(days.count == 2) }
            let lines = days.flatMap(\.lines)
            #expect(lines.count { !$0.isEmote } == 30_896)
            #expect(lines.count(where: \.isEmote) == 95)
            #expect(Set(lines.filter { !$0.isEmote }.map(\.author)).count == 2971)
        }

        /// With the authors, so that the replay has nothing to add; but in the last one, whose
        /// authors join while the 50 watch.
        private func createConversations(_ days: [ChatLog], _ api: ServerAPI) throws {
            let watchers = (0..<Self.clientCount).map { "watcher-\($0)" }
            for day in days {
                let isLast = day.conversation == days.last?.conversation
                let people = Set(watchers + (isLast ? [] : day.authors)).sorted()
                try api.put(
                    day.conversation, ["participants": .array(people.map(JSONValue.string))])
            }
        }

        private func replay(
            _ days: [ChatLog], into gateway: GatewayProcess, watchedBy swarm: ClientSwarm
        ) throws {
            let keys = gateway.directory.appendingPathComponent("api-keys").path
            let log = gateway.directory.appendingPathComponent("replay-log").path
            let flags = ["--url", "http://127.0.0.1:\(gateway.port)", "--api-key-file", keys]
            let program = try ChildProcess(
                GatewayProcess.binary(), ["replay"] + flags + days.map(\.file.path), log: log)
            let ended = try swarm.run(.after(.seconds(180))) { program.exitStatus != nil }
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            #expect(ended && program.exitStatus == 0, "replay: \(said.suffix(500))")
            let count = days.reduce(0) { $0 + $1.lines.count }
            #expect(said.contains("replayed \(count) messages of \(days.count) files"))
        }

        /// Each client's list is the file, in order, once.
        private func expectLive(_ days: [ChatLog], _ swarm: ClientSwarm) throws {
            for day in days {
                // All in one round: who waits for one client does not read the others.
                let whole = try swarm.run {
                    swarm.clients.allSatisfy {
                        $0.holder(day.conversation).held.count >= day.lines.count
                    }
                }
                #expect(whole, "\(day.conversation): not at all clients in time")
                for (place, client) in swarm.clients.enumerated() {
                    let holder = client.holder(day.conversation)
                    #expect(holder.missing().isEmpty && !holder.isOpen, "client \(place)")
                    #expect(day.difference(from: holder.messages) == nil, "client \(place)")
                }
            }
        }

        /// What each client was told of its list of conversations is what it is told when it asks,
        /// and both are right.
        private func expectListed(
            _ days: [ChatLog], _ swarm: ClientSwarm, _ lists: [LiveList]
        ) throws {
            let isTold = try swarm.run {
                lists.allSatisfy { list in
                    days.allSatisfy { list.newest[$0.conversation] == $0.lines.count }
                }
            }
            #expect(isTold, "some lists stayed behind")
            for answer in try swarm.request("fetchConversations", { _ in ["cached": false] }) {
                let list = answer["conversations"].array ?? []
                #expect(answer["total"].int == days.count && list.count == days.count)
                // The latest activity first, which is the order of the replay, backwards.
                #expect(list.compactMap { $0["id"].string } == days.map(\.conversation).reversed())
                for (day, entry) in zip(days.reversed(), list) {
                    #expect(entry["head"]["seq"].int == day.lines.count)
                    #expect(entry["unreadCount"].int == day.lines.count)
                    #expect(entry["lastMessage"]["seq"].int == day.lines.count)
                }
            }
        }

        /// Somebody who was not there before reads all of it.
        private func expectStored(_ days: [ChatLog], _ gateway: GatewayProcess) throws {
            let reader = try gateway.client("watcher-0")
            var random = SplitMix64(seed: LiveGateway.seed(1))
            for day in days {
                let messages = try reader.walkBack(day.conversation) {
                    Int.random(in: 100...1000, using: &random)
                }
                #expect(day.difference(from: messages) == nil)
            }
        }
    }
}

/// The newest message of each conversation, as the events of the list tell it.
private final class LiveList {
    private(set) var newest: [String: Int] = [:]

    init(_ client: ChatTestClient) {
        client.onFrame = { [unowned self] frame in
            guard frame["event"] == "conversations" else { return }
            for delta in frame["deltas"].array ?? [] {
                let entry = delta["conversation"]
                guard let id = entry["id"].string else { continue }
                newest[id] = entry["lastMessage"]["seq"].int ?? 0
            }
        }
    }
}
