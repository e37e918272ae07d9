import Chat
import Wire

/// The number of a connection, never used twice.
package typealias SessionID = UInt64

/// One connected client: who it is, what it watches, what it is owed. Owned by the engine, touched
/// on the loop only.
package final class Session {
    // First what every delivery touches: with thousands of readers each of them is in no cache, and
    // what a delivery costs is how many lines of memory it asks for. That nobody changes one of
    // these while it is being changed is not checked at run time, here and wherever else a delivery
    // comes by: the checks were a fiftieth of its cost.

    package let id: SessionID
    /// Changed by `Delivery` alone.
    @exclusivity(unchecked) var lane: Delivery.Lane
    @exclusivity(unchecked) var isClosing = false
    /// What it asked for while it had not taken what it was sent. Its socket is not read while it
    /// is blocked, so this is at most what one read of it brings.
    @exclusivity(unchecked) var postponed: [Postponed] = []

    /// nil until `connect` was answered.
    var user: String?
    /// Messages of these conversations are pushed. A client has few: a list beats a table.
    var subscriptions: [Subscription] = []
    /// Deltas that it was told as a gap, because it is slow.
    var coalesced = 0
    /// The `traceparent` that it came with, which is kept with what it writes.
    var trace = ""
    /// Where it came from, if that is counted.
    var address: String?
    /// What it shows who it is by.
    var credentials = Credentials()
    /// What it watches of its user's list.
    var list = ListWatch()
    /// What it asked for and was not answered yet.
    var requests = RequestsUnderWay()
    /// How much it may ask for.
    var rate: RequestRate
    var liveness: Liveness

    struct Credentials {
        /// The token of the upgrade, until `connect` has looked at it.
        var bearer: String?
        /// When the token's life is over, leeway included, by the time of day; nil without a token.
        var deadline: Timestamp?
    }

    /// - Parameter rate: `limits.requests_per_second`.
    init(id: SessionID, at now: Timestamp, rate: Int) {
        self.id = id
        lane = Delivery.Lane(at: now)
        self.rate = RequestRate(rate, at: now)
        liveness = Liveness(at: now)
    }

    /// It has frames to send, and its socket takes some.
    package var isReady: Bool { lane.isReady }

    /// What it was given last is on its way to the loop of its socket.
    package var isInTransit: Bool { lane.isInFlight }

    func subscription(to stream: Stream) -> Int? {
        subscriptions.firstIndex { $0.stream === stream }
    }
}

/// A session's place among those who watch a stream.
struct Subscription {
    unowned let stream: Stream
    /// Index in `stream.subscribers`.
    var place: Int
    /// The serial in the journal at which it began.
    var since: Journal.Serial
}

/// A request on its way: the answer goes to `session` under `id`, if both are still there.
struct Call {
    let session: SessionID
    let id: Int
    private(set) var request: Request
    /// Whether it takes a first answer from the cache.
    let takesCached: Bool
    /// Until when it waits for what the cache lacks.
    var deadline: Timestamp?
    /// What the cache has was answered already.
    var hasShown = false
    /// The list of conversations is watched from this call on, if it succeeds.
    var beginsList = false
    /// Whether the log has what the call's `have` says; nil while that is not known.
    var isConfirmed: Bool?
    /// The cache was asked whether it has.
    var hasAskedCache = false
    /// Of the stream, when that was found, or when the origin was asked.
    var era = 0
    /// The change of slot 0 that was known when the origin was asked.
    var record = 0
    /// The last place before the moment of its anchor, as far as the origin was asked.
    var place: Int?
    /// The stream had moved on when its answer came, and it asks again.
    var isOvertaken = false
    /// The journal has been told what became of it.
    var isJournaled = false

    init(session: SessionID, id: Int, request: Request, takesCached: Bool) {
        self.session = session
        self.id = id
        self.request = request
        self.takesCached = takesCached
    }

    /// The same call, asking for this.
    func with(_ request: Request) -> Call {
        var call = self
        call.request = request
        return call
    }

    /// The same call, to be asked again.
    var overtaken: Call {
        var call = self
        call.isOvertaken = true
        return call
    }
}

/// Lets through what a client may ask for: `rate` a second on average, `burst` at once.
struct TokenBucket {
    private var rate: Int
    private var burst: Int
    /// In thousandths of a token; below zero while something is owed.
    private var level: Int
    private var filled: Timestamp

    /// Twice as much as a second brings.
    static func burst(rate: Int) -> Int { rate * 2 }

    /// - Parameter rate: per second; 0 lets everything through.
    init(rate: Int, burst: Int, at now: Timestamp) {
        self.rate = rate
        self.burst = burst
        level = burst * 1000
        filled = now
    }

    init(rate: Int, at now: Timestamp) {
        self.init(rate: rate, burst: Self.burst(rate: rate), at: now)
    }

    /// Goes on with another rate. Who had no limit begins with all that there is at once.
    mutating func adopt(rate: Int, burst: Int? = nil) {
        let burst = burst ?? Self.burst(rate: rate)
        // A limit that was lowered does not make a long wait of what is owed.
        level = self.rate == 0 ? burst * 1000 : max(min(level, burst * 1000), -burst * 1000)
        self.rate = rate
        self.burst = burst
    }

    private mutating func fill(at now: Timestamp) {
        let elapsed = max(0, min(now.milliseconds - filled.milliseconds, 3_600_000))
        level = min(burst * 1000, level + Int(elapsed) * rate)
        filled = now
    }

    /// Takes `cost` out, or all that there can be where it costs more.
    /// - Returns: nil if it was there, otherwise the milliseconds until it will be.
    mutating func take(_ cost: Int = 1, at now: Timestamp) -> Int? {
        guard rate > 0 else { return nil }
        fill(at: now)
        let needed = min(cost, burst) * 1000
        guard level < needed else {
            level -= needed
            return nil
        }
        return (needed - level + rate - 1) / rate
    }

    /// Takes `cost` out whether it is there or not. All of it is owed: were it less, whoever asks
    /// for much in one breath would have the rest for nothing.
    mutating func charge(_ cost: Int, at now: Timestamp) {
        guard rate > 0 else { return }
        fill(at: now)
        level -= cost * 1000
    }

    /// The milliseconds until nothing is owed; nil if nothing is.
    mutating func debt(at now: Timestamp) -> Int? {
        guard rate > 0 else { return nil }
        fill(at: now)
        return level < 0 ? (rate - 1 - level) / rate : nil
    }

    /// Whether all is there that can be.
    mutating func isFull(at now: Timestamp) -> Bool {
        fill(at: now)
        return rate == 0 || level == burst * 1000
    }
}
