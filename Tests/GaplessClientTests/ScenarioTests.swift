import Foundation
import Testing
import TestSupport

@testable import GaplessClient

extension LiveClient {
    /// The seven scenarios of a chat's history against the program: what is shown, where the banner
    /// stands, and what was asked for, as the table of clients.md has it. `test_scenarios.py` does
    /// the same with the JavaScript client.
    @MainActor @Suite struct Scenarios {
        private static let read = 200

        /// A conversation of alice and bob of which alice has read the first 200 messages, and her
        /// history of it.
        @MainActor private final class Room: HistoryDelegate {
            let client: ChatClient
            private(set) var history: History?
            private(set) var moves: [String] = []
            private(set) var log: [(id: String, rev: Int)] = []
            private let gateway: GatewayProcess
            private var api: ServerAPI
            private let network: TCPProxy

            init() async throws {
                gateway = try GatewayProcess()
                api = gateway.api()
                try api.put("ops", ["participants": ["alice", "bob"]])
                network = try TCPProxy(to: gateway.port)
                client = try LiveClient.client(gateway, "alice", port: network.port)
                client.connect()
                try write(Scenarios.read)
                let deadline = Deadline.after(.seconds(60))
                while try await !isRead() {
                    guard !deadline.isOver else { throw TestFailure("it does not connect") }
                    try await Task.sleep(for: .milliseconds(10))
                }
            }

            private func isRead() async throws -> Bool {
                do {
                    let read = try await client.markRead(
                        conversation: "ops", upTo: Scenarios.read)
                    return read.lastReadSeq == Scenarios.read
                } catch ClientError.disconnected {
                    return false
                }
            }

            deinit { network.close() }

            /// Messages, of which every tenth is edited and every seventeenth deleted afterwards.
            func write(_ count: Int) throws {
                let first = log.count
                let texts = (0..<count).map { place -> JSONValue in
                    ["author": "bob", "body": .string("message \(first + place + 1)")]
                }
                // A hundred at a time, since those of one call are of one moment.
                let ids = try stride(from: 0, to: count, by: 100).flatMap { from in
                    try api.post(Array(texts[from..<min(count, from + 100)]), to: "ops")
                        .map { $0["id"].string ?? "" }
                }
                for (place, id) in ids.enumerated() {
                    let seq = first + place + 1
                    if seq % 10 == 0 {
                        try api.edit(id, in: "ops", ["body": .string("edited \(seq)")])
                    }
                    if seq % 17 == 0 { try api.delete(id, in: "ops") }
                }
                try learn()
            }

            private func learn() throws {
                let messages = try #require(try api.learnChanges(of: "ops").log).messages
                log = messages.sorted { $0["seq"].int ?? 0 < $1["seq"].int ?? 0 }
                    .map { ($0["id"].string ?? "", $0["rev"].int ?? 0) }
            }

            func open() async throws -> History {
                let conversation = try await client.fetchConversation("ops")
                let history = History(client, conversation: conversation, reader: "alice")
                history.delegate = self
                self.history = history
                history.open()
                try await rest(history)
                return history
            }

            /// Nothing is under way.
            func rest(_ history: History) async throws {
                #expect(
                    try await LiveClient.eventually {
                        history.feed.window.isLive && history.loading == History.Loading()
                    })
            }

            /// An outage in which a message that is held is edited, and others come.
            func miss(_ count: Int, _ history: History) async throws {
                network.set(.refusing)
                #expect(try await LiveClient.eventually { !history.feed.window.isLive })
                try api.edit(log[Scenarios.read - 2].id, in: "ops", ["body": "later"])
                try write(count)
                network.set(.open)
                client.wake()
                try await rest(history)
            }

            /// Scrolls down until there is no more.
            /// - Returns: how many requests that took.
            func toBottom(_ history: History) async throws -> Int {
                let before = history.requestCount
                var turns = 0
                while history.hasMore.after, turns < 200 {
                    turns += 1
                    history.scrolledToBottom()
                    try await rest(history)
                }
                look(history)
                #expect(history.gaps.isEmpty && history.messages.last?.seq == log.count)
                return history.requestCount - before
            }

            func banner(_ history: History) -> Int? {
                history.messages.first { $0.id == history.unreadBannerAfter }?.seq
            }

            /// Every row is the log's, and no hole is silent.
            func look(_ history: History) {
                let missing = Coverage(history.gaps.compactMap(\.places))
                let places = history.messages.compactMap(\.seq)
                let isTrue = history.messages.allSatisfy { message in
                    guard let seq = message.seq, !missing.contains(seq) else { return true }
                    return log[seq - 1] == (message.id, message.rev ?? 0)
                }
                #expect(isTrue, "a row is not the log's")
                for (low, high) in zip(places, places.dropFirst()) where high > low + 1 {
                    #expect(missing.contains(low + 1, high - 1), "\(low) to \(high) is silent")
                }
            }

            func moment(at seq: Int) throws -> Timestamp {
                let page = try api.page("ops", "limit=1&around=\(seq)")
                let text = try #require(page["messages"][0]["createdAt"].string)
                return try #require(Timestamp(text))
            }

            func historyDidChange(_ history: History) {}
            func history(_ history: History, moveTo message: String, highlight: Bool) {
                moves.append(message)
            }
        }

        /// Compares with the last four cells of a line of the table in clients.md.
        private func expect(
            _ scenario: String, banner: Int?, rows: Int, requests: Int, toEnd: Int?,
            at location: SourceLocation = #_sourceLocation
        ) throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../deploy/reference/clients.md")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            let line = try #require(
                lines.first { $0.contains("| \(scenario) |") }, sourceLocation: location)
            let seen = [
                banner.map { "after \($0)" } ?? "none", "\(rows)", "\(requests)",
                toEnd.map { "\($0)" } ?? "",
            ]
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(Array(cells.dropLast().suffix(4)) == seen, sourceLocation: location)
        }

        @Test(arguments: [1, 150, 1_000])
        func openingWithUnreadMessages(_ count: Int) async throws {
            let room = try await Room()
            try room.write(count)
            let history = try await room.open()
            room.look(history)
            let (rows, requests) = (history.messages.count, history.requestCount)
            #expect(room.banner(history) == Self.read)
            let toEnd = try await room.toBottom(history)
            try expect(
                "\(count) unread", banner: room.banner(history), rows: rows, requests: requests,
                toEnd: toEnd)
        }

        @Test func openingWithNothingUnreadAndScrollingUp() async throws {
            let room = try await Room()
            let history = try await room.open()
            room.look(history)
            #expect(history.messages.last?.seq == Self.read)
            try expect(
                "nothing unread", banner: room.banner(history), rows: history.messages.count,
                requests: history.requestCount, toEnd: 0)
            history.scrolledToTop()
            try await room.rest(history)
            room.look(history)
            try expect(
                "scrolled to the top", banner: room.banner(history), rows: history.messages.count,
                requests: history.requestCount, toEnd: 0)
        }

        @Test(arguments: [1, 150, 1_000]) func comingBack(_ count: Int) async throws {
            let room = try await Room()
            let history = try await room.open()
            try await room.miss(count, history)
            room.look(history)
            let (rows, requests) = (history.messages.count, history.requestCount)
            #expect(room.banner(history) == Self.read)
            // What is after the last message comes first.
            #expect(history.messages.first { $0.seq ?? 0 > Self.read }?.seq == Self.read + 1)
            let toEnd = try await room.toBottom(history)
            try expect(
                "\(count) missed", banner: room.banner(history), rows: rows, requests: requests,
                toEnd: toEnd)
        }

        @Test func jumping() async throws {
            let room = try await Room()
            try room.write(1_000)
            let history = try await room.open()
            var before = history.requestCount
            func noted(_ scenario: String) throws {
                room.look(history)
                try expect(
                    scenario, banner: room.banner(history), rows: history.messages.count,
                    requests: history.requestCount - before, toEnd: nil)
                before = history.requestCount
            }
            history.move(to: room.log[Self.read].id)
            try await room.rest(history)
            #expect(room.moves.last == room.log[Self.read].id)
            try noted("a jump to what is there")
            history.move(to: room.log[799].id)
            try await room.rest(history)
            #expect(room.moves.last == room.log[799].id)
            #expect(history.messages.contains { $0.seq == 800 })
            try noted("a jump elsewhere")
            history.move(to: try room.moment(at: 500))
            try await room.rest(history)
            let ids = history.messages.map(\.id)
            #expect(room.moves.last.map(ids.contains) == true)
            try noted("a move to a moment")
        }
    }
}
