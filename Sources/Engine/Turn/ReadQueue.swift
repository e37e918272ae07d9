import Ports
import Wire

/// Cache reads that were decided and have not begun, in three queues in which users take turns:
/// *quick* reads; *costly* ones, of users whose last read held up the turn, which alternate with
/// quick ones once the loop has rested; and *slow* ones, of which one at a time is under way beside
/// the turns. The engine's own limits bound their length.
struct ReadQueue {
    private var quick = FairQueue<CacheRead>()
    private var costly = FairQueue<CacheRead>()
    private var slow = FairQueue<CacheRead>()
    private var isReadingSlow = false
    /// Users whose reads are costly, until none of those waits and the loop has rested.
    private var costlyUsers: Set<ID> = []
    /// The last read was quick: a waiting costly one comes next, however many quick ones wait.
    private var isCostlyNext = false

    /// Whether no read waits or is under way.
    var isIdle: Bool { isEmpty && !isReadingSlow }
    /// Whether no read waits.
    var isEmpty: Bool { quick.isEmpty && costly.isEmpty && slow.isEmpty }
    private var hasNextSlow: Bool { !isReadingSlow && !slow.isEmpty }

    /// Whether a read can begin.
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

    /// The next read; not a costly one while those have to wait.
    mutating func popQuick(isResting: Bool, at instant: Duration) -> CacheRead? {
        if isResting {
            setCostlyAside(at: instant)
        } else if costly.isEmpty {
            // Costly users are determined anew.
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

    /// The next slow read, if none is under way.
    mutating func popSlow() -> CacheRead? { hasNextSlow ? slow.popFirst()?.element : nil }

    mutating func noteSlowBegan() { isReadingSlow = true }
    mutating func noteSlowEnded() { isReadingSlow = false }

    /// A read for this payer was costly.
    mutating func noteCostly(_ payer: Payer) {
        guard payer != .gateway else { return }
        // Under constant load the set is never cleared above, and users who left would accumulate.
        if costlyUsers.count >= Self.costlyLimit { costlyUsers.removeAll() }
        costlyUsers.insert(payer.user)
    }

    private static let costlyLimit = 1000

    /// A read has cost this much more than was estimated.
    mutating func charge(_ payer: Payer, _ cost: Int) {
        quick.charge(payer, cost)
        costly.charge(payer, cost)
        slow.charge(payer, cost)
    }
}
