import Cache
import Chat
import JSON
import Ports
import Rules
import SQLite
import Wire

/// The log of the embedded upstream: decides what may be written, and writes it. It decides on what
/// is in the file, inside the transaction that writes, and keeps no state between batches, so a
/// rolled back batch leaves no trace. It lives on the writer's queue.
final class MessageLog: BatchWork {
    typealias Job = UpstreamCall

    let rows: Rows
    let writes: LogWrites
    /// This process's mark in every log that it writes: a file that was restored and written again
    /// continues under another mark.
    let mark: String
    var identifiers = IdentifierSource()
    private let present: PresentLimits
    private let clock: @Sendable () -> Timestamp
    private let connection: Connection
    private let purge: Purge
    private let reader: Reader
    private let outlet: Outlet
    private var feed: [FeedEvent] = []
    private var results: [UpstreamOutput] = []
    /// State written at the end of the batch; see `MessageLog+Batch`.
    var list: List?
    var sending: Sending?
    /// The number of changes of the list so far.
    var touches = 0
    private(set) var isTidyingDue = true

    init(
        _ connection: Connection, _ reader: Reader, _ limits: PresentLimits,
        clock: @escaping @Sendable () -> Timestamp, mark: String, outlet: Outlet
    ) throws(CacheError) {
        self.connection = connection
        self.reader = reader
        present = limits
        self.clock = clock
        self.mark = mark
        self.outlet = outlet
        rows = try Rows(connection)
        writes = try LogWrites(connection)
        purge = try Purge(connection)
    }

    var now: Timestamp { clock() }

    /// The present limits of the log's values.
    var limits: LogLimits { present.value }

    /// Publishes the event once the batch is committed.
    func tell(_ event: FeedEvent) { feed.append(event) }

    // MARK: batches

    static func weight(of job: Job) -> Int {
        guard case .perform(let operation, _, _) = job else { return 1 }
        return operation.rows
    }

    static func payer(of job: Job) -> Payer { job.payer }

    func write(_ job: Job) throws(CacheError) {
        guard case .perform(let operation, let caller, let token) = job else { return }
        if !isContinued(by: operation) { try settleSends() }
        let before = changes
        do {
            let outcome = try perform(operation, by: caller)
            results.append(.performed(token: token, .success(outcome)))
        } catch let error as RequestError where changes == before {
            results.append(.performed(token: token, .failure(error)))
        } catch let error as CacheError {
            throw error
        } catch  where changes == before {
            // A stored message that can't be decoded; other messages are unaffected.
            let error = RequestError(.internal, "what is stored can't be read")
            results.append(.performed(token: token, .failure(error)))
        } catch {
            // An error after the first row was written: the whole batch is rolled back.
            throw CacheError(
                .failed, doing: "write", on: "a log", seen: "a rule was broken half-way",
                detail: "the batch is undone")
        }
    }

    /// Rises with every change, whether written already or left to the end of the batch.
    private var changes: Int { connection.totalChanges + touches }

    func settle() throws(CacheError) {
        try settleSends()
        try settleList()
    }

    func committed(_ jobs: [Job]) {
        var outputs = feed.map(UpstreamOutput.feed)
        outputs += results
        finish(jobs, outputs)
    }

    func rolledBack(_ jobs: [Job], because error: CacheError) {
        sending = nil
        list = nil
        let refusal = error.isOfTheDisk ? Self.unwritable : RequestError.originUnavailable
        let failures = jobs.compactMap { job -> UpstreamOutput? in
            guard case .perform(_, _, let token) = job else { return nil }
            return .performed(token: token, .failure(refusal))
        }
        finish(jobs, failures)
    }

    /// The disk is full or fails; reads still work.
    private static let unwritable = RequestError(
        .originUnavailable, "the origin can't write its log", retry: .later)

    /// Delivers events and results, then answers the batch's questions from the file as it is now:
    /// nobody's events wait for somebody else's question.
    private func finish(_ jobs: [Job], _ outputs: [UpstreamOutput]) {
        feed.removeAll(keepingCapacity: true)
        results.removeAll(keepingCapacity: true)
        outlet.deliver(outputs)
        var answers: [UpstreamOutput] = []
        for case .ask(let query, let token) in jobs {
            answers.append(
                .answered(token: token, generation: Embedded.generation, answer(query)))
        }
        outlet.deliver(answers)
    }

    private func answer(_ query: HistoryQuery) -> Result<HistoryAnswer, RequestError> {
        do {
            return .success(try reader.answer(query))
        } catch let error as RequestError {
            return .failure(error)
        } catch {
            return .failure(.originUnavailable)
        }
    }

    // MARK: when there is nothing else to do

    /// Schedules the purge of removed rows.
    func leaveToPurge() { isTidyingDue = true }

    func tidy() throws(CacheError) {
        // If it fails, `probe` makes it due again once the file can be written.
        isTidyingDue = false
        isTidyingDue = try purge.step()
    }

    func probe() throws(CacheError) {
        _ = try touch()
        try settle()
        isTidyingDue = true
    }
}
