import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// `kill -9` at random moments under writers: what was acknowledged is there, once and in
    /// order, after each start on the same file.
    @Suite struct Crashing {
        static let writerCount = 4

        @Test func whatWasAcknowledgedIsThereOnceAndInOrder() throws {
            let seed = LiveGateway.seed(7)
            var random = SplitMix64(seed: seed)
            let gateway = try GatewayProcess(settings: ["log.level": "warning"])
            try gateway.api().put("ops", ["participants": ["alice", "sender-0", "sender-1"]])
            let watcher = try gateway.client("alice")
            var memories = (0..<Self.writerCount).map { Memory(name: "sender-\($0)") }
            for round in 0..<15 * LiveGateway.scale {
                let place = "round \(round), seed \(seed)"
                if !watcher.holder("ops").isSubscribed {
                    try watcher.reconnect()
                    // What it was told was on the disk before.
                    let answer = try watcher.subscribe("ops", limit: 1000)
                    #expect(answer["reset"].bool != true, "\(place)")
                    try watcher.heal("ops")
                }
                memories = try live(memories, on: gateway, watcher, round, &random)
                watcher.disconnect()

                try gateway.start()
                let reader = try gateway.client("alice")
                let messages = try reader.walkBack("ops") { 1000 }
                for memory in memories { expect(memory, in: messages, place) }
            }
            #expect(memories.allSatisfy { $0.sent.count > 20 }, "seed \(seed)")
            // The last one sees the same as the first one that never left.
            try watcher.reconnect()
            try watcher.subscribe("ops", limit: 1000)
            try watcher.heal("ops")
            let messages = try gateway.client("alice").walkBack("ops") { 1000 }
            let isSame = watcher.holder("ops").messages == messages
            #expect(isSame, "seed \(seed)")
        }

        /// One life of the gateway. Every other one is ended by a writer right behind an
        /// acknowledgement: what came too early is not on the disk yet.
        private func live(
            _ memories: [Memory], on gateway: GatewayProcess, _ watcher: ChatTestClient,
            _ round: Int, _ random: inout SplitMix64
        ) throws -> [Memory] {
            let process = try #require(gateway.processID)
            let writers = memories.enumerated().map { index, memory in
                var memory = memory
                if round % 2 == 1, round / 2 % memories.count == index {
                    memory.execution = (process, Int.random(in: 1...100, using: &random))
                }
                return Background { [memory, port = gateway.port, seed = random.next()] _ in
                    index < 2
                        ? try memory.sendAsUser(port: port)
                        : try memory.sendAsBackend(port: port, seed: seed)
                }
            }
            if round % 2 == 0 {
                let end = Deadline.after(.milliseconds(Int.random(in: 5...600, using: &random)))
                _ = try watcher.wait(end) { _ in false }
                gateway.kill()
            }
            #expect(try watcher.wait { $0.connection.hasEnded })
            gateway.kill()
            return try writers.map { try $0.join() }
        }

        private func expect(_ memory: Memory, in messages: [JSONValue], _ place: String) {
            let own = messages.filter { $0["author"].string == memory.name }
            let ids = own.compactMap { $0["id"].string }
            #expect(Set(ids).count == own.count, "\(place): a message is there twice")
            let found = Dictionary(zip(ids, own)) { first, _ in first }
            // In the order in which it was sent, with nothing acknowledged left out.
            let known = Set(memory.sent.map(\.id))
            let isKept = ids.filter(known.contains) == memory.sent.map(\.id)
            #expect(isKept, "\(place): \(memory.name)")
            for message in memory.sent {
                let stored = found[message.id] ?? .null
                let isThere =
                    stored["rev"].int ?? 0 >= message.rev
                    && (message.isDeleted
                        ? stored["deleted"].bool == true
                        : stored["body"].string == message.body || stored["rev"].int != message.rev)
                #expect(isThere, "\(place): \(memory.name), rev \(message.rev)")
            }
            // What was on its way came whole or not at all.
            let under = memory.underway.filter { found[$0["id"].string ?? ""] != nil }
            #expect(under.isEmpty || under == memory.underway, "\(place): half an array")
            #expect(own.count == memory.sent.count + under.count, "\(place): \(memory.name)")
        }
    }
}

/// What one writer was told was done, over all lives of the gateway.
private struct Memory: Sendable {
    struct Sent: Sendable {
        var id: String
        var rev: Int
        var body: String
        var isDeleted = false
    }

    let name: String
    var sent: [Sent] = []
    /// What was sent and not acknowledged; it is sent again in the next life, and by its id it is
    /// the same message.
    var underway: [JSONValue] = []
    /// The process to kill, and behind how many acknowledgements of this life.
    var execution: (process: pid_t, countdown: Int)?
    private var count = 0

    init(name: String) { self.name = name }

    private mutating func next(_ many: Int) -> [JSONValue] {
        (0..<many).map { _ in
            count += 1
            return [
                "id": .string("\(name)-\(count)"), "author": .string(name),
                "body": .string("\(name) says \(count)"),
            ]
        }
    }

    private mutating func acknowledged(_ messages: [JSONValue]) {
        underway = []
        if let (process, countdown) = execution {
            if countdown == 1 { kill(process, SIGKILL) }
            execution = countdown > 1 ? (process, countdown - 1) : nil
        }
        for message in messages {
            sent.append(
                Sent(
                    id: message["id"].string ?? "", rev: message["rev"].int ?? .max,
                    body: message["body"].string ?? ""))
        }
    }

    /// Sends over a WebSocket, one message after the other, until the gateway is gone.
    func sendAsUser(port: Int) throws -> Memory {
        var memory = self
        let client: ChatTestClient
        do {
            client = try ChatTestClient(port: port)
            try client.connect(user: name)
        } catch is TestFailure {
            // Killed before it could be answered.
            return memory
        }
        while true {
            if memory.underway.isEmpty { memory.underway = memory.next(1) }
            let message = memory.underway[0]
            let params: JSONValue = [
                "conversation": "ops", "id": message["id"], "body": message["body"],
            ]
            do {
                memory.acknowledged([try client.request("sendMessage", params)["message"]])
            } catch let error as ChatTestClient.RequestFailed {
                throw error
            } catch {
                return memory
            }
        }
    }

    /// Posts arrays and single messages, edits and deletes, until the gateway is gone.
    func sendAsBackend(port: Int, seed: UInt64) throws -> Memory {
        var memory = self
        var random = SplitMix64(seed: seed)
        let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
        do {
            while true {
                let place = memory.sent.indices.randomElement(using: &random)
                if memory.underway.isEmpty, let place, random.happens(25) {
                    try memory.change(place, api, deletes: random.happens(30))
                    continue
                }
                if memory.underway.isEmpty {
                    memory.underway = memory.next(Int.random(in: 1...30, using: &random))
                }
                memory.acknowledged(try api.post(memory.underway, to: "ops"))
            }
        } catch let error as ServerAPI.Refused {
            throw error
        } catch {
            return memory
        }
    }

    private mutating func change(_ place: Int, _ api: ServerAPI, deletes: Bool) throws {
        guard !sent[place].isDeleted else { return }
        let id = sent[place].id
        let message: JSONValue
        do {
            message =
                deletes
                ? try api.delete(id, in: "ops")
                : try api.edit(id, in: "ops", ["body": .string("\(name) edits \(id)")])
        } catch is ServerAPI.Refused {
            // Deleted by a call that an earlier life did not live to acknowledge.
            sent[place].isDeleted = true
            return
        }
        sent[place].rev = message["rev"].int ?? .max
        sent[place].body = message["body"].string ?? ""
        sent[place].isDeleted = deletes
    }
}
