/// Gathers the requests of a busy gateway (a group window, as Kafka's `linger.ms` or the interrupt
/// moderation of a network card): after a turn with requests, the loop leaves its sockets unread
/// for a while, so that the next turn has more of them. A turn's wake-up, commit and bookkeeping
/// cost the same for one message as for ten.
///
/// It waits only where that was measured to help:
/// - Never when idle: what comes after a pause is served at once.
/// - Never when a turn takes as long as the wait would: requests gather by themselves then.
/// - Not when clients wait for their answers before they go on. Then the wait brings fewer requests
///   a second; a trial shows it, and the next trial comes later.
///
/// So the requests a second, and those of a turn, are measured without waits (`watching`), then
/// with them (`waiting`), and compared. Only sums are compared: a client that waits for its answers
/// beside a busy crowd is delayed as the crowd is, by `longest` a request.
///
/// The driver owns it, and tells it of requests and turns.
package struct Gathering {
    private enum Phase {
        /// No waits: measures what comes without them.
        case watching
        /// Waits, first on trial.
        case waiting
    }

    /// What was seen since the phase, or a part of it, began.
    private struct Sample {
        var began = Duration.zero
        var turns = 0
        var requests = 0

        func age(at instant: Duration) -> Duration { instant - began }

        /// Requests a second.
        func rate(at instant: Duration) -> Double {
            Double(requests) / max(1e-6, age(at: instant) / .seconds(1))
        }

        var requestsOfATurn: Double { Double(requests) / Double(max(1, turns)) }
    }

    /// The longest wait; zero: none.
    private var longest: Duration
    private var phase = Phase.watching
    private var sample = Sample()
    /// Requests a second and a turn, without waits.
    private var usual = (rate: 0.0, ofATurn: 0.0)
    /// Samples of waiting that helped, since the last one of watching.
    private var helped = 0
    /// Whether the last sample of waiting did not help, for the first time.
    private var isDoubtful = false
    /// Samples of watching until the next trial, and how many there were until this one.
    private var pause = 0
    private var lastPause = 0
    /// Requests that no turn has ended for yet, and when the first of them came.
    private var requests = 0
    private var began = Duration.zero
    private var lastTurn = Duration.zero

    /// A sample of watching has this many requests, so that chance makes a difference of 6 %, and
    /// takes this long, so that one burst is none.
    private static let watched = (requests: 256, time: Duration.milliseconds(20))
    /// Requests within the longest wait, on average, from which on some would meet.
    private static let leastMet = 0.3
    /// A sample of waiting has this many turns; a trial is looked at after the first few.
    private static let waited = (turns: 96, first: 8)
    /// How many times as many requests a turn must have with waits.
    private static let least = 1.2
    /// Beneath this part of the rate without waits, waits have driven requests away.
    private static let leastRate = (first: 0.5, then: 0.85)
    /// Samples of waiting until the rate is measured without waits again.
    private static let mostHelped = 16
    /// The most samples of watching between two trials: where no trial helps, one comes in 65,536
    /// requests.
    private static let longestPause = 256
    /// A gateway without a turn for this long is idle.
    private static let idle = Duration.milliseconds(50)

    /// - Parameter longest: how long the loop leaves its sockets unread at most; zero: never.
    package init(longest: Duration) { self.longest = longest }

    /// Whether it may ever wait; the clock need not be read for one that does not.
    package var isOn: Bool { longest > .zero }

    /// The configuration was reloaded: what was measured was measured with another wait.
    package mutating func adopt(longest: Duration) {
        if longest != self.longest { self = Gathering(longest: longest) }
    }

    /// A request came in.
    package mutating func noteRequest(at instant: @autoclosure () -> Duration) {
        guard isOn else { return }
        if requests == 0 { began = instant() }
        requests += 1
    }

    /// A turn ended, and nothing is left to do or to be answered by the origin.
    /// - Parameter instant: now, on a steady clock.
    /// - Returns: how long to leave the sockets unread; nil: not at all.
    package mutating func turnEnded(at instant: Duration) -> Duration? {
        guard requests > 0 else { return nil }
        if began - lastTurn > Self.idle { watch(at: began) }
        lastTurn = instant
        sample.turns += 1
        sample.requests += requests
        requests = 0
        judge(at: instant)
        guard phase == .waiting, instant - began < longest else { return nil }
        return longest
    }

    private mutating func judge(at instant: Duration) {
        switch phase {
        case .watching:
            guard sample.requests >= Self.watched.requests,
                sample.age(at: instant) >= Self.watched.time
            else { return }
            usual = (sample.rate(at: instant), sample.requestsOfATurn)
            sample = Sample(began: instant)
            guard usual.rate * (longest / .seconds(1)) >= Self.leastMet else { return }
            if pause > 0 {
                pause -= 1
            } else {
                phase = .waiting
            }
        case .waiting:
            let share = sample.rate(at: instant) / usual.rate
            if helped == 0, sample.turns == Self.waited.first,
                !isGathering || share < Self.leastRate.first
            {
                return giveUp(at: instant)
            }
            guard sample.turns >= Self.waited.turns else { return }
            let helps = isGathering && share >= Self.leastRate.then
            // Where it has helped before, one sample may be chance.
            if !helps, isDoubtful || helped == 0 { return giveUp(at: instant) }
            isDoubtful = !helps
            sample = Sample(began: instant)
            helped += 1
            lastPause = 0
            if helped > Self.mostHelped { watch(at: instant) }
        }
    }

    private var isGathering: Bool {
        sample.requestsOfATurn >= Self.least * usual.ofATurn
    }

    private mutating func giveUp(at instant: Duration) {
        watch(at: instant)
        pause = min(Self.longestPause, max(1, lastPause * 2))
        lastPause = pause
    }

    private mutating func watch(at instant: Duration) {
        phase = .watching
        sample = Sample(began: instant)
        helped = 0
        isDoubtful = false
    }
}
