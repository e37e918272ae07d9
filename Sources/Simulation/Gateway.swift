import Chat
import Engine
import Ports
import Wire

/// One gateway of a simulated world: the engine, which ends with its process, the cache, which does
/// not, the link to the origin, and everything in flight between them. Owned by the world.
final class Gateway: EngineProcess {
    /// A question to the store, read in one turn and answered in another.
    struct Read {
        let read: CacheRead
        let readAt: Int
        let due: Int
        var result: Result<Answer, RequestError>?
        let isSlow: Bool
    }

    /// A question to the origin.
    struct Fetch {
        enum Subject: Hashable {
            case history(HistoryQuery)
            case epochFork(Head, String)
        }
        let token: UInt64
        let subject: Subject
        /// The feed's generation when it was asked.
        let generation: Int
        let readAt: Int
        let due: Int
        var isFailing: Bool
        /// When it was read, and the result.
        var read: (turn: Int, result: Result<HistoryAnswer, RequestError>)?
    }

    /// A read of changes after a notification.
    struct Chain {
        let question: Doorbells.Question
        let readAt: Int
        let due: Int
        let isFailing: Bool
        var answer: Doorbells.Answer?
    }

    /// What is on its way between the engine, the cache and the origin.
    struct Flight {
        /// Reads that follow notifications.
        var chains: [Chain] = []
        var reads: [Read] = []
        var fetches: [Fetch] = []
        var writes: [(due: Int, token: UInt64, operation: Operation, caller: Caller)] = []
        var outcomes: [(due: Int, token: UInt64, result: Result<Outcome, RequestError>)] = []
        /// The token of the newest question to the origin.
        var lastToken: UInt64 = 0

        /// Whether it is empty but for verifications of heads.
        var isQuiet: Bool {
            reads.isEmpty && chains.isEmpty && fetches.allSatisfy(\.subject.isVerification)
                && writes.isEmpty && outcomes.isEmpty
        }
    }

    /// What the engine does.
    struct Act {
        /// How many effects it asked for in this turn.
        var effects = 0
        /// If the process is to end: after how many effects of this turn.
        var last: Int?
        /// The last turn with an effect other than a comparison of heads.
        var lastDeed = 0
    }

    /// Events of a conversation that the feed lost silently.
    struct Loss {
        /// The turn of the last loss.
        var turn: Int
        /// When an answer of the origin showed the gateway that there is more.
        var shownAt: Timestamp?
    }

    var store = CachedLogs()
    /// The conversation that its cache trims on its own after this turn.
    var toTidy: String?
    /// Whether its feed only notifies.
    let isRinging: Bool
    /// Until this turn it still uses a primary that was replaced.
    var withOldUntil: Int?
    var isWithOld: Bool { withOldUntil != nil }
    var link: RemoteLink
    var flight = Flight()
    var act = Act()
    /// The last question before each conversation's feed was joined, or reported the end of a log.
    var joinedAfter: [String: UInt64] = [:]
    /// Losses of the feed since the link came up.
    var losses: [String: Loss] = [:]
    /// Logs that were put back since the link came up, until it drops what it held of them.
    var unheardForks: Set<String> = []
    /// Logs that its adapter knows to be damaged.
    var damaged: Set<String> = []
    /// Deltas written by its earlier engines.
    var written = 0
    /// The cost of catch-up, by conversation.
    var costs: [String: CatchUpCost] = [:]

    init(place: Int, isRinging: Bool) {
        self.isRinging = isRinging
        link = RemoteLink(isRinging: isRinging)
        super.init(place: place)
    }

    /// The process stood still: what it knew as the present may be the past, and is asked again.
    func stoodStill() {
        for conversation in costs.keys {
            joinedAfter[conversation] = flight.lastToken
            costs[conversation]?.begin(after: flight.lastToken)
        }
    }

    /// The process ends; the file stays.
    func stop() {
        if let engine { written += engine.report.totals().accounting.written }
        engine = nil
        link = RemoteLink(isRinging: isRinging)
        withOldUntil = nil
        flight = Flight()
        losses = [:]
        unheardForks = []
        damaged = []
        costs = [:]
        act.last = nil
    }

    /// Whether nothing is in flight except verifications of heads.
    var isQuiet: Bool {
        flight.isQuiet && engine?.nextRelease == nil
            && turns?.isIdle != false && link.queue.isEmpty && link.isUp
            && link.unacknowledged.isEmpty && link.unacknowledgedLists.isEmpty
    }
}
