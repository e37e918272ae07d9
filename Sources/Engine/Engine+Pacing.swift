import Ports
import Wire

/// How busy conversations are kept from costing more than they need. One write to a socket costs
/// the same whether it carries one message or ten, so where messages come faster than they are
/// written they are gathered: after a fan-out of several that took d, the next one waits
/// `Limits.pacing` times d. A conversation that has been quiet for that long goes out at once, and
/// so does one whose last fan-out was of a single message: no other had waited for it, and to have
/// the next one wait would only make it late.
///
/// And a conversation that is about to say something while a message of it is on its way to the
/// log waits for that, whatever `Limits.pacing` is: both are written together then. It waits for
/// one answer of the log, and a millisecond at most; where that was in vain (a disk that takes
/// longer to flush, say) none waits for a while.
///
/// What waits is not in any outbox yet, but in the stream's batch, as if the turn went on. So it
/// goes out before everything that is to come behind it (replies about the stream, its record, its
/// end), as it does within a turn, and it is joined to one event.
struct Pacing {
    /// Streams with something to say that rest.
    var held: [Stream] = []
    /// Streams whose events were queued since the sockets were written last.
    var spoken: [Stream] = []
    /// The moment of the turn, on the shell's steady clock.
    var instant = Duration.zero
    /// The streams of messages that are on their way to the log, by the token of the operation.
    var sends: [UInt64: Stream] = [:]
    /// Until then no stream waits for a message on its way: the log was too slow for that.
    var awaitsFrom = Duration.zero

    /// A shorter rest is none: to be woken for its end would cost as much as it saves.
    static let least = Duration.microseconds(200)
    /// How long a stream waits for a message on its way.
    static let patience = Duration.milliseconds(1)
    /// How long none does after one has waited in vain.
    static let doubt = Duration.milliseconds(100)
}

extension Engine {
    /// The sockets were written at the end of a turn: the conversations with more to say than that
    /// rest for as long as it took them.
    /// - Parameters:
    ///   - sessions: how many sessions were written.
    ///   - time: what that took.
    ///   - instant: when it ended, on the clock of `endTurn`.
    package func wrote(_ sessions: Int, in time: Duration, at instant: Duration) {
        pacing.instant = instant
        for stream in pacing.spoken {
            stream.isSpoken = false
            // A rest that is not over yet stands: other events than messages don't end it.
            guard stream.isBehind else { continue }
            stream.isBehind = false
            // Of sessions that were written for other reasons the stream does not bear the cost.
            let share = min(1, Double(stream.subscribers.count) / Double(max(1, sessions)))
            let rest = min(limits.pacingCap, time * share * limits.pacing)
            stream.restsUntil = rest < Pacing.least ? nil : instant + rest
            stream.isAwaiting = false
        }
        pacing.spoken.removeAll(keepingCapacity: true)
    }

    /// When a turn is due though nothing has come in, on the clock of `endTurn`: some conversation
    /// has rested then. Nil if none waits.
    package var nextRelease: Duration? {
        // Whoever waits without a rest left waits for nothing.
        pacing.held.lazy.map { $0.restsUntil ?? .zero }.min()
    }

    /// Whether the conversation has something to say, and rests.
    package func keepsBack(_ conversation: String) -> Bool {
        streams[conversation.id]?.isHeld ?? false
    }

    /// Events of the stream are on their way to its subscribers.
    func noteSpoken(_ stream: Stream) {
        guard limits.pacing > 0, !stream.isSpoken else { return }
        stream.isSpoken = true
        pacing.spoken.append(stream)
    }

    /// Whether what the stream has to say waits. A gateway that drains keeps nothing back.
    func rests(_ stream: Stream) -> Bool {
        guard let end = stream.restsUntil, drain == nil else { return false }
        return pacing.instant < end
    }

    /// The streams that speak at the end of this turn; those that rest are kept.
    func takeTouched() -> [Stream] {
        var due: [Stream] = []
        for stream in touched where !stream.isHeld {
            if rests(stream) {
                figures.heldBack += 1
            } else if awaits(stream) {
                figures.awaited += 1
            } else {
                due.append(stream)
                continue
            }
            stream.isHeld = true
            pacing.held.append(stream)
        }
        touched.removeAll(keepingCapacity: true)
        let rested = releaseHeld { !rests($0) }
        for stream in rested where stream.isAwaiting {
            noteArrival(stream)
            // What came behind the batch may have sent it ahead.
            guard !stream.batch.deltas.isEmpty else { continue }
            figures.awaitedInVain += 1
            pacing.awaitsFrom = pacing.instant + Pacing.doubt
        }
        return due + rested
    }

    /// All streams with something to say, also those that rest.
    func takeAllTouched() -> [Stream] {
        defer { touched = [] }
        let held = releaseHeld { _ in true }
        for stream in held { noteArrival(stream) }
        return held + touched
    }

    private func releaseHeld(_ isDue: (Stream) -> Bool) -> [Stream] {
        guard !pacing.held.isEmpty else { return [] }
        let due = pacing.held.filter(isDue)
        guard !due.isEmpty else { return [] }
        for stream in due { stream.isHeld = false }
        pacing.held.removeAll { !$0.isHeld }
        return due
    }

    // MARK: - Messages on their way

    /// The operation is on its way to the log, until `noteSent` is called with the same token.
    /// Those of its own calls the engine knows; this is for others'.
    package func noteSend(_ operation: Operation, token: UInt64) {
        guard case .send(let conversation, _) = operation,
            let stream = streams[conversation.id], !stream.subscribers.isEmpty
        else { return }
        stream.sends += 1
        pacing.sends[token] = stream
    }

    /// The operation was done, or refused.
    package func noteSent(token: UInt64) {
        guard let stream = pacing.sends.removeValue(forKey: token) else { return }
        stream.sends -= 1
        // It brought nothing (it was refused, or sent before), or what waits is itself.
        if stream.sends == 0 { noteArrival(stream) }
    }

    /// Whether the stream, which has messages to tell, waits for one that is on its way. Once
    /// something has come it does not wait again, whatever was sent meanwhile.
    private func awaits(_ stream: Stream) -> Bool {
        guard stream.sends > 0, !stream.batch.deltas.isEmpty, drain == nil,
            pacing.instant >= pacing.awaitsFrom
        else { return false }
        stream.isAwaiting = true
        stream.restsUntil = pacing.instant + Pacing.patience
        return true
    }

    /// There is nothing, or nothing more, that the stream waits for.
    func noteArrival(_ stream: Stream) {
        guard stream.isAwaiting else { return }
        stream.isAwaiting = false
        stream.restsUntil = nil
    }
}
