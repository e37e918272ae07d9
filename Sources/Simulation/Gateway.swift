import Chat
import Engine
import Ports
import Wire

/// One gateway of a simulated world: the engine, which ends with its process, the cache, which
/// doesn't, the link to the origin, and what is on its way between them. Owned by the world.
final class Gateway {
    /// A question of the store, read at one turn and answered at another.
    struct Read {
        let read: CacheRead
        let readAt: Int
        let due: Int
        var result: Result<Answer, RequestError>?
        let isSlow: Bool
    }

    /// A question of the origin.
    struct Fetch {
        enum Subject: Hashable {
            case history(HistoryQuery)
            case epochFork(Head, String)
        }
        let token: UInt64
        let subject: Subject
        /// Of the feed, when it was asked.
        let generation: Int
        let readAt: Int
        let due: Int
        var isFailing: Bool
        /// When it was read, and what.
        var read: (turn: Int, result: Result<HistoryAnswer, RequestError>)?
    }

    /// What changed is being read.
    struct Chain {
        let question: Doorbells.Question
        let readAt: Int
        let due: Int
        let isFailing: Bool
        var answer: Doorbells.Answer?
    }

    /// What the feed has lost in silence of a conversation.
    struct Loss {
        /// In which turn the last of it was lost.
        var turn: Int
        /// When an answer of the origin showed the gateway that there is more.
        var shownAt: Timestamp?
    }

    let place: Int
    /// nil while its process is not there.
    var engine: Engine? {
        didSet {
            turns = engine.map { TurnRunner($0) }
            fairness = Fairness()
            turns?.watcher = fairness
        }
    }
    private(set) var turns: TurnRunner?
    private(set) var fairness = Fairness()
    var store = CachedLogs()
    /// Its feed only rings.
    let isRinging: Bool
    /// It goes on with a primary that another one has replaced, until this turn.
    var withOldUntil: Int?
    var isWithOld: Bool { withOldUntil != nil }
    var link: RemoteLink
    /// What is read because the feed has rung.
    var chains: [Chain] = []
    var reads: [Read] = []
    var fetches: [Fetch] = []
    /// The last question before each conversation's feed was joined, or told that a log had ended.
    var joinedAfter: [String: UInt64] = [:]
    var writes: [(due: Int, token: UInt64, operation: Operation, caller: Caller)] = []
    var outcomes: [(due: Int, token: UInt64, result: Result<Outcome, RequestError>)] = []
    /// What the feed has lost since the link came up.
    var losses: [String: Loss] = [:]
    /// Of which logs its adapter knows that a part is gone.
    var damaged: Set<String> = []
    /// Deltas that the engines before this one have written.
    var written = 0
    /// How many effects the engine has asked for in this turn.
    var effects = 0
    /// After how many effects of this turn the process ends, if it does.
    var lastAction: Int?
    /// The turn in which something other than a look at the heads was last asked for.
    var lastDeed = 0

    /// What catching up has cost, by conversation.
    var costs: [String: CatchUpCost] = [:]
    /// Of the newest question to the origin.
    var lastToken: UInt64 = 0

    init(place: Int, isRinging: Bool) {
        self.place = place
        self.isRinging = isRinging
        link = RemoteLink(isRinging: isRinging)
    }

    /// The process ends: what is in the file stays.
    func stop() {
        if let engine { written += engine.report.totals().accounting.written }
        engine = nil
        link = RemoteLink(isRinging: isRinging)
        withOldUntil = nil
        chains = []
        reads = []
        fetches = []
        writes = []
        outcomes = []
        losses = [:]
        damaged = []
        costs = [:]
        lastToken = 0
        lastAction = nil
    }

    /// Nothing is on its way but a look at whether the heads are where they should be.
    var isQuiet: Bool {
        reads.isEmpty && chains.isEmpty && fetches.allSatisfy(\.subject.isVerification)
            && writes.isEmpty && outcomes.isEmpty && engine?.nextRelease == nil
            && turns?.isIdle != false && link.queue.isEmpty && link.isUp
            && link.unacknowledged.isEmpty && link.unacknowledgedLists.isEmpty
    }
}
