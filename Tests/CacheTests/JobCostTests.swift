import Cache
import Ports
import SQLite
import Synchronization
import Testing
import Wire

/// Who pays for a job that seemed long, on a clock of the test's.
@Suite struct JobCostTests {
    /// A steady clock, and what the writer's thread ran, in milliseconds.
    private final class Work: Sendable {
        private let state = Mutex((instant: 0, ran: 0))

        func pass(_ time: Int, running: Int) {
            state.withLock { $0 = ($0.instant + time, $0.ran + running) }
        }

        var clock: WriterClock {
            WriterClock(
                instant: { self.state.withLock { .milliseconds($0.instant) } },
                usage: { self.state.withLock { ThreadUsage(ran: .milliseconds($0.ran)) } })
        }
    }

    /// In one batch a long job, by which the account is kept from then on; five that are not long,
    /// each by another user; and Eve's, which takes 30 ms. Then there is one more of hers and
    /// twenty of Fred's: she waits for all of his if hers cost 30 ms, and for one if it lost its
    /// core, whatever those before it ran.
    @Test(arguments: [(running: 30, place: 20), (running: 0, place: 1)])
    func aJobIsChargedForWhatItRanItself(running: Int, place: Int) throws {
        let (scratch, journal, work) = (try Scratch(), Journal(), Work())
        var pace = WriterPace()
        (pace.slice, pace.row) = (.seconds(3600), .milliseconds(1))
        let writer = try Writer(
            try scratch.store(), pace: pace, clock: work.clock, onWritable: { _ in }
        ) { connection throws(CacheError) in try Ledger(connection, journal) }
        func job(by user: String, _ time: Int, running: Int) -> Ledger.Job {
            .blockFor(user) { work.pass(time, running: running) }
        }
        var jobs = [job(by: "ann", 30, running: 30)]
        jobs += (0..<5).map { job(by: "ben \($0)", 10, running: 10) }
        jobs += [job(by: "eve", 30, running: running), .insertFor("eve", 0, cost: 1)]
        jobs += (1...20).map { .insertFor("fred", $0, cost: 1) }
        #expect(writer.submit(jobs) == .taken)
        writer.stop()
        #expect(writer.figures.commits == 1)
        #expect(journal.committed.firstIndex(of: 0) == place, "\(journal.committed)")
    }
}
