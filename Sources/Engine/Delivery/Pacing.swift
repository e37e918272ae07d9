/// Pacing and coalescing: decides which conversations send their events at the end of a turn. One
/// write to a socket costs the same with one message or ten, so when messages arrive faster than
/// they are written, they are coalesced: after a fan-out of several messages that took d, the next
/// one waits `Limits.pacing` times d. A conversation that was quiet for that long sends at once,
/// and so does one whose last fan-out had a single message: nothing had queued up behind it, and a
/// wait would only add latency.
///
/// In addition, a conversation with something to send waits while another message of it is on its
/// way to the log, whatever `Limits.pacing` is, so that one write carries both. It waits for one
/// answer of the log, at most a millisecond. After a wait that brought no message (a slow disk,
/// say), no conversation waits for a while.
///
/// A crowd whose fan-outs carry several messages waits for more of them as well: `Linger`.
///
/// Delayed changes stay in the stream's batch, not in an outbox, as if the turn went on. So they go
/// out before everything that must follow them (replies about the stream, its record, the end of a
/// subscription), and they are joined to one event.
///
/// Owned by the engine. It reads a stream's subscribers and whether its batch is empty, and changes
/// only the stream's `pace`, which nothing else changes.
package struct Pacing {
    /// The pacing state of one conversation.
    struct Pace {
        /// When its rest ends, on the shell's steady clock; nil if it does not rest.
        fileprivate var restsUntil: Duration?
        /// Whether it is in `held`.
        fileprivate(set) var isHeld = false
        /// Whether it is in `spoken`.
        fileprivate var isSpoken = false
        /// The event being written to its subscribers has more than one message: messages arrive
        /// faster than they are written.
        fileprivate var isBehind = false
        /// Messages on their way to the log, as far as this gateway sends them.
        fileprivate var sends = 0
        /// It rests only to wait for one of those.
        fileprivate var isAwaiting = false
        /// Its last event is written in slices, up to this place of their queue.
        fileprivate var slicedUpTo = 0
        /// It rests only to have more messages.
        fileprivate var linger = Linger()

        /// The awaited message arrived, or is no longer awaited: ends that wait.
        mutating func noteArrival() {
            guard isAwaiting else { return }
            isAwaiting = false
            restsUntil = nil
        }

        /// An event with this many messages goes out.
        mutating func noteFanOut(of messages: Int) {
            if messages > 1 { isBehind = true }
            guard messages > 0 else { return }
            endLingersRest()
            linger.noteFanOut(of: messages)
        }

        /// Whatever it lingered for, it rests no longer.
        fileprivate mutating func endLingersRest() {
            if linger.isWaiting { restsUntil = nil }
        }

        /// Its event is written in slices, up to this place of their queue.
        mutating func noteSliced(upTo place: Int) { slicedUpTo = place }
    }

    /// Counters for metrics.
    package struct Counters: Sendable {
        /// Times that a conversation with something to send was resting.
        package var heldBack = 0
        /// Times that one waited for a message on its way to the log, or for as many as came last
        /// time, to send all at once.
        package var awaited = 0
        /// Those of them in which none arrived in time.
        package var awaitedInVain = 0
    }

    private(set) var counters = Counters()
    /// A conversation rests this many times as long as its fan-out took; 0: never.
    private var factor: Double
    /// The longest rest.
    private var longest: Duration
    /// How many threads share a fan-out.
    private let loops: Int
    /// Streams with changes to send at the end of the turn.
    private var touched: [Stream] = []
    /// Streams with changes to send that rest.
    private var held: [Stream] = []
    /// Streams whose events were queued since the last write of the sockets.
    private var spoken: [Stream] = []
    /// What the slices of the fan-outs that are not over took, from the first of them on.
    private var slices = (sessions: 0, time: Duration.zero)
    /// The moment of the turn, on the shell's steady clock.
    private var instant = Duration.zero
    /// The streams of messages on their way to the log, by the operation's token.
    private var sends: [UInt64: Stream] = [:]
    /// Until then no stream waits for a message on its way: the log was too slow.
    private var awaitsFrom = Duration.zero

    /// Shorter rests are skipped: waking up at their end would cost as much as they save.
    private static let least = Duration.microseconds(200)
    /// How long a stream waits for a message on its way to the log.
    private static let patience = Duration.milliseconds(1)
    /// How long no stream waits after a wait that brought no message.
    private static let doubt = Duration.milliseconds(100)

    init(_ limits: Limits) {
        factor = limits.pacing
        longest = limits.pacingCap
        loops = limits.writeSlice.loops
    }

    /// The limits were reloaded.
    mutating func adopt(_ limits: Limits) {
        factor = limits.pacing
        longest = limits.pacingCap
    }

    // MARK: - Streams with changes to send

    /// The stream has something to send at the end of the turn.
    mutating func touch(_ stream: Stream) {
        if touched.last !== stream { touched.append(stream) }
    }

    /// Events of the stream were queued for its subscribers.
    mutating func noteSpoken(_ stream: Stream) {
        guard !stream.pace.isSpoken else { return }
        stream.pace.isSpoken = true
        spoken.append(stream)
    }

    /// The sockets were written at the end of a turn. Streams with several messages in that write
    /// now rest, in proportion to the time it took; a stream that is written in slices, when it is
    /// written to everybody.
    /// - Parameters:
    ///   - sessions: how many sessions were written.
    ///   - time: what that took.
    ///   - instant: when it ended.
    ///   - sliced: what is left for the next turns.
    mutating func wrote(
        _ sessions: Int, in time: Duration, at instant: Duration,
        _ sliced: WriteQueue = WriteQueue()
    ) {
        self.instant = instant
        slices.sessions += sessions
        slices.time += time
        // Filtered in place: in each turn an array would be allocated anew.
        var spoken: [Stream] = []
        swap(&spoken, &self.spoken)
        spoken.removeAll { stream in
            let isSliced = stream.pace.slicedUpTo > 0
            // Where nothing was written, only what was sliced is over; the rest is in flight.
            guard sliced.isPast(stream.pace.slicedUpTo), sessions > 0 || isSliced else {
                return false
            }
            wrote(stream, isSliced ? slices : (sessions, time))
            return true
        }
        swap(&spoken, &self.spoken)
        if self.spoken.isEmpty { slices = (0, .zero) }
    }

    /// The stream's event was written to everybody.
    private func wrote(_ stream: Stream, _ written: (sessions: Int, time: Duration)) {
        stream.pace.slicedUpTo = 0
        stream.pace.isSpoken = false
        // The stream pays only for its share of the sessions written.
        let share = min(1, Double(stream.subscribers.count) / Double(max(1, written.sessions)))
        let took = written.time * share
        stream.pace.linger.noteWritten(in: took)
        // A rest that is not over stays: only messages change it, not other events.
        guard stream.pace.isBehind else { return }
        stream.pace.isBehind = false
        let rest = min(longest, took * factor)
        stream.pace.restsUntil = rest < Self.least ? nil : instant + rest
        stream.pace.isAwaiting = false
        stream.pace.linger.cancel()
    }

    /// Whether a fan-out in slices waits for its end.
    var isSlicing: Bool { !spoken.isEmpty }

    // MARK: - Streams that are due

    /// Sets the moment of the turn that ends.
    mutating func advance(to instant: Duration) { self.instant = instant }

    /// When the next turn is due without input: the end of the earliest rest. Nil if no stream is
    /// held.
    var nextRelease: Duration? {
        // A held stream without a rest is due at once.
        held.lazy.map { $0.pace.restsUntil ?? .zero }.min()
    }

    /// Whether the stream rests, or its last event has not been written to everybody. A draining
    /// gateway delays nothing.
    func rests(
        _ stream: Stream, isDraining: Bool, _ sliced: WriteQueue = WriteQueue()
    ) -> Bool {
        guard !isDraining else { return false }
        if !sliced.isPast(stream.pace.slicedUpTo) { return true }
        return stream.pace.restsUntil.map { instant < $0 } ?? false
    }

    /// The streams to send at the end of this turn; resting streams are held, and those whose last
    /// event has not been written to everybody.
    mutating func takeDue(isDraining: Bool, _ sliced: WriteQueue = WriteQueue()) -> [Stream] {
        var due: [Stream] = []
        for stream in touched where !stream.pace.isHeld {
            if rests(stream, isDraining: isDraining, sliced) {
                counters.heldBack += 1
                let isSliced = !sliced.isPast(stream.pace.slicedUpTo)
                stream.pace.linger.noteHeld(
                    follows: isSliced && !stream.outgoing.batch.deltas.isEmpty,
                    gathers: stream.pace.restsUntil.map { instant < $0 } ?? false)
            } else if awaits(stream, isDraining: isDraining)
                || lingers(stream, isDraining: isDraining)
            {
                counters.awaited += 1
            } else {
                stream.pace.linger.noteDue()
                due.append(stream)
                continue
            }
            stream.pace.isHeld = true
            held.append(stream)
        }
        touched.removeAll(keepingCapacity: true)
        for stream in held where stream.pace.linger.isWaiting {
            let messages = stream.outgoing.batch.deltas.count
            if let end = stream.pace.linger.look(messages, at: instant) {
                stream.pace.restsUntil = end
            }
        }
        let rested = held.filter {
            !rests($0, isDraining: isDraining, sliced) && !waitsOn($0, isDraining: isDraining)
        }
        for stream in release(rested) { noteEnd(stream) }
        return due + rested
    }

    /// A stream that was held is released: notes whether its wait brought a message.
    private mutating func noteEnd(_ stream: Stream) {
        stream.pace.endLingersRest()
        if stream.pace.linger.end(with: stream.outgoing.batch.deltas.count) {
            counters.awaitedInVain += 1
        }
        guard stream.pace.isAwaiting else { return }
        stream.pace.noteArrival()
        // A frame that must follow the batch may have flushed it already.
        guard !stream.outgoing.batch.deltas.isEmpty else { return }
        counters.awaitedInVain += 1
        awaitsFrom = instant + Self.doubt
    }

    /// All streams with something to send, resting ones too.
    mutating func takeAll() -> [Stream] {
        defer { touched = [] }
        let all = release(held)
        for stream in all {
            stream.pace.noteArrival()
            stream.pace.endLingersRest()
            stream.pace.linger.cancel()
        }
        return all + touched
    }

    private mutating func release(_ streams: [Stream]) -> [Stream] {
        guard !streams.isEmpty else { return [] }
        for stream in streams { stream.pace.isHeld = false }
        held.removeAll { !$0.pace.isHeld }
        return streams
    }

    // MARK: - Messages on their way to the log

    /// A message for the stream is on its way to the log until `noteSent` is called with the same
    /// token.
    mutating func noteSend(to stream: Stream, token: UInt64) {
        stream.pace.sends += 1
        sends[token] = stream
    }

    /// The operation was done or refused.
    mutating func noteSent(token: UInt64) {
        guard let stream = sends.removeValue(forKey: token) else { return }
        stream.pace.sends -= 1
        // The operation brought no change (refused, or sent before), or its change is what is held.
        if stream.pace.sends == 0 { stream.pace.noteArrival() }
    }

    /// Whether the stream, which has messages to send, waits for one on its way. After that message
    /// arrived it does not wait again, whatever was sent meanwhile.
    private func awaits(_ stream: Stream, isDraining: Bool) -> Bool {
        guard stream.pace.sends > 0, !stream.outgoing.batch.deltas.isEmpty, !isDraining,
            instant >= awaitsFrom
        else { return false }
        stream.pace.isAwaiting = true
        stream.pace.linger.yield()
        stream.pace.restsUntil = instant + Self.patience
        return true
    }

    // MARK: - Messages that are expected

    /// Whether the stream, which has messages to send, waits until as many are there as last time.
    private func lingers(_ stream: Stream, isDraining: Bool) -> Bool {
        let messages = stream.outgoing.batch.deltas.count
        guard !isDraining,
            let end = stream.pace.linger.begin(with: messages, at: instant, loops: loops)
        else { return false }
        stream.pace.restsUntil = end
        return true
    }

    /// Whether a stream that was held waits for something else.
    private mutating func waitsOn(_ stream: Stream, isDraining: Bool) -> Bool {
        if stream.pace.linger.isWaiting {
            // What it waited for was read in this turn, and is on its way to the log.
            return awaits(stream, isDraining: isDraining)
        }
        // It was held only until its last event was written: answers to that one are on their way.
        guard stream.pace.linger.follows, !stream.pace.isAwaiting,
            lingers(stream, isDraining: isDraining)
        else { return false }
        counters.awaited += 1
        return true
    }

    /// Whether a stream lingers: what it waits for is to be read at once.
    var isLingering: Bool { held.contains { $0.pace.linger.isWaiting } }
}
