import Cache
import Foundation
import SQLite
import Testing

/// A writer whose file goes away under it.
@Suite struct WriterFileTests {
    private let scratch: Scratch
    private let journal = Journal()

    init() throws { scratch = try Scratch() }

    private func writer(_ store: Store) throws -> Writer<Ledger> {
        let journal = journal
        var pace = WriterPace()
        (pace.slice, pace.row) = (.seconds(3600), .seconds(3600))
        return try Writer(store, pace: pace, onWritable: { journal.note(writable: $0 == nil) }) {
            connection throws(CacheError) in
            try Ledger(connection, journal)
        }
    }

    /// A commit into a file that is gone, or is another one, is none: nobody can say of it that it
    /// is done, not even when the file is back.
    @Test(arguments: ["", "-wal", "-shm"])
    func whatIsCommittedWhileTheFileIsAwayIsNotAcknowledged(_ end: String) throws {
        let writer = try writer(try scratch.store())
        let path = scratch.file() + end
        // Behind the look before the transaction.
        _ = writer.submit([.insert(1), .block { rename(path, path + "-away") }])
        journal.waitForEnd(of: 1)
        #expect(rename(path + "-away", path) == 0)
        _ = writer.submit([.insert(2)])
        journal.waitForEnd(of: 2)
        #expect(journal.undone == [1, 2] && journal.committed.isEmpty)
        writer.stop()
    }

    /// A file system that is frozen takes no write, not even into SQLite's index of the log. Who
    /// reads first what was committed writes there; that is the thread that committed.
    @Test func whoReadsWhatWasCommittedWritesNothing() throws {
        let store = try scratch.store()
        let writer = try writer(store)
        let reader = try Reader(store)
        func index() throws -> Data {
            try Data(contentsOf: URL(fileURLWithPath: scratch.file() + "-shm"))
        }
        for count in 1...3 {
            _ = writer.submit([.insert(count)])
            journal.waitForEnd(of: count)
            let before = try index()
            _ = try reader.messageCount()
            #expect(try index() == before)
        }
        writer.stop()
    }

    /// One that was away in between goes on when it is back.
    @Test func aFileThatIsBackIsWrittenAgain() throws {
        let writer = try writer(try scratch.store())
        let path = scratch.file()
        #expect(rename(path, path + "-away") == 0)
        _ = writer.submit([.insert(1)])
        journal.waitForWritable(count: 1)
        #expect(rename(path + "-away", path) == 0)
        journal.waitForWritable(count: 2)
        _ = writer.submit([.insert(2)])
        writer.stop()
        #expect(journal.undone == [1] && journal.committed == [2])
    }
}
