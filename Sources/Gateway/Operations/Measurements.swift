import Engine
import Ports
import Wire

/// What the driver measures while it works: how long turns, deliveries, questions and writes take,
/// and how writes end. Owned by the driver, on the loop.
struct Measurements: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// One turn of the loop: from the first decision to the last write of a socket.
    private(set) var turn = Histogram()
    /// A change: from the upstream's thread to the end of the turn that wrote it to the sockets.
    private(set) var fanout = Histogram()
    /// A question to the origin's history, to its answer.
    private(set) var fetch = Histogram()
    /// What a subscriber lacks, from the engine's question to the cache's answer.
    private(set) var replay = Histogram()
    /// A transaction of the cache of another origin.
    private(set) var commit = Histogram()
    /// An operation of a client or a backend, from the upstream's door to its fate.
    private(set) var operation = Histogram()

    /// Changes that the upstream told.
    private(set) var changes = 0
    /// Questions to the origin that it did not answer.
    private(set) var failedFetches = 0
    /// Transactions of the cache that are in the file, what was written in them, and those that
    /// failed.
    private(set) var commits = 0
    private(set) var writes = 0
    private(set) var failedCommits = 0

    /// When the upstream was asked for what it has not answered yet, by token. More than so many at
    /// a time are not timed: that is above what the upstreams let wait.
    private var underWay: [UInt64: Instant] = [:]
    private static let underWayLimit = 32_768

    /// Changes that were taken from the upstream and are not with every socket yet, and of how many
    /// of these the turn began that brings them there.
    private var arrivals: [(since: Instant, changes: Int)] = []
    private var arrivedBefore = 0

    // MARK: - The turn

    /// Changes have come.
    mutating func arrived(_ changes: Int, since: Instant) {
        guard changes > 0 else { return }
        self.changes += changes
        arrivals.append((since, changes))
    }

    /// A turn begins. It does all that is decided about the changes that came before.
    mutating func began() { arrivedBefore = arrivals.count }

    /// The turn is over: its sockets are written.
    mutating func ended(_ began: Instant, at now: Instant) {
        turn.observe(now - began)
        guard arrivedBefore > 0 else { return }
        for arrival in arrivals.prefix(arrivedBefore) {
            fanout.observe(now - arrival.since, times: arrival.changes)
        }
        arrivals.removeFirst(arrivedBefore)
        arrivedBefore = 0
    }

    // MARK: - What the upstream is asked for

    /// The upstream is asked a question, or for an operation.
    mutating func asked(_ token: UInt64) {
        if underWay.count < Self.underWayLimit { underWay[token] = .now }
    }

    /// The upstream has answered the question, or said why it does not.
    mutating func answered(_ token: UInt64, _ result: Result<HistoryAnswer, RequestError>) {
        guard let since = underWay.removeValue(forKey: token) else { return }
        fetch.observe(.now - since)
        // Any other error is an answer too.
        if case .failure(let error) = result, error.code == .originUnavailable {
            failedFetches += 1
        }
    }

    /// The upstream has said what became of the operation.
    mutating func performed(_ token: UInt64) {
        guard let since = underWay.removeValue(forKey: token) else { return }
        operation.observe(.now - since)
    }

    // MARK: - The store

    /// The cache has said what a subscriber lacks.
    mutating func replayed(in time: Duration) { replay.observe(time) }

    /// A transaction of the cache has ended.
    mutating func committed(_ count: Int, since: Instant, isInFile: Bool) {
        commit.observe(.now - since)
        if isInFile {
            commits += 1
            writes += count
        } else {
            failedCommits += 1
        }
    }
}
