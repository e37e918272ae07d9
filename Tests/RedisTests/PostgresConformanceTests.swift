import Cache
import Chat
import FoundationEssentials
import Ports
import Postgres
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
        // A gateway that follows a log has asked for its head.
        let conversations = random.conversations
        guard case .heads(let heads, _) = try postgres.ask(.heads(conversations)) else {
            Issue.record("the heads are not answered")
            return
        }
        for (id, head) in heads.map({ ($0.key.text, $0.value) }) {
            guard case .conversation(let view) = try postgres.ask(.conversation(id)),
                let user = view.record.participants.first
            else { continue }
            let before = postgres.outputs.count
            try postgres.send("the last", to: id, by: user)
            let told: Head = try postgres.outputs.wait("the last of \(id)", from: before) {
                guard case .feed(.message(id, .inserted, _, let head, _)) = $0 else { return nil }
                return head
            }
            #expect(told.rev == head.rev + 1, "seed \(seed)")
        }
        try Self.checkChains(postgres, seed: seed)
    }

    /// Where more take part than a reply lists, or just as many, records name nobody, and events
    /// say who came and went. A reader who follows them knows who takes part.
    @Test(arguments: 101...106)
    func theSameWithMany(seed: Int) throws {
        let directory = FileManager.default.temporaryDirectory.path + "/gapless-pg-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let options = PostgresOptions(url: try PostgresProcess.sharedDatabase())
        let postgres = Subject(PostgresUpstream(options))
        var random = RandomOperations(seed: UInt64(seed), crowd: 98)
        try Conformance.answers(of: postgres, in: directory, seed: seed, &random)
        try Self.checkChains(postgres, seed: seed)
        try Self.checkMembers(postgres, seed: seed)
    }

    /// Follows who takes part by the events alone, as a gateway does that does not ask.
    private static func checkMembers(_ subject: Subject, seed: Int) throws {
        var people: [String: [ID]] = [:]
        var revs: [String: Int] = [:]
        for output in subject.outputs.all {
            switch output {
            case .subscribed(let id, _), .feed(.deleted(let id, _, _)):
                (people[id], revs[id]) = (nil, nil)
            case .feed(.record(let record, let head, let removed, let joined, _, _)):
                let id = record.id
                #expect(record.rev >= head.rev)
                if record.namesEverybody {
                    people[id] = record.participants.map(\.id)
                } else if let rev = revs[id], record.rev > rev, let known = people[id] {
                    let gone = Set(removed.map(\.id))
                    let now = known.filter { !gone.contains($0) } + joined.map(\.id)
                    #expect(now.count == record.participantCount, "seed \(seed), \(id)")
                    #expect(Set(now).count == now.count, "seed \(seed), \(id)")
                    people[id] = now
                }
                revs[id] = record.rev
            default: continue
            }
        }
        for (id, known) in people {
            guard case .conversation(let view) = try subject.ask(.conversation(id)),
                view.record.rev == revs[id]
            else { continue }
            #expect(known == view.record.participants.map(\.id), "seed \(seed), \(id)")
        }
    }

    /// A row of somebody who takes part is gone: nobody is told that the rest is all, until
    /// somebody says who takes part.
    @Test(arguments: [["a", "b", "c"], ["a", "b"], ["a", "d"]])
    func whoNamesEverybodyMendsLostMembers(named: [String]) throws {
        let url = try PostgresProcess.sharedDatabase()
        let postgres = Subject(PostgresUpstream(PostgresOptions(url: url)))
        try postgres.waitUntilOnline()
        func put(_ fields: ConversationFields) throws -> Record? {
            let outcome = try postgres.perform(.put(id: "c", fields), by: .server)
            guard case .conversation(let view, _) = outcome else { return nil }
            return view.record
        }
        _ = try put(ConversationFields(participants: ["a", "b", "c"], admins: ["a"]))
        let session = try SchemaSession(url)
        try session.run("delete from gapless.members where user_id = 'c'")
        for attempt: () throws -> Void in [
            { _ = try postgres.ask(.conversation("c")) },
            { _ = try put(ConversationFields(title: "t")) },
        ] {
            let refusal = #expect(throws: RequestError.self) { try attempt() }
            #expect(refusal?.message.contains("members") == true, "\(refusal as Any)")
        }
        let mended = try put(ConversationFields(participants: named))
        #expect(mended?.participants == named && mended?.admins == ["a"])
        guard case .conversation(let view) = try postgres.ask(.conversation("c")) else {
            Issue.record("the conversation is not answered")
            return
        }
        #expect(view.record.participants == named && view.record.rev == 2)
        #expect(try put(ConversationFields(title: "t"))?.rev == 3)
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
                case .message(let conversation, _, let message, _, _):
                    id = conversation
                    #expect(message.rev >= head.rev)
                case .record(let record, _, _, _, _, _): id = record.id
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
