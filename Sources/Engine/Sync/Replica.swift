import Chat
import Ports
import Wire

/// The gateway's replica of a log that lives elsewhere, as a state machine: the state of this
/// conversation's feed, and the steps that bring the stream to the present. Owned by its stream. It
/// knows heads, not messages, and neither the stream nor the engine. Events come in as calls whose
/// results say what to do; `next` is the next question to the origin.
///
///     broken ─ acknowledged ─▶ behind: loading | comparingHead
///     comparingHead ─▶ catchingUp | forkingEpoch | waiting
///     forkingEpoch ─▶ comparingHead | catchingUp
///     catchingUp ⇄ showingLatest                        catchingUp ─▶ waiting, forkingEpoch
///     waiting ─ nothing is missing ─▶ live ⇄ liveWithHole ─ out of order ─▶ waiting
///     waiting, liveWithHole ─ the grace is over ─▶ catchingUp
///     any ─ doubted ─▶ comparingHead                    any ─ lapsed ─▶ broken
///
/// The stream's *position* rises along one contiguous chain: live changes in order while the feed
/// is unbroken, or the origin's changes read to their end. Nothing else raises it: neither a page
/// nor a newer head.
///
/// The *newest change taken* is the position, or above it while the chain is read. It rises in two
/// ways only, and both are proved: a live change continues it by number and by mark, and a part of
/// the chain comes from a log that has it. All other answers come from a log that had it when they
/// were asked for, and give values up to that change, no newer ones. So nothing joins two branches
/// of a log, however long ago they parted.
struct Replica {
    private(set) var state = State.broken
    /// Another one when everything asked before becomes void.
    private(set) var era = Era()
    /// Up to which change the chain was read, until its end. A slot that changed below it and again
    /// above it comes later, so this is not the position.
    private(set) var readTo: Int?
    /// The cache was asked for the conversation and has answered.
    private(set) var isLoaded = false
    /// The newest change that the origin mentioned.
    private(set) var known = 0
    /// The same when the chain was asked for: an answer that ends below it shows that it is lost.
    private var knownWhenAsked = 0
    /// When the stream last left the present.
    private(set) var awaySince: Timestamp
    /// Subscribers were sent the newest page, and a gap for the rest.
    private var hasShownLatest = false
    /// Some subscriber is owed slots.
    private(set) var isOwed = false
    /// The newest change of each log that was acknowledged before the stream had a position.
    var acknowledged: [String: Int] = [:]
    /// What subscribers were sent above the position.
    var ahead = ChangesAhead()
    /// Whether it is the log that the stream knows.
    var identity = LogIdentity()
    /// The cached copy of it.
    var copy = ReplicaCopy()
    /// Questions about it without an answer.
    var inFlight = FetchesInFlight()
    /// Failures of the origin to answer about it.
    var backoff = Backoff()

    /// The time between two moments at which the log may have become another one. Two eras are
    /// never equal, also where a conversation is forgotten and another replica of it begins.
    final class Era: Sendable {}

    init(at now: Timestamp) { awaySince = now }

    // MARK: - State

    var isConfirmed: Bool { identity.isConfirmed }
    var isLive: Bool { state.isLive }
    var isBroken: Bool { state == .broken }

    /// The generation of its unbroken feed; nil without one.
    var generation: Int? { state.generation }

    /// Whether a question about the chain is open: for its next part, or, after a conflict, for
    /// the epoch of the log. Its answer decides on the events that come meanwhile.
    var isAskingForChain: Bool {
        next == .forkEpoch || next == .catchUp && inFlight.contains(.catchUp)
    }

    /// The question that brings the stream closer to the present; nil at the end of its chain, or
    /// if there is no feed.
    var next: Step? {
        guard case .behind(_, let phase) = state else { return nil }
        switch phase {
        case .loading: return .conversation
        case .comparingHead: return .compareHead
        case .forkingEpoch: return .forkEpoch
        case .catchingUp: return .catchUp
        case .showingLatest: return .latest
        case .waiting: return nil
        }
    }

    /// The hole that the feed itself may close.
    private(set) var hole: Hole? {
        get {
            switch state {
            case .liveWithHole(_, let hole): hole
            case .behind(_, .waiting(let hole)): hole
            case .broken, .behind, .live: nil
            }
        }
        set {
            switch state {
            case .live(let generation), .liveWithHole(let generation, _):
                state =
                    newValue.map { .liveWithHole(generation: generation, $0) }
                    ?? .live(generation: generation)
            case .behind(let generation, .waiting):
                state = .behind(generation: generation, .waiting(newValue))
            case .broken, .behind: break
            }
        }
    }

    /// Whether a stream at this position has the changes up to `rev`, as far as the log has them.
    func reaches(_ rev: Int, at position: Int) -> Bool { position >= min(rev, known) }

    private mutating func enter(_ phase: Phase) {
        guard let generation else { return }
        state = .behind(generation: generation, phase)
    }

    // MARK: - The feed

    /// The feed, or the log behind it, may be another one: earlier questions don't count.
    private mutating func begin(_ next: State) {
        identity.begin(inSameFeed: next.generation == generation)
        state = next
        known = 0
        era = Era()
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
    }

    /// The feed ended.
    mutating func lapsed(at now: Timestamp) {
        begin(.broken)
        awaySince = now
    }

    /// The feed is no longer asked for.
    mutating func dismissed() { begin(.broken) }

    /// The log may not be the one that the stream knows.
    /// - Parameter isKnown: whether the stream has a position.
    /// - Returns: whether to ask the origin: not without a feed.
    mutating func doubted(at now: Timestamp, isKnown: Bool = true) -> Bool {
        guard let generation else { return false }
        if isLive { awaySince = now }
        begin(.behind(generation: generation, isKnown ? .comparingHead : .loading))
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

    /// The cache knows the conversation.
    mutating func adopt(_ cached: Cached) {
        copy.adopt(cached)
        if next == .conversation { enter(.comparingHead) }
    }

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
            // Reading the chain shows whether the log has what was seen.
            known = max(known, head.rev)
            enter(.catchingUp)
        } else {
            enter(isWhole ? .waiting(nil) : .catchingUp)
            return .confirmed(missing: !isWhole)
        }
        return .nothing
    }

    /// The origin, told that the log lost changes, answered with its head.
    mutating func forked(_ head: Head?, seen: Head?) -> Finding {
        enter(.comparingHead)
        guard let head else { return .vanished }
        guard let seen, head.epoch == seen.epoch else { return .replaced(head, .replaced) }
        // The log keeps no mark for the newest change that values were taken from, which does not
        // justify a new epoch. What is held may be of this log or of another branch of it: the
        // stream begins anew.
        return head.rev > seen.rev ? .replaced(head, .mark) : .nothing
    }

    /// The log lacks the newest change that values were taken from, or its mark.
    mutating func conflicted() {
        readTo = nil
        enter(.forkingEpoch)
    }

    /// There is no such log, but the feed reported another one that has the name now.
    mutating func asksAgain(isKnown: Bool) { enter(isKnown ? .comparingHead : .loading) }

    /// The origin is asked for changes.
    mutating func asksForChanges() { knownWhenAsked = known }

    /// The chain was read to its end, or skipped, up to this change.
    mutating func endChain(at rev: Int) {
        if known == knownWhenAsked { known = min(known, rev) }
        readTo = nil
        enter(.waiting(nil))
    }

    /// The chain was read up to this change, and goes on.
    mutating func readOn(to rev: Int) { readTo = rev }

    /// What follows the first part of a chain. If it is long, subscribers are shown its end first.
    mutating func goOn(isFar: Bool) {
        enter(isFar && !hasShownLatest ? .showingLatest : .catchingUp)
    }

    /// The newest page was shown, and the chain is read on.
    mutating func showedLatest() {
        enter(.catchingUp)
        hasShownLatest = true
    }
}

// MARK: - Holes

extension Replica {
    /// The stream reached this change, and has taken none above it.
    mutating func arrived(at rev: Int, at now: Timestamp) -> Arrival {
        // The feed brought what the chain was to be asked for.
        if next == .catchUp, readTo == nil, known <= rev, backoff.damagedPart == nil {
            enter(.waiting(nil))
        }
        guard let generation, next == nil else { return .reading }
        guard known <= rev else {
            // The changes that were missing have come. The feed gets as long for those above, from
            // when the first of them was mentioned.
            if let open = hole, open.upTo <= rev {
                hole = Hole(upTo: known, since: open.mentionedAbove ?? now)
            }
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
    mutating func expects(_ rev: Int, at now: Timestamp) -> Bool {
        if rev > known, hole?.mentionedAbove == nil { hole?.mentionedAbove = now }
        known = max(known, rev)
        guard isLive else { return false }
        openHole(at: now)
        return true
    }

    /// There is a hole, from now on unless one is open already.
    private mutating func openHole(at now: Timestamp) {
        hole = hole ?? Hole(upTo: known, since: now)
    }

    /// The feed had time to close the hole.
    /// - Returns: whether it had enough, so that the origin is asked instead.
    mutating func givesUpHole(at now: Timestamp, grace: Int64) -> Bool {
        guard let hole, now >= hole.since.adding(grace) else { return false }
        if isLive { awaySince = now }
        enter(.catchingUp)
        return true
    }
}
