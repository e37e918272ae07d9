/// A crowd's wait for more messages before a fan-out, as Kafka's `linger.ms`. Clients that answer a
/// fan-out, or a burst, arrive within a moment, and the first of them would otherwise have a
/// fan-out to itself, for whose end the others wait.
///
/// Where the last fan-out took long and had several messages, the first of the next ones waits
/// until as many are there, and then as long as more are on their heels; at most an eighth of the
/// time that the last one took, and a millisecond. Two fan-outs of which one followed the other at
/// once count as one. Where such waits bring no message, they become rare.
///
/// One conversation's state. `Pacing` owns it and says when it begins and ends.
struct Linger {
    private struct Wait {
        /// Its longest end.
        var end: Duration
        /// How many messages there were when it began, and at the last turn.
        var began: Int
        var seen: Int
    }

    private var wait: Wait?
    /// The messages of the last fan-out that had any, and how many to expect for the next one.
    private var last = 0
    private var expected = 0
    /// What the last fan-out of messages took, and whether one is under way.
    private var took = Duration.zero
    private var isTimed = false
    /// What it has to say began to wait while its last event was being written.
    private(set) var follows = false
    /// What it has to say had a time to gather in.
    private var hasWaited = false
    /// How many waits in a row brought nothing, and how many were skipped since the last one.
    private var vain = 0
    private var skipped = 0

    /// A wait is this part of the time that the last fan-out took.
    private static let part = 8
    private static let longest = Duration.milliseconds(1)
    /// Shorter waits are skipped: to be woken for their end costs as much as they save.
    private static let least = Duration.microseconds(100)
    /// When as many have come as expected, it waits for this long whether more do: one more turn.
    private static let heels = Duration.microseconds(20)
    /// After `mostVain` waits in a row that brought no message, one in `rare` is tried.
    private static let (mostVain, rare) = (8, 32)

    /// Whether it waits.
    var isWaiting: Bool { wait != nil }

    /// An event with this many messages goes out; that ends the wait.
    mutating func noteFanOut(of messages: Int) {
        expected = follows ? last + messages : messages
        (last, follows, hasWaited, isTimed) = (messages, false, false, true)
        wait = nil
    }

    /// An event was written to everybody. Only events with messages count: others are short.
    mutating func noteWritten(in time: Duration) {
        if isTimed { took = time }
        isTimed = false
    }

    /// The conversation is held for another reason.
    /// - Parameters:
    ///   - follows: it has messages, and its last event is not written to everybody.
    ///   - gathers: it waits long enough for more of them.
    mutating func noteHeld(follows: Bool, gathers: Bool) {
        self.follows = follows
        hasWaited = gathers
    }

    /// It goes out at once.
    mutating func noteDue() { follows = false }

    /// It rests now, or goes out, whatever it waited for.
    mutating func cancel() { wait = nil }

    /// It waits for something else now, and not besides.
    mutating func yield() {
        if wait != nil { vain = 0 }
        (wait, hasWaited) = (nil, true)
    }

    /// - Parameters:
    ///   - messages: how many there are.
    ///   - loops: how many threads share what a fan-out takes.
    /// - Returns: when the wait that begins now ends; nil if there is none.
    mutating func begin(with messages: Int, at instant: Duration, loops: Int) -> Duration? {
        let time = min(Self.longest, took / (Self.part * loops))
        guard !hasWaited, messages > 0, messages < expected, time >= Self.least else { return nil }
        if vain >= Self.mostVain {
            skipped += 1
            guard skipped >= Self.rare else { return nil }
            skipped = 0
        }
        hasWaited = true
        wait = Wait(end: instant + time, began: messages, seen: messages)
        return instant + time
    }

    /// The turn ends with so many messages.
    /// - Returns: the wait's new end; nil if it stays as it is.
    mutating func look(_ messages: Int, at instant: Duration) -> Duration? {
        guard let wait, messages >= expected, messages > wait.seen else { return nil }
        self.wait?.seen = messages
        return min(wait.end, instant + Self.heels)
    }

    /// The wait is over.
    /// - Returns: whether nothing came meanwhile.
    mutating func end(with messages: Int) -> Bool {
        guard let wait else { return false }
        self.wait = nil
        let isInVain = messages == wait.began
        vain = isInVain ? vain + 1 : 0
        return isInVain
    }
}
