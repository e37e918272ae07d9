import Wire

/// How busy conversations are kept from costing more than they need. One write to a socket costs
/// the same whether it carries one message or ten, so where messages come faster than they are
/// written they are gathered: after a fan-out of several that took d, the next one waits
/// `Limits.pacing` times d. A conversation that has been quiet for that long goes out at once, and
/// so does one whose last fan-out was of a single message: nothing had waited for it, and to have
/// the next one wait would only make it late.
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

    /// A shorter rest is none: to be woken for its end would cost as much as it saves.
    static let least = Duration.microseconds(200)
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
        var due = releaseHeld { !rests($0) }
        for stream in touched {
            guard rests(stream) else {
                due.append(stream)
                continue
            }
            guard !stream.isHeld else { continue }
            stream.isHeld = true
            figures.heldBack += 1
            pacing.held.append(stream)
        }
        touched.removeAll(keepingCapacity: true)
        return due
    }

    /// All streams with something to say, also those that rest.
    func takeAllTouched() -> [Stream] {
        defer { touched = [] }
        return releaseHeld { _ in true } + touched
    }

    private func releaseHeld(_ isDue: (Stream) -> Bool) -> [Stream] {
        guard !pacing.held.isEmpty else { return [] }
        let due = pacing.held.filter(isDue)
        guard !due.isEmpty else { return [] }
        for stream in due { stream.isHeld = false }
        pacing.held.removeAll { !$0.isHeld }
        return due
    }
}
