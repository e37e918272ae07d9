import Engine
import Ports
import Wire

/// Measurements of a gateway: durations of turns, deliveries, questions and writes, and their
/// results. Shared by its parts, on the loop.
final class Measurements {
    typealias Instant = ContinuousClock.Instant

    /// A turn of the loop: from the first decision to the last write of a socket.
    private(set) var turn = Histogram()
    /// A change: from the upstream's thread to the end of the turn that wrote it to the sockets.
    private(set) var fanout = Histogram()
    /// A question to the origin's history, until its answer.
    private(set) var fetch = Histogram()
    /// A read of what a subscriber is missing: from the engine's question to the cache's answer.
    private(set) var replay = Histogram()
    /// A transaction of the cache, if the origin lives elsewhere.
    private(set) var commit = Histogram()
    /// An operation of a client or a backend, from its submission to the upstream until its result.
    private(set) var operation = Histogram()

    /// Changes delivered by the upstream.
    private(set) var changes = 0
    /// Times that the loop waited for more requests.
    private(set) var gathers = 0
    /// Questions that the origin did not answer.
    private(set) var failedFetches = 0
    /// The cache's transactions.
    private(set) var commits = Snapshot.Commits(count: 0, writes: 0, failed: 0)

    /// Start times of questions and of writes in flight, by token. Calls beyond the limit are not
    /// timed; it is above what the upstreams queue.
    private var questions: [UInt64: Instant] = [:]
    private var operations: [UInt64: Instant] = [:]
    private static let underWayLimit = 32_768

    /// Changes from the upstream that are not written to the sockets yet, and how many of them had
    /// arrived when the present turn began.
    private var arrivals: [(since: Instant, changes: Int)] = []
    private var arrivedBefore = 0

    // MARK: - The turn

    /// Changes have arrived.
    func arrived(_ changes: Int, since: Instant) {
        guard changes > 0 else { return }
        self.changes += changes
        arrivals.append((since, changes))
    }

    /// A turn begins. It writes all changes that arrived before it.
    func began() { arrivedBefore = arrivals.count }

    /// The turn ended: its sockets are written.
    func ended(_ began: Instant, at now: Instant) {
        turn.observe(now - began)
        guard arrivedBefore > 0 else { return }
        for arrival in arrivals.prefix(arrivedBefore) {
            fanout.observe(now - arrival.since, times: arrival.changes)
        }
        arrivals.removeFirst(arrivedBefore)
        arrivedBefore = 0
    }

    /// The loop waits for more requests.
    func gathered() { gathers += 1 }

    // MARK: - What the upstream is asked for

    /// Whether the upstream has not answered yet, as far as it is known here.
    var isAwaiting: Bool { !questions.isEmpty || !operations.isEmpty }

    /// The writes that are not answered.
    var writes: Snapshot.Writes {
        let now = Instant.now
        return Snapshot.Writes(
            count: operations.count, oldest: operations.values.min().map { now - $0 } ?? .zero)
    }

    /// A question goes to the upstream.
    func asked(_ token: UInt64) {
        if questions.count < Self.underWayLimit { questions[token] = .now }
    }

    /// An operation goes to the upstream.
    func submitted(_ token: UInt64) {
        if operations.count < Self.underWayLimit { operations[token] = .now }
    }

    /// The upstream answered a question, or failed to.
    func answered(_ token: UInt64, _ result: Result<HistoryAnswer, RequestError>) {
        guard let since = questions.removeValue(forKey: token) else { return }
        fetch.observe(.now - since)
        // Any other error is an answer too.
        if case .failure(let error) = result, error.code == .originUnavailable {
            failedFetches += 1
        }
    }

    /// The upstream finished an operation.
    func performed(_ token: UInt64) {
        guard let since = operations.removeValue(forKey: token) else { return }
        operation.observe(.now - since)
    }

    // MARK: - The store

    /// The cache answered what a subscriber is missing.
    func replayed(in time: Duration) { replay.observe(time) }

    /// A transaction of the cache has ended.
    func committed(_ count: Int, since: Instant, isInFile: Bool) {
        commit.observe(.now - since)
        if isInFile {
            commits.count += 1
            commits.writes += count
        } else {
            commits.failed += 1
        }
    }
}
