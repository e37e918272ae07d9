import Chat
import Ports
import Wire

/// Performs turns: the engine decides, its effects are performed until none is left, the sockets
/// are written, and then the cache is read for as long as the budget allows. The same order holds
/// in the gateway and in the simulated worlds. Owned by whatever owns the engine, on its thread.
///
/// A turn in order:
/// 1. `Engine.endTurn`, then its effects, again and again until it has none. These are cheap.
/// 2. The sockets are written. What everybody is told does not wait for what somebody has asked.
/// 3. Reads, as many as `ReadBudget` allows; whoever asks for thousands makes nobody's message
///    wait. If any was done, 1 and 2 once more.
/// 4. Connections are closed, and sockets left unread or read again.
///
/// Reads that are left wait for the next turn, behind what came in meanwhile.
package final class TurnRunner {
    private let engine: Engine
    private var reads = ReadQueue()
    private var budget: ReadBudget
    /// The upstream is asked for a write in this turn.
    private var hasAskedUpstream = false
    private var closes: [(SessionID, CloseCode)] = []
    private var throttles: [(SessionID, Bool)] = []

    /// - Parameter budget: when the cache is read.
    package init(_ engine: Engine, budget: ReadBudget = ReadBudget()) {
        self.engine = engine
        self.budget = budget
    }

    /// Whether no read waits or is under way.
    package var isIdle: Bool { reads.isIdle }

    /// The upstream is asked for a write that is not the engine's.
    package func noteOperation() { hasAskedUpstream = true }

    /// Performs a turn.
    /// - Returns: when the next one is due.
    package func run<Effects: TurnEffects>(
        _ effects: Effects
    ) throws(Effects.Failure) -> Wake {
        let began = effects.moment().instant
        try settle(effects, began)
        if try performReads(effects, began) { try settle(effects, began) }
        let wake = nextWake
        let (closes, throttles) = (closes, throttles)
        self.closes = []
        self.throttles = []
        for (session, code) in closes { try effects.close(session, code) }
        for (session, isThrottled) in throttles { try effects.throttle(session, isThrottled) }
        return wake
    }

    /// Performs what was decided, and what is decided because of that, until nothing is left; then
    /// writes what everybody is owed, and has the conversations that are busy rest after it.
    private func settle<Effects: TurnEffects>(
        _ effects: Effects, _ began: Duration
    ) throws(Effects.Failure) {
        while true {
            let moment = effects.moment()
            var turn = engine.endTurn(at: moment.now, instant: began)
            reads.append(turn.reads, since: moment.instant)
            guard turn.isOver else {
                for effect in turn.effects { try perform(effect, effects) }
                continue
            }
            closes.append(contentsOf: turn.closes)
            throttles.append(contentsOf: turn.throttles)
            try effects.handOver()
            guard !turn.writes.isEmpty else { return }
            // Handed on whole: sessions are let go while they are at hand.
            var writes: [Session] = []
            swap(&writes, &turn.writes)
            let count = writes.count
            guard let time = try effects.write(consume writes) else { return }
            return engine.wrote(count, in: time, at: effects.moment().instant)
        }
    }

    private func perform<Effects: TurnEffects>(
        _ effect: Engine.Effect, _ effects: Effects
    ) throws(Effects.Failure) {
        switch effect {
        case .store(let token, let writes):
            guard engine.isAwaited(token) else { return }
            try effects.handOver()
            let isStored = try effects.store(token, writes)
            engine.stored(token, isStored, at: engine.now)
        case .upstream(let effect):
            if case .perform = effect { hasAskedUpstream = true }
            try effects.perform(effect)
        }
    }

    // MARK: - Reads

    /// Reads for a while.
    /// - Returns: whether anything was read.
    private func performReads<Effects: TurnEffects>(
        _ effects: Effects, _ began: Duration
    ) throws(Effects.Failure) -> Bool {
        let hasAsked = hasAskedUpstream
        hasAskedUpstream = false
        guard reads.hasNext else { return false }
        let start = effects.moment().instant
        guard budget.mayBegin(hasAskedUpstream: hasAsked, at: start) else { return false }
        var last = start
        while try performRead(effects) {
            let end = effects.moment().instant
            guard budget.answered(from: last, to: end, turnBegan: began) else { break }
            last = end
        }
        return true
    }

    /// Answers a read, or begins with a slow one.
    /// - Returns: whether there was any.
    private func performRead<Effects: TurnEffects>(
        _ effects: Effects
    ) throws(Effects.Failure) -> Bool {
        if let read = reads.popSlow() {
            if engine.concludeWithoutReading(read.token) {
                try effects.finished(read, flush: engine.takeSessionsToFlush())
            } else {
                reads.noteSlowBegan()
                try effects.beginSlow(read)
            }
        } else if let read = reads.popQuick() {
            if read.query.isLong, engine.mayReadSlow(read.token) {
                reads.appendSlow(read)
            } else if engine.concludeWithoutReading(read.token) {
                try effects.finished(read, flush: engine.takeSessionsToFlush())
            } else if let result = try effects.answer(read) {
                try finish(read, result, at: engine.now, effects)
            }
        } else {
            return false
        }
        return true
    }

    /// A read has its answer.
    package func finish<Effects: TurnEffects>(
        _ read: CacheRead, _ result: Result<Answer, RequestError>, at now: Timestamp,
        _ effects: Effects
    ) throws(Effects.Failure) {
        engine.answered(read.token, result, at: now)
        try effects.finished(read, flush: engine.takeSessionsToFlush())
    }

    /// The slow read that was under way has its answer.
    package func finishSlow<Effects: TurnEffects>(
        _ read: CacheRead, _ result: Result<Answer, RequestError>, at now: Timestamp,
        _ effects: Effects
    ) throws(Effects.Failure) {
        reads.noteSlowEnded()
        try finish(read, result, at: now, effects)
    }

    /// When a turn is due by what is left.
    private var nextWake: Wake {
        if engine.hasMore { return .now }
        var due = engine.nextRelease
        if reads.hasNext {
            guard let end = budget.restsUntil else { return .now }
            due = min(due ?? end, end)
        }
        return due.map { .at($0) } ?? .never
    }
}
