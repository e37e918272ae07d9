import Cache
import Foundation
import Ports
import SQLite
import Synchronization
import Testing
import Wire

/// Batches: what shares a commit, what is undone together, and what a full disk does.
@Suite struct WriterTests {
    private let scratch: Scratch
    private let journal = Journal()

    init() throws { scratch = try Scratch() }

    /// By default, however long a job takes, its user pays no more for it, and the batch goes on.
    private func writer(
        _ store: Store, slice: Duration = .seconds(3600), row: Duration = .seconds(3600)
    ) throws -> Writer<Ledger> {
        let journal = journal
        var pace = WriterPace()
        (pace.slice, pace.row) = (slice, row)
        return try Writer(store, pace: pace, onWritable: { journal.note(writable: $0 == nil) }) {
            connection throws(CacheError) in
            try Ledger(connection, journal)
        }
    }

    /// Keeps the writer busy until the semaphore is signalled.
    private func hold(_ writer: Writer<Ledger>) -> DispatchSemaphore {
        let started = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        #expect(
            writer.submit([
                .block {
                    started.signal()
                    gate.wait()
                }
            ]) == .taken)
        started.wait()
        return gate
    }

    @Test func jobsThatWaitShareACommitAndAreToldInOrder() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        for number in 0..<100 { #expect(writer.submit([.insert(number)]) == .taken) }
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(0..<100))
        #expect(writer.figures.commits == 1)
        #expect(writer.figures.rows == 100)
    }

    @Test func aBatchHasALimit() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        let count = Writer<Ledger>.batchLimit * 5 / 2
        for number in 0..<count { #expect(writer.submit([.insert(number)]) == .taken) }
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(0..<count))
        #expect(writer.figures.commits == 3)
    }

    /// The commit writes the values of the whole batch, while the next one waits.
    @Test func aBatchOfLargeValuesIsSmaller() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        let half = Writer<Ledger>.batchBytes / 2
        for number in 0..<7 {
            #expect(writer.submit([.insertBytes(number, half)]) == .taken)
        }
        #expect(writer.submit([.insertBytes(7, 10 * half)]) == .taken)
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(0..<8))
        #expect(writer.figures.commits == 4)
    }

    @Test func aBatchIsUndoneAsAWhole() throws {
        let store = try scratch.store()
        let writer = try writer(store)
        let gate = hold(writer)
        for number in 0..<10 { _ = writer.submit([.insert(number)]) }
        // The same key again: SQLite refuses it.
        _ = writer.submit([.insert(3)])
        gate.signal()
        writer.stop()
        #expect(journal.committed.isEmpty)
        #expect(journal.undone == Array(0..<10) + [3])
        let connection = try Connection(path: scratch.file(), access: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM coverage") == 0)
        #expect(journal.writable.isEmpty, "a fault of the program is not one of the disk")
        #expect(writer.figures.rollbacks == 1)
    }

    @Test func whatIsHandedOverTogetherIsOneBatch() throws {
        let writer = try writer(try scratch.store())
        let numbers = Array(0..<100)
        #expect(writer.submit(numbers.map(Ledger.Job.insert)) == .taken)
        writer.stop()
        #expect(journal.committed == numbers)
        #expect(writer.figures.commits == 1)
    }

    @Test func theFirstOnesAreTakenWhereThereIsNoRoomForAll() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        let limit = Writer<Ledger>.queueLimit
        let numbers = Array(0..<limit + 3)
        #expect(
            writer.submit(numbers.map(Ledger.Job.insert))
                == .full(refused: [limit, limit + 1, limit + 2]))
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(numbers.prefix(limit)))
    }

    @Test func oneMoreThanTheQueueTakesIsRefused() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        for number in 0..<Writer<Ledger>.queueLimit {
            #expect(writer.submit([.insert(number)]) == .taken)
        }
        #expect(writer.submit([.insert(-1)]) == .full(refused: [0]))
        gate.signal()
        writer.stop()
        #expect(journal.committed.count == Writer<Ledger>.queueLimit)
    }

    /// Ann has handed over a thousand when Ben comes with one: he waits for one of hers at most,
    /// whatever each costs; and the jobs of each are done in order.
    @Test(arguments: [1, 20]) func usersTakeTurns(cost: Int) throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        let many = (0..<1000).map { Ledger.Job.insertFor("ann", $0, cost: cost) }
        #expect(writer.submit(many) == .taken)
        #expect(writer.submit((2000..<2003).map { .insertFor("ben", $0, cost: 1) }) == .taken)
        gate.signal()
        writer.stop()
        let committed = journal.committed
        #expect(committed.count == 1003)
        #expect(committed.filter { $0 < 2000 } == Array(0..<1000))
        #expect(committed.filter { $0 >= 2000 } == [2000, 2001, 2002])
        let last = try #require(committed.firstIndex(of: 2002))
        #expect(last <= (cost == 1 ? 6 : 4), "\(committed.prefix(20))")
    }

    @Test func aUserLeavesRoomForOthers() throws {
        let writer = try writer(try scratch.store())
        let gate = hold(writer)
        let limit = Writer<Ledger>.queueLimit
        let many = (0..<limit).map { Ledger.Job.insertFor("ann", $0, cost: 1) }
        #expect(writer.submit(many) == .full(refused: Array(limit / 2..<limit)))
        #expect(writer.submit([.insertFor("ben", limit, cost: 1)]) == .taken)
        gate.signal()
        writer.stop()
        #expect(journal.committed.count == limit / 2 + 1)
    }

    /// What comes while a batch is at work waits for a slice, not for all that waits.
    @Test func aBatchEndsWithItsSlice() throws {
        let writer = try writer(try scratch.store(), slice: .zero)
        let gate = hold(writer)
        for number in 0..<100 { #expect(writer.submit([.insert(number)]) == .taken) }
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(0..<100) && writer.figures.commits == 100)
    }

    /// A job that took longer than it weighs is paid for by the next one.
    @Test func timeIsPaidForByTheNext() throws {
        let writer = try writer(try scratch.store(), row: .milliseconds(5))
        let gate = hold(writer)
        let slow = Ledger.Job.blockFor("ann") { usleep(1_000_000) }
        #expect(writer.submit([slow, .insertFor("ann", 0, cost: 1)]) == .taken)
        #expect(writer.submit((1...50).map { .insertFor("ben", $0, cost: 1) }) == .taken)
        gate.signal()
        writer.stop()
        #expect(journal.committed == Array(1...50) + [0])
    }

    @Test func stoppingDoesWhatWaitsAndTakesNoMore() throws {
        let writer = try writer(try scratch.store())
        for number in 0..<500 { _ = writer.submit([.insert(number)]) }
        writer.stop()
        #expect(journal.committed.count == 500)
        #expect(writer.submit([.insert(500)]) == .stopped)
    }

    @Test func aFullDiskFailsTheBatchAndIsFoundToHaveRoomAgain() throws {
        let writer = try writer(try scratch.store())
        _ = writer.submit([.limitPages(true)])
        // Longer than the free room of the pages that are there.
        // In one batch: of several a short one could still find room behind one that did not.
        _ = writer.submit((0..<2_000).map(Ledger.Job.insert))
        journal.waitForWritable(count: 1)
        #expect(journal.writable == [false])
        // What comes behind a failing insert in its batch is undone with it.
        journal.waitForEnd(of: 2_000)
        #expect(!writer.isWritable)
        _ = writer.submit([.limitPages(false)])
        // Nothing else is asked of it: the writer looks by itself.
        journal.waitForWritable(count: 2)
        #expect(journal.writable == [false, true])
        #expect(writer.isWritable)
        writer.stop()
        #expect(!journal.undone.isEmpty)
        #expect(journal.committed.count + journal.undone.count == 2_000)
    }

    @Test func whatNobodyWaitsForIsDoneWhenThereIsNothingElse() throws {
        let writer = try writer(try scratch.store())
        _ = writer.submit([.leaveTidying(3)])
        journal.waitForTidying(count: 3)
        writer.stop()
        #expect(journal.tidied == 3)
    }

    @Test func whatNobodyWaitsForIsDoneBesideJobsWithoutEnd() throws {
        // A batch for each job.
        let chain = Chain(try writer(try scratch.store(), slice: .zero), journal)
        _ = chain.writer.submit([.leaveTidying(3), .block { chain.goOn() }])
        journal.waitForTidying(count: 3)
        chain.writer.stop()
        #expect(chain.left > 0)
    }
}

/// Jobs of which each leaves another one, until there is nothing to tidy up.
private final class Chain: Sendable {
    let writer: Writer<Ledger>
    private let journal: Journal
    private let rest = Atomic(10_000)

    init(_ writer: Writer<Ledger>, _ journal: Journal) {
        self.writer = writer
        self.journal = journal
    }

    var left: Int { rest.load(ordering: .relaxed) }

    func goOn() {
        guard journal.tidied < 3, rest.subtract(1, ordering: .relaxed).newValue > 0 else { return }
        _ = writer.submit([.block { self.goOn() }])
    }
}

/// What the writer's queue did, for the test's thread to look at.
final class Journal: Sendable {
    private struct State {
        var committed: [Int] = []
        var undone: [Int] = []
        var writable: [Bool] = []
        var tidied = 0
    }

    private let state = Mutex(State())
    private let changes = DispatchSemaphore(value: 0)

    var committed: [Int] { state.withLock { $0.committed } }
    var undone: [Int] { state.withLock { $0.undone } }
    var writable: [Bool] { state.withLock { $0.writable } }
    var tidied: Int { state.withLock { $0.tidied } }

    func note(committed numbers: [Int]) {
        state.withLock { $0.committed += numbers }
        changes.signal()
    }

    func note(undone numbers: [Int]) {
        state.withLock { $0.undone += numbers }
        changes.signal()
    }

    func note(writable: Bool) {
        state.withLock { $0.writable.append(writable) }
        changes.signal()
    }

    func noteTidied() {
        state.withLock { $0.tidied += 1 }
        changes.signal()
    }

    func waitForWritable(count: Int) { wait { $0.writable.count >= count } }
    func waitForEnd(of count: Int) { wait { $0.committed.count + $0.undone.count >= count } }
    func waitForTidying(count: Int) { wait { $0.tidied >= count } }

    private func wait(_ isThere: @Sendable (State) -> Bool) {
        while !state.withLock({ isThere($0) }) {
            if changes.wait(timeout: .now() + 60) == .timedOut {
                Issue.record("what was waited for did not happen within a minute")
                return
            }
        }
    }
}

/// Writes numbers into a table that is there anyway.
final class Ledger: BatchWork {
    enum Job: Sendable {
        case insert(Int)
        case insertFor(String, Int, cost: Int)
        /// As if it had so many bytes.
        case insertBytes(Int, Int)
        case block(@Sendable () -> Void)
        case blockFor(String, @Sendable () -> Void)
        case limitPages(Bool)
        case leaveTidying(Int)

        var number: Int? {
            switch self {
            case .insert(let number), .insertFor(_, let number, _),
                .insertBytes(let number, _):
                number
            case .block, .blockFor, .limitPages, .leaveTidying: nil
            }
        }
    }

    private let connection: Connection
    private let statement: Statement
    private let journal: Journal
    private var tidying = 0

    init(_ connection: Connection, _ journal: Journal) throws(CacheError) {
        self.connection = connection
        self.journal = journal
        statement = try connection.prepare("INSERT INTO coverage VALUES (1, ?, zeroblob(500), 0)")
    }

    static func weight(of job: Job) -> Int {
        if case .insertFor(_, _, let cost) = job { cost } else { job.number == nil ? 0 : 1 }
    }

    static func payer(of job: Job) -> Payer {
        switch job {
        case .insertFor(let user, _, _), .blockFor(let user, _): Payer(user: user.id)
        case .insert, .insertBytes, .block, .limitPages, .leaveTidying: .gateway
        }
    }

    static func bytes(of job: Job) -> Int {
        if case .insertBytes(_, let bytes) = job { bytes } else { 0 }
    }

    func write(_ job: Job) throws(CacheError) {
        switch job {
        case .insert(let number), .insertFor(_, let number, _), .insertBytes(let number, _):
            statement.bind(1, number)
            try statement.run()
        case .block(let body), .blockFor(_, let body):
            body()
        case .limitPages(let isLimited):
            let pages = isLimited ? try connection.integer("PRAGMA page_count") ?? 1 : 1_000_000
            _ = try connection.integer("PRAGMA max_page_count = \(pages)")
        case .leaveTidying(let count):
            tidying = count
        }
    }

    func committed(_ jobs: [Job]) { journal.note(committed: jobs.compactMap(\.number)) }

    func rolledBack(_ jobs: [Job], because error: CacheError) {
        journal.note(undone: jobs.compactMap(\.number))
    }

    var isTidyingDue: Bool { tidying > 0 }

    func tidy() throws(CacheError) {
        tidying -= 1
        journal.noteTidied()
    }

    /// More than the free room of the pages that are there, like the jobs: or it would find room
    /// while they don't.
    func probe() throws(CacheError) {
        try connection.execute(
            """
            INSERT INTO coverage VALUES (2, 0, zeroblob(50000), 0);
            DELETE FROM coverage WHERE cid = 2;
            """)
    }
}
