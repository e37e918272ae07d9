import Cache
import Chat
import FoundationEssentials
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// The embedded upstream is the model of every other: asked the same, Redis says the same, but for
/// times and random names.
@Suite struct ConformanceTests {
    private let server: RedisProcess

    init() throws { server = try RedisProcess(keeping: .nothing) }

    @Test(arguments: 1...20)
    func askedTheSameBothUpstreamsSayTheSame(seed: Int) throws {
        let redis = Redis(try server.options { $0.prefix = "s\(seed):" })
        try Conformance.check(Subject(redis), in: server.directory + "/\(seed)", seed: seed)
    }

    /// Where more take part than a reply lists, or just as many, records name nobody. The answers
    /// and the feed are still the same.
    @Test(arguments: 101...104)
    func theSameWithMany(seed: Int) throws {
        let redis = Redis(try server.options { $0.prefix = "s\(seed):" })
        try Conformance.check(
            Subject(redis), in: server.directory + "/\(seed)", seed: seed, crowd: 98)
    }
}

/// A run of random operations and questions, which an upstream must answer as the embedded one.
enum Conformance {
    private static func embedded(_ directory: String) throws -> Subject {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let store = try Store(
            Store.Options(
                path: directory + "/gapless.db", origin: Embedded.kind, durability: .normal,
                isChecked: true))
        return Subject(try Embedded(store))
    }

    static func check(
        _ redis: Subject, in directory: String, seed: Int, crowd: Int = 0
    ) throws {
        var random = RandomOperations(seed: UInt64(seed), crowd: crowd)
        let model = try answers(of: redis, in: directory, seed: seed, &random)
        for conversation in random.conversations {
            let expected = lines(model, conversation)
            _ = Deadline.standard.poll { lines(redis, conversation).count >= expected.count }
            let seen = lines(redis, conversation)
            for (at, line) in expected.enumerated() {
                try #require(at < seen.count, "seed \(seed): the feed did not tell \(line)")
                try #require(seen[at] == line, "seed \(seed), \(conversation), event \(at)")
            }
            #expect(seen.count == expected.count, "seed \(seed), \(conversation)")
        }
    }

    /// Compares the answers, one by one. Returns the model, which was asked the same.
    @discardableResult
    static func answers(
        of redis: Subject, in directory: String, seed: Int, _ random: inout RandomOperations
    ) throws -> Subject {
        let model = try embedded(directory)
        try redis.waitUntilOnline()
        try redis.enable()
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
            let (conversation, user) = (random.conversation(), random.anybody())
            let own = HistoryQuery.conversation(conversation, reader: user)
            let counted = try mentions(of: user, in: conversation, model)
            for subject in [model, redis] {
                let unread = (try? subject.ask(own)).flatMap(\.reader)?.unreadMentions
                try #require(unread == counted, "seed \(seed), step \(step): \(user)")
            }
        }
        return model
    }

    /// How many unread messages mention a user, counted in the log; nil if the user takes no part.
    private static func mentions(
        of user: String, in conversation: String, _ subject: Subject
    ) throws -> Int? {
        guard
            let reader = (try? subject.ask(.conversation(conversation, reader: user)))?.reader,
            case .participants(let people) = try subject.ask(
                .participants(conversation: conversation, ParticipantsRequest(limit: 0))),
            case .page(let page) = try subject.ask(
                .page(conversation: conversation, PageRequest(limit: 1000)))
        else { return nil }
        let member = try people.participants.map { try Participant($0) }.first { $0.id == user }
        let start = max(reader.lastReadSeq, member?.joinedSeq ?? 0, page.head.floor - 1)
        return try page.messages.count { message in
            let value = try Message(message.json)
            return message.seq > start && message.author != user
                && (value.mentionAll || value.mentions.contains(user))
        }
    }

    /// What the feed told of a conversation.
    private static func lines(_ subject: Subject, _ conversation: String) -> [String] {
        subject.outputs.events.filter { event in
            switch event {
            case .message(let id, _, _, _, _), .deleted(let id, _, _), .read(let id, _, _),
                .typing(let id, _, _, _):
                id == conversation
            case .record(let record, _, _, _, _, _): record.id == conversation
            case .listed: false
            }
        }.map(Transcript.line)
    }
}

extension HistoryAnswer {
    /// The reader's own numbers, of a conversation.
    fileprivate var reader: ReaderState? {
        if case .conversation(let view) = self { view.reader } else { nil }
    }
}
