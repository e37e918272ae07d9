import Ports
import Wire

/// Reads of the cache that were decided and not begun. Each class of them is a queue of its own, in
/// which users take turns: the *quick* ones; the *costly* ones, of users whose last read held the
/// turns up, which take turns with the quick ones when the loop has rested from them; and the
/// *slow* ones, of which one at a time is under way beside the turns. They are as long as what the
/// engine asks for, which has its own limits.
struct ReadQueue {
    private var quick = FairQueue<CacheRead>()
    private var costly = FairQueue<CacheRead>()
    private var slow = FairQueue<CacheRead>()
    private var isReadingSlow = false
    /// Whose reads are costly, until none of them waits and the loop has rested.
    private var costlyUsers: Set<ID> = []
    /// The last read was a quick one: a costly one comes before the next, however many there are.
    private var isCostlyNext = false

    /// Whether nothing waits and nothing is under way.
    var isIdle: Bool { isEmpty && !isReadingSlow }
    /// Whether nothing waits.
    var isEmpty: Bool { quick.isEmpty && costly.isEmpty && slow.isEmpty }
    private var hasNextSlow: Bool { !isReadingSlow && !slow.isEmpty }

    /// Whether there is one to begin with.
    /// - Parameter isResting: costly reads have to wait.
    mutating func hasNext(isResting: Bool, at instant: Duration) -> Bool {
        if isResting { setCostlyAside(at: instant) }
        return !quick.isEmpty || hasNextSlow || !isResting && !costly.isEmpty
    }

    /// - Parameter isSlow: it will take long.
    mutating func append(_ read: CacheRead, isSlow: Bool) {
        if isSlow {
            let read = read.moved(to: .slow, at: read.since)
            slow.append(read, for: read.payer, cost: read.cost)
        } else {
            quick.append(read, for: read.payer, cost: read.cost)
        }
    }

    /// The read whose turn it is; while costly ones have to wait, none of those.
    mutating func popQuick(isResting: Bool, at instant: Duration) -> CacheRead? {
        if isResting {
            setCostlyAside(at: instant)
        } else if costly.isEmpty {
            // Who holds the turns up again is found out again.
            costlyUsers.removeAll()
        }
        let isCostly = !isResting && !costly.isEmpty && (isCostlyNext || quick.isEmpty)
        isCostlyNext = !isCostly
        return (isCostly ? costly.popFirst() : quick.popFirst())?.element
    }

    private mutating func setCostlyAside(at instant: Duration) {
        while let user = quick.nextUser(), costlyUsers.contains(user),
            let read = quick.popFirst(isFree: true)?.element
        {
            costly.append(
                read.moved(to: .costly, at: instant), for: read.payer, cost: read.cost)
        }
    }

    /// The slow read whose turn has come, while none is under way.
    mutating func popSlow() -> CacheRead? { hasNextSlow ? slow.popFirst()?.element : nil }

    mutating func noteSlowBegan() { isReadingSlow = true }
    mutating func noteSlowEnded() { isReadingSlow = false }

    /// A read of this one's has held the turn up.
    mutating func noteCostly(_ payer: Payer) {
        guard payer != .gateway else { return }
        // Under a load that never lets up those who have left would add up.
        if costlyUsers.count >= Self.costlyLimit { costlyUsers.removeAll() }
        costlyUsers.insert(payer.user)
    }

    private static let costlyLimit = 1000

    /// A read has cost so much more than was said.
    mutating func charge(_ payer: Payer, _ cost: Int) {
        quick.charge(payer, cost)
        costly.charge(payer, cost)
        slow.charge(payer, cost)
    }
}
