import Chat
import Ports
import Wire

/// Runs turns: the engine decides, its effects are performed until none is left, the sockets are
/// written, and then the cache is read for as long as the budget allows. The gateway and the
/// simulated worlds share this order. Owned by the engine's owner, on its thread.
///
/// A turn in order:
/// 1. `Engine.endTurn` and its effects, repeated until there are none. These are cheap.
/// 2. Write the sockets. Events for everybody don't wait for one client's questions.
/// 3. Reads, as many as `ReadBudget` allows. Thousands of reads of one user delay neither messages
///    nor other users' reads: users take turns by the cost of their reads. If any was done, 1 and 2
///    once more.
/// 4. Close connections, and stop or resume reading sockets.
///
/// Reads that are left wait for the next turn, behind its input.
package final class TurnRunner {
    let engine: Engine
    private var reads = ReadQueue()
    private var budget: ReadBudget
    /// A write was handed to the upstream in this turn.
    private var hasAskedUpstream = false
    private var closes: [(SessionID, CloseCode)] = []
    private var throttles: [(SessionID, Bool)] = []
    /// Observes which reads begin.
    package weak var watcher: (any ReadWatcher)?

    /// - Parameter budget: decides when the cache is read.
    package init(_ engine: Engine, budget: ReadBudget = ReadBudget()) {
        self.engine = engine
        self.budget = budget
    }

    /// Whether no read waits or is under way.
    package var isIdle: Bool { reads.isIdle }

    /// The upstream was handed a write that is not the engine's.
    package func noteOperation() { hasAskedUpstream = true }

    /// Performs a turn.
    /// - Returns: when the next one is due.
    package func run<Effects: TurnEffects>(
        _ effects: Effects
    ) throws(Effects.Failure) -> Wake {
        let began = effects.moment().instant
        try settle(effects, began)
        if try performReads(effects) { try settle(effects, began) }
        let wake = nextWake(effects)
        let (closes, throttles) = (closes, throttles)
        self.closes = []
        self.throttles = []
        for (session, code) in closes { try effects.close(session, code) }
        for (session, isThrottled) in throttles { try effects.throttle(session, isThrottled) }
        return wake
    }

    /// Performs decisions, and those that follow from them, until none is left; then writes the
    /// sockets, and lets busy conversations rest after that.
    private func settle<Effects: TurnEffects>(
        _ effects: Effects, _ began: Duration
    ) throws(Effects.Failure) {
        var moment = try askAtOnce(effects, began)
        while true {
            var turn = engine.endTurn(at: moment.now, instant: began)
            settleCharges()
            for read in turn.reads {
                let (payer, cost) = payer(of: read)
                reads.append(
                    CacheRead(read, for: payer, cost: cost, at: moment.instant),
                    isSlow: isSlow(read))
            }
            guard turn.isOver else {
                for effect in turn.effects { try perform(effect, effects) }
                moment = try askAtOnce(effects, began)
                continue
            }
            closes.append(contentsOf: turn.closes)
            throttles.append(contentsOf: turn.throttles)
            try effects.handOver()
            guard !turn.writes.isEmpty else { return engine.wroteNothing(at: moment.instant) }
            // Passed on without a copy, so that sessions are released while they are in the CPU
            // cache.
            var writes: [Session] = []
            swap(&writes, &turn.writes)
            let count = writes.count
            guard let time = try effects.write(consume writes) else { return }
            return engine.wrote(count, in: time, at: effects.moment().instant)
        }
    }

    /// How long a turn may go on with what an upstream answers within the call, while other input
    /// waits.
    private static let mostAtOnce = Duration.milliseconds(1)

    /// - Returns: the time after that.
    private func askAtOnce<Effects: TurnEffects>(
        _ effects: Effects, _ began: Duration
    ) throws(Effects.Failure) -> Moment {
        let moment = effects.moment()
        guard moment.instant - began < Self.mostAtOnce, try effects.askAtOnce() else {
            return moment
        }
        // The change is there: no read has to wait for it.
        hasAskedUpstream = false
        return effects.moment()
    }

    private func perform<Effects: TurnEffects>(
        _ effect: Turn.Effect, _ effects: Effects
    ) throws(Effects.Failure) {
        switch effect {
        case .store(let token, let writes):
            guard engine.isAwaited(token) else { return }
            try effects.handOver()
            let isStored = try effects.store(token, writes)
            engine.stored(token, isStored, at: engine.now)
        case .upstream(let call):
            if case .perform = call { hasAskedUpstream = true }
            try effects.perform(call)
        }
    }

    // MARK: - Reads

    /// Reads within the budget.
    /// - Returns: whether anything was read.
    private func performReads<Effects: TurnEffects>(
        _ effects: Effects
    ) throws(Effects.Failure) -> Bool {
        let hasAsked = hasAskedUpstream
        hasAskedUpstream = false
        guard !reads.isEmpty else { return false }
        let start = effects.moment().instant
        guard budget.mayBegin(hasAskedUpstream: hasAsked, at: start) else { return false }
        budget.begin(at: start) { effects.usage() }
        var last = start
        var hasRead = false
        while let read = try performRead(effects, at: last) {
            hasRead = true
            let end = effects.moment().instant
            let (isCostly, goesOn) = budget.answered(from: last, to: end) {
                effects.usage()
            }
            if isCostly, read.class != .slow { reads.noteCostly(read.payer) }
            guard goesOn else { break }
            last = end
        }
        return hasRead
    }

    /// Answers a read, or begins a slow one.
    /// - Returns: the read; nil if none could begin.
    private func performRead<Effects: TurnEffects>(
        _ effects: Effects, at instant: Duration
    ) throws(Effects.Failure) -> CacheRead? {
        if let read = reads.popSlow() {
            watcher?.began(read, at: instant)
            if engine.concludeWithoutReading(read.token) {
                try effects.finished(read, flush: engine.sockets.takeSessionsToFlush())
            } else {
                reads.noteSlowBegan()
                try effects.beginSlow(read)
            }
            return read
        }
        guard let read = reads.popQuick(isResting: budget.isResting, at: instant) else {
            return nil
        }
        watcher?.began(read, at: instant)
        if engine.concludeWithoutReading(read.token) {
            try effects.finished(read, flush: engine.sockets.takeSessionsToFlush())
        } else if let result = try effects.answer(read) {
            try finish(read, result, at: engine.now, effects)
        }
        return read
    }

    /// A user whose reads cost more than estimated gets the next turn later.
    private func settleCharges() {
        for (payer, cost) in engine.connections.registry.takeLateCharges() {
            reads.charge(payer, cost)
            watcher?.charged(payer, cost)
        }
    }

    /// A read was answered.
    package func finish<Effects: TurnEffects>(
        _ read: CacheRead, _ result: Result<Answer, RequestError>, at now: Timestamp,
        _ effects: Effects
    ) throws(Effects.Failure) {
        engine.sockets.beginAnswer()
        engine.answered(read.token, result, at: now)
        settleCharges()
        try effects.finished(read, flush: engine.sockets.takeSessionsToFlush())
    }

    /// The slow read under way was answered.
    package func finishSlow<Effects: TurnEffects>(
        _ read: CacheRead, _ result: Result<Answer, RequestError>, at now: Timestamp,
        _ effects: Effects
    ) throws(Effects.Failure) {
        reads.noteSlowEnded()
        try finish(read, result, at: now, effects)
    }

    /// When the next turn is due because of what is left.
    private func nextWake<Effects: TurnEffects>(_ effects: Effects) -> Wake {
        if engine.hasMore { return .now }
        var due = engine.nextRelease
        guard !reads.isEmpty else { return due.map { .at($0) } ?? .never }
        let instant = effects.moment().instant
        if let end = budget.standsBackUntil {
            due = min(due ?? end, end)
        } else if reads.hasNext(isResting: budget.isResting, at: instant) {
            return .now
        } else if let end = budget.restsUntil {
            due = min(due ?? end, end)
        }
        return due.map { .at($0) } ?? .never
    }
}
