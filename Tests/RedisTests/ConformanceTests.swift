import Cache
import Chat
import Engine
import FoundationEssentials
import TestSupport
import Testing
import Wire

@testable import Upstream

/// The embedded upstream is the model of every other: asked the same, Redis says the same, but for
/// times and random names.
@Suite struct ConformanceTests {
    private let server: RedisServer

    init() throws { server = try RedisServer() }

    private func embedded(_ directory: String) throws -> Subject {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let store = try Store(
            Store.Options(
                path: directory + "/gapless.db", origin: Embedded.kind, durability: .normal,
                isChecked: true))
        return Subject(try Embedded(store))
    }

    @Test(arguments: 1...20)
    func askedTheSameBothUpstreamsSayTheSame(seed: Int) throws {
        let directory = server.directory + "/\(seed)"
        let model = try embedded(directory)
        let redis = Subject(Redis(try server.options { $0.prefix = "s\(seed):" }))
        try redis.waitUntilOnline()
        var random = RandomOperations(seed: UInt64(seed))
        for conversation in random.conversations { try redis.subscribe(conversation) }
        for step in 1...250 {
            let caller = random.caller()
            let operation = random.operation(by: caller)
            let expected = Transcript.line(Result { try model.perform(operation, by: caller) })
            let seen = Transcript.line(Result { try redis.perform(operation, by: caller) })
            try #require(seen == expected, "seed \(seed), step \(step): \(operation) by \(caller)")
            let query = random.query()
            let answer = Transcript.line(Result { try model.ask(query) })
            let found = Transcript.line(Result { try redis.ask(query) })
            try #require(found == answer, "seed \(seed), step \(step): \(query)")
        }
        let expected = lines(model, random.conversations)
        _ = Deadline.standard.poll { lines(redis, random.conversations).count >= expected.count }
        let seen = lines(redis, random.conversations)
        for (at, line) in expected.enumerated() {
            try #require(at < seen.count, "seed \(seed): the feed did not tell \(line)")
            try #require(seen[at] == line, "seed \(seed), event \(at)")
        }
        #expect(seen.count == expected.count, "seed \(seed)")
    }

    /// What the feed told of conversations whose names were chosen, to which the test listens.
    private func lines(_ subject: Subject, _ conversations: [String]) -> [String] {
        subject.outputs.events.filter { event in
            switch event {
            case .message(let id, _, _, _), .deleted(let id, _, _), .read(let id, _, _),
                .typing(let id, _, _, _):
                conversations.contains(id)
            case .record(let record, _, _, _): conversations.contains(record.id)
            case .listed: false
            }
        }.map(Transcript.line)
    }
}
