import Chat
import Ports
import Wire

/// The fetch queue: what the origin of a replica is asked, and in which order. The questions
/// of calls that wait first, then by the number of those who watch, then the rest; a few in flight
/// at a time. Heads are compared by the hundred. Owned by the engine.
struct FetchQueue {
    /// A question on its way, and what its answer is for.
    enum Question {
        /// Of these streams, whether the logs stand where they do.
        case heads([Subject])
        case step(Replica.Step, Subject)
        /// These places.
        case range(Subject, Coverage.Run)
        /// Whether the log has what a holder says.
        case proof(Subject, HeadProof)
        /// Where the message with the call's anchor is.
        case message(Call, id: String)
        /// What place the moment of the call's anchor is.
        case moment(Call, Timestamp)
        /// The answer goes to the call as it is.
        case call(Call)
        /// Which message is the last that is not deleted.
        case last(Subject)
        /// What is in a user's list.
        case list(user: ID, reading: Int)
        /// How a user reads a conversation of the list.
        case reader(ID, Subject)
    }

    /// A stream, as it was when something was asked about it.
    struct Subject {
        let stream: Stream
        private let era: Int

        init(_ stream: Stream) {
            self.stream = stream
            era = stream.replica?.era ?? 0
        }

        /// The answer still counts.
        var isCurrent: Bool { stream.replica?.era == era }
    }

    struct Entry {
        let question: Question
        let query: HistoryQuery
        /// Lower is earlier.
        let rank: Int
    }

    private var queue: [Entry] = []
    /// Streams whose heads are asked for at the end of the turn.
    private var heads: [Stream] = []
    /// Begins differently in each process, and the same in each run of a simulation.
    private var noise: UInt64

    /// How many heads are asked for at once.
    private static let headsLimit = 100

    /// - Parameter instance: some letters and digits that no other process uses.
    init(instance: String) {
        noise = instance.utf8.reduce(14_695_981_039_346_656_037) {
            ($0 ^ UInt64($1)) &* 1_099_511_628_211
        }
    }

    private(set) var inFlight = 0

    var queued: Int { queue.count }

    /// - Complexity: O(log n) comparisons and a move of what stands behind.
    mutating func add(_ entry: Entry) {
        var low = 0
        var high = queue.count
        while low < high {
            let middle = low + (high - low) / 2
            // The queue is kept with the next one last.
            if queue[middle].rank > entry.rank { low = middle + 1 } else { high = middle }
        }
        queue.insert(entry, at: low)
    }

    /// - Parameter isWaitedFor: whether whoever asked is still there; what is not is dropped.
    mutating func next(within limit: Int, where isWaitedFor: (Question) -> Bool = { _ in true })
        -> Entry?
    {
        while inFlight < limit, let entry = queue.popLast() {
            guard entry.question.isCurrent, isWaitedFor(entry.question) else { continue }
            inFlight += 1
            return entry
        }
        return nil
    }

    mutating func finished() { inFlight -= 1 }

    // MARK: - Heads

    /// Has the heads of these logs compared, but of those of which that is on its way.
    mutating func compareHeads(of streams: [Stream]) {
        for stream in streams where stream.replica?.inFlight.beginHead() == true {
            heads.append(stream)
        }
        guard streams.count > 1 else { return }
        heads.sort { ($0.replica?.generation ?? 0) < ($1.replica?.generation ?? 0) }
    }

    /// Makes questions of the heads that are to be compared.
    /// - Parameter rank: of a stream's questions.
    mutating func askForHeads(rank: (Stream) -> Int) {
        while let first = heads.first {
            // An answer about logs of several feeds is an answer of none of them.
            let generation = first.replica?.generation
            var streams = Array(
                heads.prefix { $0.replica?.generation == generation }.prefix(Self.headsLimit))
            heads.removeFirst(streams.count)
            // A feed may have ended meanwhile.
            streams.removeAll { $0.replica?.inFlight.takeHead() != true }
            guard !streams.isEmpty else { continue }
            add(
                Entry(
                    question: .heads(streams.map { Subject($0) }), query: .heads(streams.map(\.id)),
                    rank: streams.map(rank).min() ?? 0))
        }
    }

    // MARK: - Backing off

    /// How long the origin is left alone after it failed so many times, in milliseconds. Not a good
    /// source of randomness, but one that a simulation can repeat.
    mutating func pause(after failures: Int, _ options: SyncOptions) -> Int64 {
        let longest = min(options.backoffMax, options.backoffBase << Int64(min(failures, 20)))
        noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return longest / 2 + Int64(noise >> 33) % max(1, longest / 2 + 1)
    }
}

/// What is asked of the origin about one log and has no answer yet.
struct FetchesInFlight {
    private var steps: Set<Replica.Step> = []
    /// Places that fetches on their way will bring.
    private(set) var places = Coverage()
    /// It is among those whose heads are asked for at the end of the turn.
    private var isQueued = false

    var isEmpty: Bool { steps.isEmpty && places.isEmpty }
    var hasSteps: Bool { !steps.isEmpty }

    func contains(_ step: Replica.Step) -> Bool { steps.contains(step) }

    mutating func begin(_ step: Replica.Step) { steps.insert(step) }

    mutating func end(_ step: Replica.Step) { steps.remove(step) }

    /// Its head is to be compared.
    /// - Returns: whether it has to be queued for that.
    fileprivate mutating func beginHead() -> Bool {
        guard steps.insert(.compareHead).inserted, !isQueued else { return false }
        isQueued = true
        return true
    }

    /// It is no longer queued.
    /// - Returns: whether its head is still to be compared.
    fileprivate mutating func takeHead() -> Bool {
        isQueued = false
        return steps.contains(.compareHead)
    }

    /// Asks for places.
    /// - Returns: those of them that are not on their way.
    mutating func request(_ wanted: Coverage) -> Coverage {
        let missing = wanted.subtracting(places)
        if !missing.isEmpty { places = places.union(missing) }
        return missing
    }

    /// The places have come, or will not.
    mutating func end(_ run: Coverage.Run) { places.remove(run.low, run.high) }

    /// What was asked does not count any more.
    mutating func forget() {
        steps = []
        places = Coverage()
    }
}

/// How often the origin gave no answer about a log, and when it may be asked again.
struct Backoff {
    /// How often in a row.
    private(set) var failures = 0
    /// When it may be asked again; until then it counts as not available.
    private(set) var retryAt: Timestamp?
    /// The part of the log that the origin says is damaged; nil if it is whole as far as is known.
    private(set) var damagedPart: String?

    /// One question that failed may be an accident, and whoever waits has time for another.
    private static let failuresToGiveUpOn = 3
    /// After so many the tries are as far apart as they get.
    private static let manyFailures = 9

    var isWaiting: Bool { retryAt != nil }
    /// Whoever waits for an answer is told that there is none.
    var isUnavailable: Bool {
        damagedPart != nil || retryAt != nil && failures >= Self.failuresToGiveUpOn
    }
    var hasGivenUp: Bool { failures >= Self.manyFailures }

    /// The origin has lost this part of the log.
    mutating func damage(_ part: String) { damagedPart = part }

    mutating func fail(until moment: Timestamp) {
        failures += 1
        retryAt = moment
    }

    mutating func succeed() { self = Backoff() }

    /// It may be asked at once.
    mutating func retry() { retryAt = nil }

    /// It may be asked if its time has come.
    mutating func retry(at now: Timestamp) {
        if let retryAt, retryAt <= now { self.retryAt = nil }
    }
}

extension FetchQueue.Question {
    /// Somebody still waits for the answer.
    var isCurrent: Bool {
        switch self {
        case .heads(let subjects): subjects.contains { $0.isCurrent }
        case .step(_, let subject), .range(let subject, _), .proof(let subject, _),
            .last(let subject), .reader(_, let subject):
            subject.isCurrent
        case .message, .moment, .call, .list: true
        }
    }
}
