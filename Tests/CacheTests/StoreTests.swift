import Cache
import Foundation
import SQLite
import Testing

/// What is refused at the start, and that the refusal says why.
@Suite struct StoreTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// The code of the refusal, whose message must name the file and no more than one line.
    private func refusal(_ options: Store.Options) -> CacheError.Code? {
        do throws(CacheError) {
            _ = try Store(options)
            return nil
        } catch {
            #expect(error.description.contains(options.path))
            #expect(!error.description.contains("\n"))
            return error.code
        }
    }

    private func bytes() throws -> Data { try Data(contentsOf: URL(filePath: scratch.file())) }

    @Test func aFreshFileIsMadeAndOpensAgain() throws {
        for _ in 0..<2 {
            let store = try scratch.store(isChecked: true)
            #expect(try Reader(store).messageCount() == 0)
            #expect(store.bytes > 0)
        }
    }

    @Test func aSecondOwnerIsRefusedUntilTheFirstLetsGo() throws {
        var first: Store? = try scratch.store()
        #expect(refusal(scratch.options(wait: .zero)) == .inUse)
        withExtendedLifetime(first) {}
        first = nil
        #expect(refusal(scratch.options()) == nil)
    }

    @Test func aSecondProcessIsRefused() async throws {
        let store = try scratch.store()
        let path = scratch.file()
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
            do throws(CacheError) {
                _ = try Store(Store.Options(path: path, origin: "embedded"))
            } catch {
                exit(error.code == .inUse ? 7 : 1)
            }
        }
        withExtendedLifetime(store) {}
    }

    @Test func aWaitingStoreGetsTheFileWhenItIsFree() throws {
        let first = Box<Store?>(try scratch.store())
        let options = scratch.options(wait: .seconds(60))
        #expect(refusal(scratch.options(wait: .zero)) == .inUse)
        Thread.detachNewThread { first.value = nil }
        #expect(refusal(options) == nil)
    }

    @Test func aFileThatIsNoDatabaseIsRefusedAndKept() throws {
        let text = Data(String(repeating: "not a database at all\n", count: 500).utf8)
        try text.write(to: URL(filePath: scratch.file()))
        #expect(refusal(scratch.options()) == .notADatabase)
        #expect(try bytes() == text)
    }

    @Test func aDamagedFileIsRefused() throws {
        do { _ = try scratch.store() }
        var data = try bytes()
        // The schema is on the first page; behind its header the cells are overwritten.
        data.replaceSubrange(200..<4096, with: Data(repeating: 0xA5, count: 3896))
        try data.write(to: URL(filePath: scratch.file()))
        #expect(refusal(scratch.options()) == .damaged)
    }

    @Test func damageBehindTheSchemaIsFoundByTheCheck() throws {
        do { _ = try scratch.store() }
        var data = try bytes()
        let rest = 4096..<data.count
        data.replaceSubrange(rest, with: Data(repeating: 0xA5, count: rest.count))
        try data.write(to: URL(filePath: scratch.file()))
        #expect(refusal(scratch.options(isChecked: true)) == .damaged)
    }

    @Test func aCutOffFileIsRefused() throws {
        do { _ = try scratch.store() }
        try bytes().prefix(6000).write(to: URL(filePath: scratch.file()))
        #expect(refusal(scratch.options(isChecked: true)) == .damaged)
    }

    @Test func aFileOfANewerVersionIsRefused() throws {
        do { _ = try scratch.store() }
        try Connection(path: scratch.file(), access: .readWrite)
            .execute("PRAGMA user_version = 99")
        #expect(refusal(scratch.options()) == .newerVersion)
    }

    /// One below 0 made the program trap, and 0 had the tables made once more.
    @Test(arguments: [-3, 0]) func aFileOfNoVersionIsRefused(_ version: Int) throws {
        do { _ = try scratch.store() }
        try Connection(path: scratch.file(), access: .readWrite)
            .execute("PRAGMA user_version = \(version)")
        let before = try bytes()
        #expect(refusal(scratch.options()) == .damaged)
        #expect(throws: CacheError.self) { try Store.look(scratch.options()) }
        #expect(try bytes() == before)
    }

    /// As the seventh version left it.
    private func makeOld() throws {
        do { _ = try scratch.store() }
        try Connection(path: scratch.file(), access: .readWrite).execute(
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
            ALTER TABLE message DROP COLUMN touched;
            CREATE UNIQUE INDEX message_id ON message (cid, id);
            CREATE INDEX message_rev ON message (cid, rev);
            PRAGMA user_version = 7;
            """)
    }

    @Test func aFileThatIsRefusedIsNotMigrated() throws {
        try makeOld()
        let before = try bytes()
        #expect(refusal(scratch.options(origin: "redis")) == .otherOrigin)
        #expect(try bytes() == before)
        #expect(!FileManager.default.fileExists(atPath: scratch.file() + "-wal"))
    }

    @Test func aMigrationIsSaid() throws {
        try makeOld()
        let migration = try #require(try scratch.store().migration)
        #expect(migration == (from: 7, to: 10))
        #expect(try scratch.store().migration == nil)
    }

    @Test func aDatabaseOfAnotherProgramIsRefusedAndKept() throws {
        do {
            try Connection(path: scratch.file(), access: .readWrite)
                .execute("CREATE TABLE bookmarks (url TEXT)")
        }
        let before = try bytes()
        #expect(refusal(scratch.options()) == .otherProgram)
        #expect(try bytes() == before)
    }

    @Test func aFileOfAnotherOriginIsRefused() throws {
        do { _ = try scratch.store(origin: "embedded") }
        #expect(refusal(scratch.options(origin: "redis")) == .otherOrigin)
        #expect(refusal(scratch.options(origin: "embedded")) == nil)
    }

    @Test func aMissingDirectoryIsNamed() {
        var options = scratch.options()
        options.path = scratch.path + "/nowhere/cache.db"
        #expect(refusal(options) == .missingDirectory)
    }

    @Test func aDirectoryThatCannotBeWrittenIsNamed() throws {
        var options = scratch.options()
        if geteuid() == 0 {
            // Modes don't bind root; the kernel's own file system does.
            options.path = "/sys/cache.db"
        } else {
            chmod(scratch.path, 0o555)
        }
        #expect(refusal(options) == .notWritable)
        chmod(scratch.path, 0o755)
    }

    @Test func aDirectoryInThePlaceOfTheFileIsRefused() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.file(), withIntermediateDirectories: false)
        #expect(refusal(scratch.options()) == .notWritable)
    }
}

/// A value that one thread hands to another, once.
final class Box<Value>: @unchecked Sendable {
    // Safety: the value is written by one thread, before or after all others look at it.
    var value: Value

    init(_ value: Value) { self.value = value }
}
