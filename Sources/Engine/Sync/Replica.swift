import Chat
import Ports
import Wire

/// The gateway's replica of a log that lives elsewhere, as a state machine: how the feed of this
/// conversation stands, and what brings the stream to the present. Owned by its stream. It knows
/// heads, not messages, and neither the stream nor the engine: events come in as calls, each gives
/// back what is to be done, and `next` is what the origin is to be asked.
///
///     broken ─ acknowledged ─▶ behind: loading | comparingHead
///     comparingHead ─▶ catchingUp | verifyingHead | forkingEpoch | waiting
///     verifyingHead ─▶ catchingUp | forkingEpoch        forkingEpoch ─▶ comparingHead | catchingUp
///     catchingUp ⇄ showingLatest | loading              catchingUp ─▶ waiting, forkingEpoch
///     waiting ─ nothing is missing ─▶ live ⇄ liveWithHole ─ out of order ─▶ waiting
///     waiting, liveWithHole ─ the grace is over ─▶ catchingUp
///     any ─ doubted ─▶ comparingHead                    any ─ lapsed ─▶ broken
///
/// The stream's *position* rises by one contiguous chain: live changes in order while the feed is
/// unbroken, or the origin's changes read to their end. Nothing else raises it: not a live change
/// on top of a hole, not a page, not a newer head.
struct Replica {
    private(set) var state = State.broken
    /// Counts the times that everything asked before counted no more.
    private(set) var era = 0
    /// How far the chain was read, as long as that is not to its end. A slot that changed below
    /// and above it comes later, so it is not the position.
    private(set) var readTo: Head?
    /// The change up to which the membership is known: whoever was removed until then has been
    /// removed here. No value above it is stored or told, since it may follow a removal.
    private(set) var membersKnown = 0
    /// The cache was asked for it, and has answered.
    private(set) var isLoaded = false
    /// The newest change that the origin spoke of.
    private var known = 0
    /// Since when the stream has been away from the present.
    private(set) var awaySince: Timestamp
    /// The newest page has been shown to those who watch, and the rest told as a gap.
    private var hasShownLatest = false
    /// Some subscriber was answered without what it is owed.
    private(set) var isOwed = false
    /// Live changes above the position.
    var ahead = ChangesAhead()
    /// Whether it is the log that the stream knows.
    var identity = LogIdentity()
    /// What the cache holds of it.
    var copy = ReplicaCopy()
    /// What is asked about it.
    var inFlight = FetchesInFlight()
    /// How the origin has failed to answer about it.
    var backoff = Backoff()

    init(at now: Timestamp) { awaySince = now }

    // MARK: - How it stands

    var isConfirmed: Bool { identity.isConfirmed }
    var isLive: Bool { state.isLive }
    var isBroken: Bool { state == .broken }

    /// The unbroken feed that it is in; nil if there is none.
    var generation: Int? { state.generation }

    /// What the origin is to be asked to come to the present; nil when the stream is at the end of
    /// its chain, or nobody can be asked.
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

    /// The feed, or the log behind it, may be another one: what was asked before does not count.
    private mutating func begin(_ next: State) {
        identity.begin(inSameFeed: next.generation == generation)
        state = next
        era += 1
        readTo = nil
        inFlight.forget()
        copy.stopBackfill()
        hasShownLatest = false
    }

    /// The origin has acknowledged: from here on the feed of this generation tells of it.
    /// - Parameter isKnown: whether the stream has a position.
    mutating func acknowledged(generation: Int, isKnown: Bool) {
        begin(.behind(generation: generation, isKnown ? .comparingHead : .loading))
        backoff.retry()
        ahead.forgetSeen()
    }

    /// The feed has ended.
    mutating func lapsed(at now: Timestamp) {
        begin(.broken)
        known = 0
        awaySince = now
        ahead.forgetSeen()
    }

    /// Nobody asks for the feed any more.
    mutating func dismissed() { begin(.broken) }

    /// The log may not be the one that the stream knows.
    /// - Returns: whether the origin is to be asked: not where no feed is joined.
    mutating func doubted(at now: Timestamp) -> Bool {
        guard let generation else { return false }
        if isLive { awaySince = now }
        begin(.behind(generation: generation, .comparingHead))
        return true
    }

    /// What the file says does not count since then.
    mutating func noteAway(since moment: Timestamp) { awaySince = moment }

    // MARK: - The cache

    /// The cache has answered what it has.
    /// - Returns: whether it had not before.
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

    /// The newest record of the log as of this change has been applied.
    mutating func knowMembers(upTo rev: Int) { membersKnown = max(membersKnown, rev) }

    /// Whether a change may be told: nobody was removed below it whom nobody knows of.
    func knowsMembers(before rev: Int) -> Bool { rev <= membersKnown + 1 }

    /// Some subscriber is owed places, or none is.
    mutating func note(isOwed: Bool) { self.isOwed = isOwed }
}

// MARK: - What the origin answers

extension Replica {
    /// The head of the log was asked for.
    /// - Parameters:
    ///   - head: nil if there is no such log.
    ///   - seen: the newest change that values were taken from, on top of a hole or not.
    mutating func compared(_ head: Head?, seen: Head, position: Head) -> Finding {
        guard let head else { return .vanished }
        guard head.epoch == seen.epoch else { return .replaced(head, .replaced) }
        // A look at what should be there.
        if isLive { return .moved(to: head.rev) }
        guard next == .compareHead else { return .nothing }
        let isWhole = seen.rev == position.rev
        if head.rev < seen.rev || head.rev == seen.rev && head.mark != seen.mark {
            // The log must have it yet.
            enter(.forkingEpoch)
        } else if head.rev > seen.rev {
            // The chain says whether the log has the position.
            enter(isWhole ? .catchingUp : .verifyingHead)
        } else {
            enter(isWhole ? .waiting(since: nil) : .catchingUp)
            return .confirmed(missing: !isWhole)
        }
        return .nothing
    }

    /// The log has the newest change that values were taken from.
    mutating func verified() { enter(.catchingUp) }

    /// The log was told that it lost something, and says where it stands.
    mutating func forked(_ head: Head?, seen: Head?, position: Head?) -> Finding {
        enter(.comparingHead)
        guard let head else { return .vanished }
        guard let seen, let position, head.epoch == seen.epoch else {
            return .replaced(head, .replaced)
        }
        guard head.rev >= seen.rev else { return .nothing }
        // The log keeps no mark of where the stream stands, which is no reason for another epoch.
        // If it has the newest change that values were taken from, it is the one that the stream
        // knows, and what changed since is read without a mark. Otherwise nobody can tell whether
        // what is held is of this log or of a master's that failed: the stream begins anew.
        guard isConfirmed else { return head.rev > seen.rev ? .replaced(head, .mark) : .nothing }
        readTo = position
        readTo?.mark = ""
        enter(.catchingUp)
        return .nothing
    }

    /// The log has not what it was asked from.
    /// - Returns: whether that says anything about the log.
    mutating func conflicted(_ step: Step?) -> Bool {
        switch step {
        case .verifyHead:
            enter(.forkingEpoch)
        case .catchUp:
            // The part that was read last may be lost, or all that is known.
            enter(readTo == nil ? .forkingEpoch : .comparingHead)
            readTo = nil
        case .conversation, .compareHead, .forkEpoch, .latest, .backfill, nil:
            return false
        }
        return true
    }

    /// There is no such log, but the feed has told of another one that has the name now.
    mutating func asksAgain(isKnown: Bool) { enter(isKnown ? .comparingHead : .loading) }

    /// Record and head have come.
    /// - Parameters:
    ///   - rev: of the head.
    ///   - position: of the stream; nil where it has none.
    ///   - isWatched: somebody would miss what is left out.
    /// - Returns: whether the stream begins there, or jumps there.
    mutating func mayStand(at rev: Int, position: Head?, isWatched: Bool) -> Bool {
        guard let position else { return true }
        // What the chain has read need not be read again.
        if rev > (readTo ?? position).rev, !isWatched { return true }
        enter(rev > position.rev ? .catchingUp : .comparingHead)
        return false
    }

    /// The chain was read to its end, or left out.
    mutating func endChain() {
        readTo = nil
        enter(.waiting(since: nil))
    }

    /// The chain was read up to `end`.
    /// - Returns: how far what the feed has told without a break leads from there, if that is
    ///   `newest` or beyond: the chain need not go on then.
    mutating func readOn(to end: Head, newest: Head) -> Head? {
        readTo = end
        let reached = ahead.reach(after: end)
        return reached.rev >= newest.rev ? reached : nil
    }

    /// What comes after the first part of a chain. Where it is long, whoever watches is shown its
    /// end first; and where nobody does, nobody holds what lies between, so that nobody misses it.
    mutating func goOn(isFar: Bool, isWatched: Bool) {
        guard isFar else { return enter(.catchingUp) }
        guard isWatched else { return enter(.loading) }
        enter(hasShownLatest ? .catchingUp : .showingLatest)
    }

    /// The newest page is shown, and the chain goes on.
    mutating func showedLatest() {
        enter(.catchingUp)
        hasShownLatest = true
    }
}

// MARK: - Holes

extension Replica {
    /// The stream stands at this change, and has taken what continues it.
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

    /// The log has changes up to this one, which the stream has not reached.
    /// - Returns: whether the feed is given a moment to bring them.
    mutating func expects(_ rev: Int) -> Bool {
        known = max(known, rev)
        return isLive
    }

    /// There is a hole, from now on unless it is there.
    mutating func openHole(at now: Timestamp) {
        switch state {
        case .live(let generation): state = .liveWithHole(generation: generation, since: now)
        case .behind(let generation, .waiting(nil)):
            state = .behind(generation: generation, .waiting(since: now))
        case .broken, .behind, .liveWithHole: break
        }
    }

    /// The feed has brought the next change.
    mutating func followed(to rev: Int) {
        if case .liveWithHole(let generation, _) = state, known <= rev {
            state = .live(generation: generation)
        }
    }

    /// The feed has told of a change that does not continue the position.
    mutating func fellBehind(at now: Timestamp) {
        guard isLive else { return }
        enter(.waiting(since: holeSince))
        awaySince = now
    }

    /// The feed had time to close the hole.
    /// - Returns: whether it had enough, and the origin is to be asked instead.
    mutating func givesUpHole(at now: Timestamp, grace: Int64) -> Bool {
        guard let since = holeSince, now >= since.adding(grace) else { return false }
        if isLive { awaySince = now }
        ahead.readsOn()
        enter(.catchingUp)
        return true
    }
}
