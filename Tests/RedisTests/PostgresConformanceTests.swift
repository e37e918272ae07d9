import Cache
import Chat
import FoundationEssentials
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Postgres is asked what Redis is asked, and says the same.
@Suite struct PostgresConformanceTests {
    @Test(arguments: 1...12)
    func askedTheSamePostgresSaysTheSame(seed: Int) throws {
        let directory = FileManager.default.temporaryDirectory.path + "/gapless-pg-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let options = PostgresOptions(url: try PostgresProcess.sharedDatabase())
        let postgres = Subject(PostgresUpstream(options))
        var random = RandomOperations(seed: UInt64(seed))
        try Conformance.answers(of: postgres, in: directory, seed: seed, &random)
        // Whoever follows a log has asked for its head.
        let conversations = random.conversations
        guard case .heads(let heads, _) = try postgres.ask(.heads(conversations)) else { return }
        for (id, head) in heads {
            guard case .conversation(let view) = try postgres.ask(.conversation(id)),
                let user = view.record.participants.first
            else { continue }
            let before = postgres.outputs.count
            try postgres.send("the last", to: id, by: user)
            let told: Head = try postgres.outputs.wait("the last of \(id)", from: before) {
                guard case .feed(.message(id, .inserted, _, let head)) = $0 else { return nil }
                return head
            }
            #expect(told.rev == head.rev + 1, "seed \(seed)")
        }
        try Self.checkChains(postgres, seed: seed)
    }

    /// Each change comes once, behind the one before it, unless the feed began anew.
    private static func checkChains(_ subject: Subject, seed: Int) throws {
        var last: [String: Head] = [:]
        for output in subject.outputs.all {
            switch output {
            case .subscribed(let id, _), .feed(.deleted(let id, _, _)): last[id] = nil
            case .feed(let event):
                guard let head = event.head else { continue }
                let id: String
                switch event {
                case .message(let conversation, _, let message, _):
                    id = conversation
                    #expect(message.rev >= head.rev)
                case .record(let record, _, _, _, _): id = record.id
                default: continue
                }
                if let before = last[id] {
                    try #require(head.epoch == before.epoch, "seed \(seed)")
                    try #require(head.rev == before.rev + 1, "seed \(seed)")
                }
                last[id] = head
            default: continue
            }
        }
    }
}
