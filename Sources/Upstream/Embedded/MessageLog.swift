import Cache
import Chat
import Crypto
import JSON
import Ports
import Rules
import SQLite
import Wire

/// The log of the embedded upstream: decides what may be written, and writes it. It decides on what
/// is in the file, inside the transaction that writes, or on what it has read or written there last
/// (`KnownFile`). A rolled back batch leaves no trace. It lives on the writer's queue.
final class MessageLog: BatchWork {
    typealias Job = UpstreamCall

    let rows: Rows
    let writes: LogWrites
    let presence: PresenceRows
    /// When this process began, by its clock.
    let began: Int64
    /// This process's mark in every log that it writes: a file that was restored and written again
    /// continues under another mark.
    let mark: String
    var identifiers = IdentifierSource()
    /// The messages of a tail at which it is folded: what every read of a log may have to look
    /// through.
    let tailLimit: Int
    let hasher = SHA256Hasher()
    private let present: PresentLimits
    private let clock: @Sendable () -> Timestamp
    private let connection: Connection
    private let purge: Purge
    private let reader: Reader
    /// What the batch publishes and answers once it is committed.
    private var outputs: BatchOutputs
    var known = KnownFile()
    private(set) var isTidyingDue = true

    init(
        _ connection: Connection, _ reader: Reader, _ limits: PresentLimits,
        tailLimit: Int, clock: @escaping @Sendable () -> Timestamp, outlet: Outlet,
        witness: ListWitness
    ) throws(CacheError) {
        mark = Random.hex(8)
        self.tailLimit = tailLimit
        self.connection = connection
        self.reader = reader
        present = limits
        self.clock = clock
        outputs = BatchOutputs(outlet, witness)
        rows = try Rows(connection)
        writes = try LogWrites(connection)
        presence = try PresenceRows(connection)
        began = clock().milliseconds
        purge = try Purge(connection)
    }

    var now: Timestamp { clock() }

    /// The present limits of the log's values.
    var limits: LogLimits { present.value }

    /// Publishes the event once the batch is committed.
    func tell(_ event: FeedEvent) { outputs.feed.append(.feed(event)) }

    // MARK: the start

    /// Continues the list if the file has the change that was told last. Otherwise the file is an
    /// older copy, or may be one: then the log confirms no earlier token.
    func open() throws(CacheError) {
        let list = try rows.conversations.list()
        let told = outputs.witness.token
        if let told {
            let isThere = try rows.conversations.confirms(
                0, rev: told.rev, mark: told.mark, newest: list.rev)
            if isThere { return }
        }
        outputs.witness.note(ListRenewal(told: told?.rev, found: list.rev))
        try writes.raiseFloor(ofList: touch())
    }

    // MARK: batches

    static func weight(of job: Job) -> Int {
        if case .presence(let call, _) = job { return 1 + call.says.count }
        guard case .perform(let operation, _, _) = job else { return 1 }
        return operation.rows
    }

    static func bytes(of job: Job) -> Int {
        guard case .perform(let operation, _, _) = job else { return 0 }
        return operation.bytes
    }

    static func payer(of job: Job) -> Payer { job.payer }

    static func isBrief(_ job: Job) -> Bool {
        if case .presence(let call, _) = job { return call.says.count + call.reads.count < 64 }
        guard case .perform(let operation, _, _) = job else { return false }
        return switch operation {
        case .send, .edit, .react, .markRead: true
        // They read, or write, in proportion to what there is.
        case .delete, .create, .findDistinct, .put, .update, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins, .deleteConversation, .leave:
            false
        }
    }

    func write(_ job: Job) throws(CacheError) {
        if case .presence(let call, let token) = job {
            let reading = try answer(call)
            let said = call.says.map(\.user)
            if !said.isEmpty { outputs.feed.append(.presenceChanged(said)) }
            return outputs.results.append(.presence(token: token, .success(reading)))
        }
        guard case .perform(let operation, let caller, let token) = job else { return }
        let before = changes
        do {
            let outcome = try perform(operation, by: caller)
            outputs.results.append(.performed(token: token, .success(outcome)))
        } catch let error as RequestError where changes == before {
            outputs.results.append(.performed(token: token, .failure(error)))
        } catch let error as CacheError {
            throw error
        } catch  where changes == before {
            // A stored message that can't be decoded; other messages are unaffected.
            let error = RequestError.unreadable
            outputs.results.append(.performed(token: token, .failure(error)))
        } catch {
            // An error after the first row was written: the whole batch is rolled back.
            throw CacheError(
                .failed, doing: "write", on: "a log", seen: "a rule was broken half-way",
                detail: "the batch is undone")
        }
    }

    /// Rises with every change, whether written already or left to the end of the batch.
    private var changes: Int { connection.totalChanges + known.touches }

    func settle() throws(CacheError) {
        guard var list = known.list, list.isChanged else { return }
        try writes.write(list: list.rev, messages: list.messages)
        (list.messages, list.isChanged) = (0, false)
        known.list = list
    }

    func committed(_ jobs: [Job]) {
        // Before anybody hears of it.
        if let list = known.list { outputs.witness.note(rev: list.rev, mark: list.mark) }
        finish(jobs, outputs.inOrder)
    }

    func rolledBack(_ jobs: [Job], because error: CacheError) {
        known.drop()
        let refusal = error.isOfTheDisk ? Self.unwritable : RequestError.originUnavailable
        let failures = jobs.compactMap { job -> UpstreamOutput? in
            if case .presence(_, let token) = job {
                return .presence(token: token, .failure(refusal))
            }
            guard case .perform(_, _, let token) = job else { return nil }
            return .performed(token: token, .failure(refusal))
        }
        finish(jobs, failures)
    }

    /// The disk is full or fails; reads still work.
    private static let unwritable = RequestError(
        .originRefusesWrites, "the origin can't write its log")

    /// Delivers events and results, then answers the batch's questions from the file as it is now:
    /// nobody's events wait for somebody else's question.
    private func finish(_ jobs: [Job], _ told: [UpstreamOutput]) {
        outputs.removeAll()
        outputs.outlet.deliver(told)
        var answers: [UpstreamOutput] = []
        for case .ask(let query, let token) in jobs {
            answers.append(
                .answered(token: token, generation: Embedded.generation, answer(query)))
        }
        outputs.outlet.deliver(answers)
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
        known.drop()
        isTidyingDue = try purge.step()
    }

    func probe() throws(CacheError) {
        // Nobody says whether this is committed.
        known.drop()
        defer { known.drop() }
        _ = try touch()
        try settle()
        isTidyingDue = true
    }

    // MARK: written at the end of the batch

    /// Counts one change of the list.
    /// - Returns: its rev in the list.
    func touch(messages: Int = 0) throws(CacheError) -> Int {
        var list: KnownFile.List
        if let known = known.list {
            list = known
        } else {
            let stored = try writes.list(like: mark)
            list = KnownFile.List(rev: stored.rev, mark: stored.mark)
        }
        list.rev += 1
        list.messages += messages
        list.isChanged = true
        if list.mark != mark {
            try writes.markList(from: list.rev, mark)
            list.mark = mark
        }
        known.list = list
        known.touches += 1
        return list.rev
    }
}

/// What a batch publishes and answers once it is committed.
private struct BatchOutputs {
    let outlet: Outlet
    /// Keeps how far the list was told.
    let witness: ListWitness
    var feed: [UpstreamOutput] = []
    var results: [UpstreamOutput] = []

    init(_ outlet: Outlet, _ witness: ListWitness) {
        self.outlet = outlet
        self.witness = witness
    }

    /// The events, then the results.
    var inOrder: [UpstreamOutput] {
        var all: [UpstreamOutput] = []
        all.reserveCapacity(feed.count + results.count)
        all.append(contentsOf: feed)
        all.append(contentsOf: results)
        return all
    }

    mutating func removeAll() {
        feed.removeAll(keepingCapacity: true)
        results.removeAll(keepingCapacity: true)
    }
}
