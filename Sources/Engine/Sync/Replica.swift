import Chat
import Ports
import Wire

/// The gateway's replica of a log that lives elsewhere, as a state machine: the state of this
/// conversation's feed, and the steps that bring the stream to the present. Owned by its stream. It
/// knows heads, not messages, and neither the stream nor the engine. Events come in as calls whose
/// results say what to do; `next` is the next question to the origin.
///
///     broken ─ acknowledged ─▶ behind: loading | comparingHead
///     comparingHead ─▶ catchingUp | verifyingHead | forkingEpoch | waiting
///     verifyingHead ─▶ catchingUp | forkingEpoch        forkingEpoch ─▶ comparingHead | catchingUp
///     catchingUp ⇄ showingLatest | loading              catchingUp ─▶ waiting, forkingEpoch
///     waiting ─ nothing is missing ─▶ live ⇄ liveWithHole ─ out of order ─▶ waiting
///     waiting, liveWithHole ─ the grace is over ─▶ catchingUp
///     any ─ doubted ─▶ comparingHead                    any ─ lapsed ─▶ broken
///
/// The stream's *position* rises along one contiguous chain: live changes in order while the feed
/// is unbroken, or the origin's changes read to their end. Nothing else raises it: neither a live
/// change above a hole, nor a page, nor a newer head.
struct Replica {
    private(set) var state = State.broken
    /// Incremented when everything asked before becomes void.
    private(set) var era = 0
    /// How far the chain was read, until its end. A slot that changed below it and again above it
    /// comes later, so this is not the position.
    private(set) var readTo: Head?
    /// The change up to which membership is known: everyone removed until then was removed here.
    /// Values above it are neither stored nor sent, since they may follow a removal.
    private(set) var membersKnown = 0
    /// The cache was asked for the conversation and has answered.
    private(set) var isLoaded = false
    /// The newest change that the origin mentioned.
    private var known = 0
    /// When the stream last left the present.
    private(set) var awaySince: Timestamp
    /// Subscribers were sent the newest page, and a gap for the rest.
    private var hasShownLatest = false
    /// Some subscriber is owed slots.
    private(set) var isOwed = false
    /// Live changes above the position.
    var ahead = ChangesAhead()
    /// Whether it is the log that the stream knows.
    var identity = LogIdentity()
    /// The cached copy of it.
    var copy = ReplicaCopy()
    /// Questions about it without an answer.
    var inFlight = FetchesInFlight()
    /// Failures of the origin to answer about it.
    var backoff = Backoff()

    init(at now: Timestamp) { awaySince = now }

    // MARK: - State

    var isConfirmed: Bool { identity.isConfirmed }
    var isLive: Bool { state.isLive }
    var isBroken: Bool { state == .broken }

    /// The generation of its unbroken feed; nil without one.
    var generation: Int? { state.generation }

    /// The question that brings the stream closer to the present; nil at the end of its chain, or
    /// if there is no feed.
    var next: Step? {
        guard case .behind(_, let phase) = state else { return nil }
        switch phase {
        case .loading: return .conversation
        case .comparingHead: return .compareHead
        case .verifyingHead: return .verifyHead
        case .forkingEpoch: return .forkEpoch
        case .catchingUp: return .catchUp
        case .showingLatest: return .latest
        case .waiting: return nil
        }
    }

    /// Since when there is a hole that the feed itself may close.
    var holeSince: Timestamp? {
        switch state {
        case .liveWithHole(_, let since): since
        case .behind(_, .waiting(let since)): since
        case .broken, .behind, .live: nil
        }
    }

    private mutating func enter(_ phase: Phase) {
        guard let generation else { return }
        state = .behind(generation: generation, phase)
    }

    // MARK: - The feed

    /// The feed, or the log behind it, may be another one: earlier questions don't count.
    private mutating func begin(_ next: State) {
        identity.begin(inSameFeed: next.generation == generation)
        state = next
        era += 1
        readTo = nil
        inFlight.forget()
        copy.stopBackfill()
        hasShownLatest = false
    }

    /// The origin acknowledged the subscription: from here on this generation's feed covers it.
    /// - Parameter isKnown: whether the stream has a position.
    mutating func acknowledged(generation: Int, isKnown: Bool) {
        begin(.behind(generation: generation, isKnown ? .comparingHead : .loading))
        backoff.retry()
        ahead.forgetSeen()
    }

    /// The feed ended.
    mutating func lapsed(at now: Timestamp) {
        begin(.broken)
        known = 0
        awaySince = now
        ahead.forgetSeen()
    }

    /// The feed is no longer asked for.
    mutating func dismissed() { begin(.broken) }

    /// The log may not be the one that the stream knows.
    /// - Returns: whether to ask the origin: not without a feed.
    mutating func doubted(at now: Timestamp) -> Bool {
        guard let generation else { return false }
        if isLive { awaySince = now }
        begin(.behind(generation: generation, .comparingHead))
        return true
    }

    /// The file could not be written since then: counts as away.
    mutating func noteAway(since moment: Timestamp) { awaySince = moment }

    // MARK: - The cache

    /// The cache answered with what it has.
    /// - Returns: whether for the first time.
    mutating func noteLoaded() -> Bool {
        guard !isLoaded else { return false }
        isLoaded = true
        return true
    }

    /// The cache knows the conversation as of this change.
    mutating func adopt(_ cached: Cached, upTo rev: Int) {
        copy.adopt(cached)
        knowMembers(upTo: rev)
        if next == .conversation { enter(.comparingHead) }
    }

    /// The newest record of the log as of this change was applied.
    mutating func knowMembers(upTo rev: Int) { membersKnown = max(membersKnown, rev) }

    /// Whether a change may be sent: no unknown removal lies below it.
    func knowsMembers(before rev: Int) -> Bool { rev <= membersKnown + 1 }

    /// Sets whether some subscriber is owed slots.
    mutating func note(isOwed: Bool) { self.isOwed = isOwed }
}

// MARK: - Answers of the origin

extension Replica {
    /// The origin answered with the head of the log.
    /// - Parameters:
    ///   - head: nil if there is no such log.
    ///   - seen: the newest change that values were taken from, on top of a hole or not.
    mutating func compared(_ head: Head?, seen: Head, position: Head) -> Finding {
        guard let head else { return .vanished }
        guard head.epoch == seen.epoch else { return .replaced(head, .replaced) }
        // A periodic verification.
        if isLive { return .moved(to: head.rev) }
        guard next == .compareHead else { return .nothing }
        let isWhole = seen.rev == position.rev
        if head.rev < seen.rev || head.rev == seen.rev && head.mark != seen.mark {
            // The log lost what was seen.
            enter(.forkingEpoch)
        } else if head.rev > seen.rev {
            // Reading the chain shows whether the log has the position.
            enter(isWhole ? .catchingUp : .verifyingHead)
        } else {
            enter(isWhole ? .waiting(since: nil) : .catchingUp)
            return .confirmed(missing: !isWhole)
        }
        return .nothing
    }

    /// The log has the newest change that values were taken from.
    mutating func verified() { enter(.catchingUp) }

    /// The origin, told that the log lost changes, answered with its head.
    mutating func forked(_ head: Head?, seen: Head?, position: Head?) -> Finding {
        enter(.comparingHead)
        guard let head else { return .vanished }
        guard let seen, let position, head.epoch == seen.epoch else {
            return .replaced(head, .replaced)
        }
        guard head.rev >= seen.rev else { return .nothing }
        // The log keeps no mark for the stream's position, which does not justify a new epoch. If
        // it has the newest change that values were taken from, it is the stream's log, and the
        // changes since are read without a mark. Otherwise what is held may be of this log or of a
        // failed master's: the stream begins anew.
        guard isConfirmed else { return head.rev > seen.rev ? .replaced(head, .mark) : .nothing }
        readTo = position
        readTo?.mark = ""
        enter(.catchingUp)
        return .nothing
    }

    /// The log lacks the change or mark that was named.
    /// - Returns: whether that says anything about the log.
    mutating func conflicted(_ step: Step?) -> Bool {
        switch step {
        case .verifyHead:
            enter(.forkingEpoch)
        case .catchUp:
            // Either the part read last was lost, or everything known was.
            enter(readTo == nil ? .forkingEpoch : .comparingHead)
            readTo = nil
        case .conversation, .compareHead, .forkEpoch, .latest, .backfill, nil:
            return false
        }
        return true
    }

    /// There is no such log, but the feed reported another one that has the name now.
    mutating func asksAgain(isKnown: Bool) { enter(isKnown ? .comparingHead : .loading) }

    /// Record and head have come.
    /// - Parameters:
    ///   - rev: of the head.
    ///   - position: of the stream; nil where it has none.
    ///   - isWatched: somebody would miss what is left out.
    /// - Returns: whether the stream begins there or jumps there.
    mutating func mayStand(at rev: Int, position: Head?, isWatched: Bool) -> Bool {
        guard let position else { return true }
        // The part that the chain has read need not be read again.
        if rev > (readTo ?? position).rev, !isWatched { return true }
        enter(rev > position.rev ? .catchingUp : .comparingHead)
        return false
    }

    /// The chain was read to its end, or skipped.
    mutating func endChain() {
        readTo = nil
        enter(.waiting(since: nil))
    }

    /// The chain was read up to `end`.
    /// - Returns: how far the feed's contiguous changes lead from there, if to `newest` or beyond:
    ///   then the chain need not be read on.
    mutating func readOn(to end: Head, newest: Head) -> Head? {
        readTo = end
        let reached = ahead.reach(after: end)
        return reached.rev >= newest.rev ? reached : nil
    }

    /// What follows the first part of a chain. If it is long, subscribers are shown its end first;
    /// without subscribers the stream jumps, since nobody holds what lies between.
    mutating func goOn(isFar: Bool, isWatched: Bool) {
        guard isFar else { return enter(.catchingUp) }
        guard isWatched else { return enter(.loading) }
        enter(hasShownLatest ? .catchingUp : .showingLatest)
    }

    /// The newest page was shown, and the chain is read on.
    mutating func showedLatest() {
        enter(.catchingUp)
        hasShownLatest = true
    }
}

// MARK: - Holes

extension Replica {
    /// The stream reached this change and took the changes that continue it.
    mutating func arrived(at rev: Int, at now: Timestamp) -> Arrival {
        guard let generation, next == nil else { return .reading }
        guard ahead.isEmpty, known <= rev else {
            openHole(at: now)
            return .hole
        }
        let wasLive = isLive
        state = .live(generation: generation)
        guard !wasLive else { return .live }
        ahead.forgetTold(upTo: rev)
        hasShownLatest = false
        return .present
    }

    /// The log has changes up to this one that the stream has not reached.
    /// - Returns: whether the feed gets a moment to bring them.
    mutating func expects(_ rev: Int) -> Bool {
        known = max(known, rev)
        return isLive
    }

    /// There is a hole, from now on unless one is open already.
    mutating func openHole(at now: Timestamp) {
        switch state {
        case .live(let generation): state = .liveWithHole(generation: generation, since: now)
        case .behind(let generation, .waiting(nil)):
            state = .behind(generation: generation, .waiting(since: now))
        case .broken, .behind, .liveWithHole: break
        }
    }

    /// The feed brought the next change.
    mutating func followed(to rev: Int) {
        if case .liveWithHole(let generation, _) = state, known <= rev {
            state = .live(generation: generation)
        }
    }

    /// The feed brought a change that does not continue the position.
    mutating func fellBehind(at now: Timestamp) {
        guard isLive else { return }
        enter(.waiting(since: holeSince))
        awaySince = now
    }

    /// The feed had time to close the hole.
    /// - Returns: whether it had enough, so that the origin is asked instead.
    mutating func givesUpHole(at now: Timestamp, grace: Int64) -> Bool {
        guard let since = holeSince, now >= since.adding(grace) else { return false }
        if isLive { awaySince = now }
        ahead.readsOn()
        enter(.catchingUp)
        return true
    }
}
