import Cache
import Chat
import Foundation
import JSON
import Ports
import SQLite
import Testing
import Wire

/// The file of a replica: full disks, the log beside it, what is found in a damaged one, and files
/// of the first version.
@Suite struct ReplicaCacheFileTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private static func begin(_ id: String) -> StoreWrite {
        let moment = Timestamp(milliseconds: 0)
        let record = Record(
            id: id, title: nil, participants: ["u"], admins: [], metadata: .emptyObject,
            createdAt: moment, updatedAt: moment, rev: 1, unknown: [])
        return .begin(record, head: Head(epoch: "e", seq: 0, rev: 1, mark: "m1"))
    }

    private static func messages(_ id: String, _ places: ClosedRange<Int>) -> [StoreWrite] {
        places.map { seq in
            .message(
                conversation: id,
                EncodedMessage(
                    seq: seq, rev: seq + 1, id: "\(seq)", author: "u", isDeleted: false,
                    createdAt: Timestamp(milliseconds: Int64(seq)),
                    json: [UInt8](repeating: 0x20, count: 500)), mark: "m\(seq + 1)")
        } + [.hold(conversation: id, Coverage(places.lowerBound, places.upperBound), asOf: 1)]
    }

    private static let now = Timestamp(milliseconds: 0)

    @Test func aFullDiskFailsTheWholeTransactionAndIsSurvived() async throws {
        let path = scratch.file()
        // In a process of its own, whose files may not grow beyond a megabyte.
        await #expect(processExitsWith: .success) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            let store = try Store(Store.Options(path: path, origin: "redis", durability: .normal))
            let replica = try ReplicaCache(store, retention: Retention())
            let reader = try Reader(store)
            try replica.perform(
                [ReplicaCacheFileTests.begin("a"), ReplicaCacheFileTests.begin("b")]
                    + ReplicaCacheFileTests.messages("a", 1...100), at: ReplicaCacheFileTests.now)
            let fileSize = Int32(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            getrlimit(fileSize, &limit)
            var unlimited = limit
            limit.rlim_cur = 1 << 20
            setrlimit(fileSize, &limit)
            do throws(CacheError) {
                try replica.perform(
                    ReplicaCacheFileTests.messages("a", 101...200)
                        + ReplicaCacheFileTests.messages("b", 1...5_000),
                    at: ReplicaCacheFileTests.now)
                exit(2)
            } catch {
                guard error.isOfTheDisk else { exit(3) }
            }
            guard try reader.messageCount() == 100, try store.audit().isEmpty else { exit(4) }
            setrlimit(fileSize, &unlimited)
            try replica.probe()
            try replica.perform(
                ReplicaCacheFileTests.messages("b", 1...5_000), at: ReplicaCacheFileTests.now)
            guard try reader.messageCount() == 5_100, try store.audit().isEmpty else { exit(5) }
        }
    }

    @Test func stoppingBringsAllThatWasWrittenIntoTheFile() throws {
        let store = try scratch.store(origin: "redis")
        let replica = try ReplicaCache(store, retention: Retention())
        try replica.perform([Self.begin("a")], at: Self.now)
        for batch in 0..<200 {
            try replica.perform(
                Self.messages("a", batch * 100 + 1...batch * 100 + 100), at: Self.now)
        }
        replica.stop()
        let log = try FileManager.default.attributesOfItem(atPath: scratch.file() + "-wal")
        #expect(log[.size] as? Int == 0, "nothing is left in the log beside it")
        #expect(try store.audit() == [])
    }

    @Test func whatAWriterOfTheFirstVersionLeftGoesOn() throws {
        do {
            let store = try scratch.store()
            let connection = try Connection(path: scratch.file(), access: .readWrite)
            try connection.execute(
                """
                DROP INDEX message_reacted;
                DROP TABLE reaction;
                DROP TABLE presence;
                DROP TABLE presence_lease;
                DROP TABLE mention;
                ALTER TABLE message DROP COLUMN content_rev;
                ALTER TABLE message DROP COLUMN address;
                ALTER TABLE member DROP COLUMN joined_seq;
                DROP INDEX conversation_by_creator;
                DROP VIEW log;
                DROP TABLE tail;
                DROP TABLE place_by_id;
                DROP TABLE place_by_rev;
                DROP INDEX message_id;
                DROP INDEX message_rev;
                CREATE UNIQUE INDEX message_id ON message (cid, id);
                CREATE INDEX message_rev ON message (cid, rev);
                ALTER TABLE message DROP COLUMN touched;
                ALTER TABLE conversation DROP COLUMN changes_from;
                ALTER TABLE conversation DROP COLUMN held;
                ALTER TABLE conversation DROP COLUMN record_mark;
                ALTER TABLE message DROP COLUMN mark;
                ALTER TABLE conversation DROP COLUMN seen_seq;
                ALTER TABLE conversation DROP COLUMN seen_rev;
                ALTER TABLE conversation DROP COLUMN seen_mark;
                ALTER TABLE conversation DROP COLUMN created_by;
                ALTER TABLE member DROP COLUMN sent;
                ALTER TABLE conversation DROP COLUMN members;
                ALTER TABLE conversation DROP COLUMN rest_up_to;
                PRAGMA user_version = 1;
                INSERT INTO conversation (cid, id, epoch, seq, rev, mark, floor, record_rev,
                    last_seq, activity, touched, metadata, created_at, updated_at)
                VALUES (1, 'c', 'e', 1, 2, 'm', 1, 1, 1, 0, 1, '{}', 0, 0);
                INSERT INTO message VALUES (1, 1, 2, 'm1', 'u', 0, 0, x'00', '{"seq":1}');
                INSERT INTO incarnation VALUES (1, 1, 'm');
                UPDATE state SET messages = 1, touched = 1;
                """)
            withExtendedLifetime(store) {}
        }
        let store = try scratch.store()
        let reader = try Reader(store)
        guard case .loaded(let loaded) = try reader.answer(.load(conversation: "c")) else {
            Issue.record("the conversation is not loaded")
            return
        }
        #expect(loaded.lastMessage?.json == Array("{\"seq\":1}".utf8))
        #expect(loaded.cached == nil, "the log itself has no holes")
        let have = Have(head: loaded.head, asOf: 2, runs: Coverage())
        guard
            case .catchUp(let read) = try reader.answer(
                .catchUp(conversation: "c", have: have, limit: 10, bytes: .max))
        else {
            Issue.record("no changes are read")
            return
        }
        #expect(read.tail.map(\.seq) == [1])
        #expect(try store.audit() == [])
    }

    // MARK: the audit

    @Test(arguments: [
        ("DELETE FROM message WHERE seq = 7", "a place is covered and has no message"),
        ("UPDATE conversation SET held = held - 1", "of a conversation are counted wrong"),
        ("UPDATE state SET messages = 3", "the messages are counted wrong"),
        ("UPDATE conversation SET members = 7", "those who take part are counted wrong"),
        ("UPDATE conversation SET last_seq = 3", "the last message is another one"),
        ("UPDATE conversation SET rest_up_to = 1", "where the search for the last one begins"),
        ("UPDATE conversation SET floor = 3", "lies below the floor"),
        ("UPDATE message SET rev = 4 WHERE seq = 7", "two slots have one rev"),
        ("UPDATE conversation SET record_rev = 4", "two slots have one rev"),
        ("INSERT INTO coverage VALUES (1, 3, 4, 9)", "two runs overlap"),
        ("UPDATE coverage SET high = 5; INSERT INTO coverage VALUES (1, 6, 9, 1)", "touch"),
        ("UPDATE coverage SET low = 0", "a run is none"),
        ("INSERT INTO coverage VALUES (5, 3, 4, 9)", "a run of no conversation"),
        ("UPDATE conversation SET removed = 2", "a message of no conversation"),
        (
            "INSERT INTO member SELECT 8, 'v', 1, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0",
            "participant"
        ),
        ("UPDATE conversation SET rev = 5, mark = 'other'", "another mark than the head"),
    ])
    func eachDamageIsFound(_ damage: String, _ finding: String) throws {
        let store = try scratch.store(origin: "redis")
        let replica = try ReplicaCache(store, retention: Retention())
        try replica.perform([Self.begin("a")] + Self.messages("a", 1...9), at: Self.now)
        #expect(try store.audit() == [])
        // Until then nobody else may.
        replica.stop()
        try Connection(path: scratch.file(), access: .readWrite).execute(damage)
        let findings = try store.audit()
        #expect(findings.contains { $0.contains(finding) }, "\(findings)")
    }

    @Test func aHoleInTheEmbeddedLogIsFound() throws {
        let store = try scratch.store()
        try Connection(path: scratch.file(), access: .readWrite).execute(
            """
            INSERT INTO conversation (cid, id, epoch, seq, rev, mark, floor, record_rev,
                last_seq, activity, touched, metadata, created_at, updated_at)
            VALUES (1, 'c', 'e', 2, 3, 'm', 1, 1, 2, 0, 1, '{}', 0, 0);
            INSERT INTO message VALUES
                (1, 2, 3, 'm1', 'u', 0, 0, x'00', '{}', NULL, NULL, NULL, NULL);
            UPDATE state SET messages = 1, touched = 1;
            """)
        #expect(
            try store.audit() == ["a place has no message (head, messages): conversation 1, 2, 1"])
    }
}
