/// Which conversations speak at the end of a turn, and which are paced: how busy ones are kept from
/// costing more than they need. One write to a socket costs the same whether it carries one message
/// or ten, so where messages come faster than they are written they are gathered (coalesced): after
/// a fan-out of several that took d, the next one waits `Limits.pacing` times d. A conversation
/// that has been quiet for that long goes out at once, and so does one whose last fan-out was of a
/// single message: no other had waited for it, and to have the next one wait would only make it
/// late.
///
/// And a conversation that is about to say something while a message of it is on its way to the
/// log waits for that, whatever `Limits.pacing` is: both are written together then. It waits for
/// one answer of the log, and a millisecond at most; where that was in vain (a disk that takes
/// longer to flush, say) none waits for a while.
///
/// What waits is not in any outbox yet, but in the stream's batch, as if the turn went on. So it
/// goes out before everything that is to come behind it (replies about the stream, its record, its
/// end), as it does within a turn, and it is joined to one event.
///
/// Owned by the engine. It looks at who subscribes to a stream and whether its batch is empty, and
/// changes nothing of a stream but its `pace`, which nothing else changes.
package struct Pacing {
    /// How one conversation stands.
    struct Pace {
        /// When it may speak again of itself, on the shell's steady clock; nil if it may at any
        /// time.
        fileprivate var restsUntil: Duration?
        /// It is among those that rest and have something to say.
        fileprivate(set) var isHeld = false
        /// It is among those whose subscribers are about to be written.
        fileprivate var isSpoken = false
        /// What its subscribers are written has more than one message: messages come faster than
        /// they are written.
        fileprivate var isBehind = false
        /// How many messages are on their way to the log, as far as they are sent by way of here.
        fileprivate var sends = 0
        /// It rests for one of those.
        fileprivate var isAwaiting = false

        /// There is nothing, or nothing more, that the conversation waits for.
        mutating func noteArrival() {
            guard isAwaiting else { return }
            isAwaiting = false
            restsUntil = nil
        }

        /// So many messages go out in one event.
        mutating func noteFanOut(of messages: Int) {
            if messages > 1 { isBehind = true }
        }
    }

    /// What it counts, for metrics.
    package struct Counters: Sendable {
        /// Times that a conversation had something to say while it rested.
        package var heldBack = 0
        /// Times that one waited for a message on its way to the log, to tell both at once.
        package var awaited = 0
        /// Those of them when it did not come in time.
        package var awaitedInVain = 0
    }

    private(set) var counters = Counters()
    /// A conversation rests so many times as long as its fan-out took; 0 for never.
    private var factor: Double
    /// The longest rest.
    private var longest: Duration
    /// Streams with something that waits for the end of the turn.
    private var touched: [Stream] = []
    /// Streams with something to say that rest.
    private var held: [Stream] = []
    /// Streams whose events were queued since the sockets were written last.
    private var spoken: [Stream] = []
    /// The moment of the turn, on the shell's steady clock.
    private var instant = Duration.zero
    /// The streams of messages that are on their way to the log, by the token of the operation.
    private var sends: [UInt64: Stream] = [:]
    /// Until then no stream waits for a message on its way: the log was too slow for that.
    private var awaitsFrom = Duration.zero

    /// A shorter rest is none: to be woken for its end would cost as much as it saves.
    private static let least = Duration.microseconds(200)
    /// How long a stream waits for a message on its way.
    private static let patience = Duration.milliseconds(1)
    /// How long none does after one has waited in vain.
    private static let doubt = Duration.milliseconds(100)

    init(_ limits: Limits) {
        factor = limits.pacing
        longest = limits.pacingCap
    }

    /// The limits were reloaded.
    mutating func adopt(_ limits: Limits) {
        factor = limits.pacing
        longest = limits.pacingCap
    }

    // MARK: - What has something to say

    /// The stream has something to say at the end of the turn.
    mutating func touch(_ stream: Stream) {
        if touched.last !== stream { touched.append(stream) }
    }

    /// Events of the stream are on their way to its subscribers.
    mutating func noteSpoken(_ stream: Stream) {
        guard factor > 0, !stream.pace.isSpoken else { return }
        stream.pace.isSpoken = true
        spoken.append(stream)
    }

    /// The sockets were written at the end of a turn: the conversations with more to say than that
    /// rest for as long as it took them.
    /// - Parameters:
    ///   - sessions: how many sessions were written.
    ///   - time: what that took.
    ///   - instant: when it ended.
    mutating func wrote(_ sessions: Int, in time: Duration, at instant: Duration) {
        self.instant = instant
        for stream in spoken {
            stream.pace.isSpoken = false
            // A rest that is not over yet stands: other events than messages don't end it.
            guard stream.pace.isBehind else { continue }
            stream.pace.isBehind = false
            // Of sessions that were written for other reasons the stream does not bear the cost.
            let share = min(1, Double(stream.subscribers.count) / Double(max(1, sessions)))
            let rest = min(longest, time * share * factor)
            stream.pace.restsUntil = rest < Self.least ? nil : instant + rest
            stream.pace.isAwaiting = false
        }
        spoken.removeAll(keepingCapacity: true)
    }

    // MARK: - Who speaks

    /// The moment of the turn that ends.
    mutating func advance(to instant: Duration) { self.instant = instant }

    /// When a turn is due though nothing has come in: some conversation has rested then. Nil if
    /// none waits.
    var nextRelease: Duration? {
        // Whoever waits without a rest left waits for nothing.
        held.lazy.map { $0.pace.restsUntil ?? .zero }.min()
    }

    /// Whether what the stream has to say waits. A gateway that drains keeps nothing back.
    func rests(_ stream: Stream, isDraining: Bool) -> Bool {
        guard let end = stream.pace.restsUntil, !isDraining else { return false }
        return instant < end
    }

    /// The streams that speak at the end of this turn; those that rest are kept.
    mutating func takeDue(isDraining: Bool) -> [Stream] {
        var due: [Stream] = []
        for stream in touched where !stream.pace.isHeld {
            if rests(stream, isDraining: isDraining) {
                counters.heldBack += 1
            } else if awaits(stream, isDraining: isDraining) {
                counters.awaited += 1
            } else {
                due.append(stream)
                continue
            }
            stream.pace.isHeld = true
            held.append(stream)
        }
        touched.removeAll(keepingCapacity: true)
        let rested = release(held.filter { !rests($0, isDraining: isDraining) })
        for stream in rested where stream.pace.isAwaiting {
            stream.pace.noteArrival()
            // What came behind the batch may have sent it ahead.
            guard !stream.outgoing.batch.deltas.isEmpty else { continue }
            counters.awaitedInVain += 1
            awaitsFrom = instant + Self.doubt
        }
        return due + rested
    }

    /// All streams with something to say, also those that rest.
    mutating func takeAll() -> [Stream] {
        defer { touched = [] }
        let all = release(held)
        for stream in all { stream.pace.noteArrival() }
        return all + touched
    }

    private mutating func release(_ streams: [Stream]) -> [Stream] {
        guard !streams.isEmpty else { return [] }
        for stream in streams { stream.pace.isHeld = false }
        held.removeAll { !$0.pace.isHeld }
        return streams
    }

    // MARK: - Messages on their way to the log

    /// A message for the stream is on its way, until `noteSent` is called with the same token.
    mutating func noteSend(to stream: Stream, token: UInt64) {
        stream.pace.sends += 1
        sends[token] = stream
    }

    /// The operation was done, or refused.
    mutating func noteSent(token: UInt64) {
        guard let stream = sends.removeValue(forKey: token) else { return }
        stream.pace.sends -= 1
        // It brought nothing (it was refused, or sent before), or what waits is itself.
        if stream.pace.sends == 0 { stream.pace.noteArrival() }
    }

    /// Whether the stream, which has messages to tell, waits for one that is on its way. Once
    /// something has come it does not wait again, whatever was sent meanwhile.
    private func awaits(_ stream: Stream, isDraining: Bool) -> Bool {
        guard stream.pace.sends > 0, !stream.outgoing.batch.deltas.isEmpty, !isDraining,
            instant >= awaitsFrom
        else { return false }
        stream.pace.isAwaiting = true
        stream.pace.restsUntil = instant + Self.patience
        return true
    }
}
