import Chat
import Ports
import Wire

/// The fetch queue: questions to the origin of a replica, ranked when they are queued: first those
/// that a call waits for, then those about streams with most subscribers, then the rest. A few are
/// in flight at a time. Heads are compared in batches of a hundred. Owned by the engine.
struct FetchQueue {
    /// A question and what its answer is for.
    enum Question {
        /// Whether these logs still stand where their streams do.
        case heads([Subject])
        case step(Replica.Step, Subject)
        /// A range of messages.
        case range(Subject, Coverage.Run)
        /// Whether the log has what a holder claims.
        case proof(Subject, HeadProof)
        /// The seq of the message that anchors the call.
        case message(Call, id: String)
        /// The seq at the time that anchors the call.
        case moment(Call, Timestamp)
        /// The answer goes to the call as it is.
        case call(Call)
        /// Which message is the last that is not deleted.
        case last(Subject)
        /// The conversations of a user's list.
        case list(user: ID, reading: Int)
        /// How a user reads a conversation of the list.
        case reader(ID, Subject)
    }

    /// A stream in its era when the question was queued.
    struct Subject {
        let stream: Stream
        /// The newest change that values were taken from, until the question was sent.
        let seen: Head?
        private let era: Replica.Era?

        init(_ stream: Stream) {
            self.stream = stream
            seen = stream.state?.head
            era = stream.replica?.era
        }

        /// Whether the answer still counts.
        var isCurrent: Bool { stream.replica?.era === era }

        /// The same as of now.
        fileprivate var sent: Subject { isCurrent ? Subject(stream) : self }
    }

    struct Entry {
        let question: Question
        let query: HistoryQuery
        /// Lower is asked earlier.
        let rank: Int

        /// The entry as it is sent: about what was taken until now, however long it was queued. An
        /// answer of a part of the log needs a log that has the newest change taken.
        fileprivate var sent: Entry {
            let question = question.sent
            let query = question.proof.map { .provided($0, self.query) } ?? self.query
            return Entry(question: question, query: query, rank: rank)
        }
    }

    private var queue: [Entry] = []
    /// Streams whose heads are asked for at the end of the turn.
    private var heads: [Stream] = []
    /// A seed that differs between processes and repeats in a simulation.
    private var noise: UInt64

    /// How many heads are asked for at once.
    private static let headsLimit = 100

    /// - Parameter instance: letters and digits that no other process uses.
    init(instance: String) { noise = instance.utf8.fnv1a() }

    private(set) var inFlight = 0

    var queued: Int { queue.count }

    /// Queues a question. A page may hold what only the chain of its stream explains: the chain is
    /// asked for no later, or pages that come again and again would keep it from its turn.
    mutating func add(_ entry: Entry) {
        if case .range(let subject, _) = entry.question { hasten(subject.stream, to: entry.rank) }
        insert(entry)
    }

    private mutating func hasten(_ stream: Stream, to rank: Int) {
        guard stream.replica?.inFlight.contains(.catchUp) == true else { return }
        let at = queue.firstIndex { entry in
            guard case .step(.catchUp, let subject) = entry.question else { return false }
            return subject.stream === stream && entry.rank > rank
        }
        guard let at else { return }
        let chain = queue.remove(at: at)
        insert(Entry(question: chain.question, query: chain.query, rank: rank))
    }

    /// - Complexity: O(log n) comparisons, and moving the entries behind it.
    private mutating func insert(_ entry: Entry) {
        var low = 0
        var high = queue.count
        while low < high {
            let middle = low + (high - low) / 2
            // Sorted so that the next entry is the last.
            if queue[middle].rank > entry.rank { low = middle + 1 } else { high = middle }
        }
        queue.insert(entry, at: low)
    }

    /// - Parameter isWaitedFor: whether the asker is still there; otherwise the question is
    ///   dropped.
    mutating func next(within limit: Int, where isWaitedFor: (Question) -> Bool = { _ in true })
        -> Entry?
    {
        while inFlight < limit, let entry = queue.popLast() {
            guard entry.question.isCurrent, isWaitedFor(entry.question) else {
                // It may be asked again, about the new feed.
                if case .last(let subject) = entry.question {
                    subject.stream.entry.isAskingLast = false
                }
                continue
            }
            inFlight += 1
            return entry.sent
        }
        return nil
    }

    mutating func finished() { inFlight -= 1 }

    // MARK: - Heads

    /// Queues a comparison of the heads of these logs, except those already under way.
    mutating func compareHeads(of streams: [Stream]) {
        for stream in streams where stream.replica?.inFlight.beginHead() == true {
            heads.append(stream)
        }
        guard streams.count > 1 else { return }
        heads.sort { ($0.replica?.generation ?? 0) < ($1.replica?.generation ?? 0) }
    }

    /// Turns the queued comparisons into questions.
    /// - Parameter rank: of a stream's questions.
    mutating func askForHeads(rank: (Stream) -> Int) {
        while let first = heads.first {
            // One answer about logs of several generations would count for none of them.
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

    // MARK: - Backoff

    /// The backoff in milliseconds after this many failures, with jitter. A poor source of
    /// randomness, but repeatable in a simulation.
    mutating func pause(after failures: Int, _ options: SyncOptions) -> Int64 {
        let longest = min(options.backoffMax, options.backoffBase << Int64(min(failures, 20)))
        noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return longest / 2 + Int64(noise >> 33) % max(1, longest / 2 + 1)
    }
}

/// Questions about one log without an answer yet.
struct FetchesInFlight {
    private var steps: Set<Replica.Step> = []
    /// Slots that fetches in flight will bring.
    private(set) var places = Coverage()
    /// Whether it is in the queue's `heads`.
    private var isQueued = false

    var isEmpty: Bool { steps.isEmpty && places.isEmpty }
    var hasSteps: Bool { !steps.isEmpty }

    func contains(_ step: Replica.Step) -> Bool { steps.contains(step) }

    mutating func begin(_ step: Replica.Step) { steps.insert(step) }

    mutating func end(_ step: Replica.Step) { steps.remove(step) }

    /// Its head is to be compared.
    /// - Returns: whether it must be queued for that.
    fileprivate mutating func beginHead() -> Bool {
        guard steps.insert(.compareHead).inserted, !isQueued else { return false }
        isQueued = true
        return true
    }

    /// It was taken from the queue.
    /// - Returns: whether its head is still to be compared.
    fileprivate mutating func takeHead() -> Bool {
        isQueued = false
        return steps.contains(.compareHead)
    }

    /// Requests slots.
    /// - Returns: those that are not in flight yet.
    mutating func request(_ wanted: Coverage) -> Coverage {
        let missing = wanted.subtracting(places)
        if !missing.isEmpty { places = places.union(missing) }
        return missing
    }

    /// The slots have come, or will not.
    mutating func end(_ run: Coverage.Run) { places.remove(run.low, run.high) }

    /// Drops everything that was asked.
    mutating func forget() {
        steps = []
        places = Coverage()
    }
}

/// Failures of the origin to answer about a log, and the backoff.
struct Backoff {
    /// Failures in a row.
    private(set) var failures = 0
    /// When to ask again; nil: at any time.
    private(set) var retryAt: Timestamp?
    /// The part of the log that the origin reports as damaged; nil if none is known.
    private(set) var damagedPart: String?

    /// One failure may be an accident, and waiting calls have time for another try.
    private static let failuresToGiveUpOn = 3
    /// From here on the backoff no longer grows.
    private static let manyFailures = 9

    var isWaiting: Bool { retryAt != nil }
    /// Whether waiting calls are answered without the origin.
    var isUnavailable: Bool {
        damagedPart != nil || retryAt != nil && failures >= Self.failuresToGiveUpOn
    }
    var hasGivenUp: Bool { failures >= Self.manyFailures }

    /// The origin lost this part of the log.
    mutating func damage(_ part: String) { damagedPart = part }

    mutating func fail(until moment: Timestamp) {
        failures += 1
        retryAt = moment
    }

    mutating func succeed() { self = Backoff() }

    /// Ends the backoff at once.
    mutating func retry() { retryAt = nil }

    /// Ends the backoff if its time has come.
    mutating func retry(at now: Timestamp) {
        if let retryAt, retryAt <= now { self.retryAt = nil }
    }
}

extension FetchQueue.Question {
    /// Whether its answer still counts.
    var isCurrent: Bool {
        switch self {
        case .heads(let subjects): subjects.contains { $0.isCurrent }
        case .step(_, let subject), .range(let subject, _), .proof(let subject, _),
            .last(let subject), .reader(_, let subject):
            subject.isCurrent
        case .message, .moment, .call, .list: true
        }
    }
    /// The question about what was taken until now.
    fileprivate var sent: Self {
        switch self {
        case .heads(let subjects): .heads(subjects.map(\.sent))
        case .step(let step, let subject): .step(step, subject.sent)
        case .range(let subject, let run): .range(subject.sent, run)
        case .proof(let subject, let proof): .proof(subject.sent, proof)
        case .last(let subject): .last(subject.sent)
        case .reader(let user, let subject): .reader(user, subject.sent)
        case .message, .moment, .call, .list: self
        }
    }

    /// The change that a log must have to answer it.
    fileprivate var proof: Head? {
        switch self {
        case .step(.latest, let subject), .step(.catchUp, let subject),
            .step(.backfill, let subject), .range(let subject, _), .proof(let subject, _),
            .last(let subject):
            subject.seen
        case .step, .heads, .reader, .message, .moment, .call, .list: nil
        }
    }
}
