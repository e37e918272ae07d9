import Chat
import Ports
import Wire

/// What the gateway, a replica, knows of a log that lives elsewhere: which places its cache holds,
/// and how the feed of this conversation stands. Owned by its stream; what moves it is in
/// `Engine+CatchUp`.
///
/// The stream's *position* rises by one contiguous chain: live changes in order while the feed is
/// unbroken, or the origin's changes read to their end. Nothing else raises it: not a live change
/// on top of a hole, not a page, not a newer head.
struct Mirror {
    /// How the feed of this conversation stands.
    enum Feed: Equatable {
        /// Not acknowledged, or broken since.
        case broken
        /// Acknowledged in this generation; what came before is not known yet.
        case behind(generation: Int)
        /// The stream is at the end of an unbroken feed.
        case live(generation: Int)

        var generation: Int? {
            switch self {
            case .broken: nil
            case .behind(let generation), .live(let generation): generation
            }
        }

        var isLive: Bool { if case .live = self { true } else { false } }
    }

    /// What brings it to the present, or its cache back in time: asked of the origin, one of a kind
    /// at a time.
    enum Step: Hashable {
        /// Record and head of a conversation that the cache does not have.
        case conversation
        /// Whether the log still stands where the stream does.
        case compareHead
        /// Whether the log has the newest change that values were taken from.
        case verifyHead
        /// The newest page, for those who watch a conversation that is far behind.
        case latest
        /// What changed above the position.
        case catchUp
        /// What changed above the `asOf` of a holder that is older than `changesFrom`.
        case backfill(since: Int)
        /// The log has lost what was taken from it: it gets another epoch.
        case forkEpoch
    }

    /// A change that somebody says the log has.
    struct Claim: Hashable {
        let rev: Int
        let mark: String
    }

    private(set) var feed = Feed.broken
    /// Counts the times that everything asked before counted no more.
    private(set) var era = 0
    /// The log that is asked and listened to is the one that the stream knows. Until that is so,
    /// nothing of it is taken: another master may go on under the same epoch.
    private(set) var isConfirmed = false
    /// Logs that had this name and ended: the feed told of them, and the origin, asked after that,
    /// of the one that the stream knows. What else an unbroken feed tells of them comes late.
    private(set) var ended: Set<String> = []
    /// Other logs that the feed has told of, as long as the origin has not said which one counts.
    private var suspected: Set<String> = []
    /// How far the chain was read, as long as that is not to its end. A slot that changed below
    /// and above it comes later, so it is not the position.
    var readTo: Head?
    /// What the catch-up needs next; nil when the stream is at the end of its chain.
    var next: Step?
    /// The change up to which the membership is known: whoever was removed until then has been
    /// removed here. No value above it is stored or told, since it may follow a removal.
    private(set) var membersKnown = 0
    /// The cache was asked for it, and has answered.
    var isLoaded = false
    /// Heads after live changes above the position that don't continue it, ascending, each once.
    private(set) var ahead: [Head] = []
    /// More of them came than are kept: the end of the chain has to be found by reading on.
    private(set) var hasForgotten = false
    /// The newest change that the origin spoke of.
    var known = 0
    /// Since when there is a change that the stream has not reached and that the feed itself may
    /// still bring.
    var holeSince: Timestamp?
    /// Since when the stream has been away from the present.
    var awaySince: Timestamp
    /// The newest page has been shown to those who watch, and the rest told as a gap.
    var hasShownLatest = false
    /// Of the places that those who watch were told a value of above the position, the newest rev.
    /// A break of the feed takes nothing back of it.
    private(set) var told: [Int: Int] = [:]
    /// What the cache holds of it.
    var copy = ReplicaCopy()
    /// What is asked about it.
    var inFlight = FetchesInFlight()
    /// How the origin has failed to answer about it.
    var backoff = Backoff()
    /// What the log said of claims. Bounded.
    var verdicts: [Claim: Bool] = [:]
    /// Claims that the cache, or the origin, is asked about.
    var claimsAsked: Set<Claim> = []
    /// Some subscriber was answered without what it is owed.
    var isOwed = false

    /// Live changes above a hole that are remembered; beyond, their values stay and the position
    /// moves by reading alone. As many places are remembered of what was told; beyond, it is told
    /// again.
    private static let aheadLimit = 10_000
    static let verdictLimit = 1000
    /// Logs of one name that are remembered; what is forgotten is asked about again.
    private static let endedLimit = 100

    init(at now: Timestamp) { awaySince = now }

    // MARK: - The feed

    /// The feed, or the log behind it, may be another one: what was asked before does not count.
    mutating func begin(_ feed: Feed) {
        if feed.generation != self.feed.generation { (ended, suspected) = ([], []) }
        self.feed = feed
        era += 1
        isConfirmed = false
        readTo = nil
        inFlight.forget()
        verdicts = [:]
        claimsAsked = []
        copy.stopBackfill()
        holeSince = nil
        hasShownLatest = false
    }

    /// It is the log that the stream knows.
    mutating func confirm() {
        isConfirmed = true
        ended.formUnion(suspected)
        suspected = []
    }

    /// The feed has told of other logs of this name; to be called before the origin is asked.
    mutating func suspect(_ epochs: Set<String>) {
        if ended.count + suspected.count > Self.endedLimit { (ended, suspected) = ([], []) }
        suspected.formUnion(epochs)
    }

    /// The stream is at the end of the unbroken feed.
    mutating func settle() {
        told = [:]
        if let generation = feed.generation { feed = .live(generation: generation) }
    }

    /// There is a hole between the stream and what the feed tells.
    mutating func fallBehind() {
        if let generation = feed.generation { feed = .behind(generation: generation) }
    }

    /// The newest record of the log as of this change has been applied.
    mutating func knowMembers(upTo rev: Int) { membersKnown = max(membersKnown, rev) }

    // MARK: - Live changes above the position

    /// Whether those who watch were told of this value above the position, or of a newer one: live,
    /// or by the page that was shown first.
    func hasTold(_ message: EncodedMessage) -> Bool {
        told[message.seq].map { $0 >= message.rev } ?? false
    }

    /// Those who watch are told of it.
    mutating func tell(_ message: EncodedMessage) {
        if told.count >= Self.aheadLimit { told = [:] }
        told[message.seq] = message.rev
    }

    /// Remembers that the change at `head` was seen.
    /// - Returns: whether it is the first time.
    mutating func see(_ head: Head) -> Bool {
        let at = ahead.partitioning { $0.rev >= head.rev }
        if at < ahead.count, ahead[at].rev == head.rev { return false }
        if ahead.count < Self.aheadLimit {
            ahead.insert(head, at: at)
        } else {
            hasForgotten = true
        }
        return true
    }

    /// The last of the seen changes that continue `position`.
    func reach(after position: Head) -> Head {
        var position = position
        for head in ahead where head.rev == position.rev + 1 { position = head }
        return position
    }

    /// Takes the seen changes that continue `position`, and gives the last of them.
    mutating func absorb(after position: Head) -> Head {
        var position = position
        var count = 0
        for head in ahead {
            guard head.rev <= position.rev + 1 else { break }
            if head.rev > position.rev { position = head }
            count += 1
        }
        ahead.removeFirst(count)
        return position
    }

    /// The feed has ended: what was seen of it no longer leads to the present.
    mutating func forgetAhead() {
        ahead = []
        hasForgotten = false
    }

    /// Whether nothing is known above this change, so that it is the present.
    func isComplete(at rev: Int) -> Bool {
        ahead.isEmpty && !hasForgotten && next == nil && known <= rev
    }

    /// Reading on from here finds what was forgotten.
    mutating func readsOn() { hasForgotten = false }
}

extension Array {
    /// The first index whose element, and so every later one, fulfils the condition.
    fileprivate func partitioning(_ condition: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
