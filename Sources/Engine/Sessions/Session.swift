import Chat
import Wire

/// The number of a connection, never used twice.
package typealias SessionID = UInt64

/// One connected client: its user, its subscriptions and its outbox. Owned by the engine, touched
/// on the loop only.
package final class Session {
    // The first fields are those that every delivery touches: with thousands of readers none is in
    // the CPU cache, and a delivery costs as much as the cache lines it touches. Here, and
    // elsewhere on the delivery path, exclusive access is not checked at run time: the checks were
    // a fiftieth of a delivery's cost.

    package let id: SessionID
    /// Changed only by `Delivery`.
    @exclusivity(unchecked) var lane: Delivery.Lane
    @exclusivity(unchecked) var isClosing = false
    /// Requests postponed by backpressure. A blocked socket is not read, and any other no more when
    /// these are many.
    @exclusivity(unchecked) var postponed: [Postponed] = []

    /// Nil until `connect` was answered.
    var user: String?
    /// Its subscriptions to messages. A client has few: a list is faster than a dictionary.
    var subscriptions: [Subscription] = []
    /// Deltas that became part of a gap, because the client is slow.
    var coalesced = 0
    /// The `traceparent` of `connect`, kept with what the client writes.
    var trace = ""
    /// Its network address, if connections per address are limited.
    var address: String?
    /// Its token.
    var credentials = Credentials()
    /// Its view of the user's list of conversations.
    var list = ListWatch()
    /// How its user is there by it.
    var presence = ConnectionPresence.present
    /// When its client was told to come back, if its gateway drains.
    var returnsAt: Timestamp?
    /// Its unanswered requests.
    var requests = RequestsUnderWay()
    /// Its rate limits.
    var rate: RequestRate
    var liveness: Liveness

    struct Credentials {
        /// The token of the upgrade, until `connect` has used it.
        var bearer: String?
        /// When the token stops being accepted, with the leeway, by the time of day; nil without a
        /// token.
        var deadline: Timestamp?
    }

    /// - Parameter rate: `limits.requests_per_second`.
    init(id: SessionID, at now: Timestamp, rate: Int) {
        self.id = id
        lane = Delivery.Lane(at: now)
        self.rate = RequestRate(rate, at: now)
        liveness = Liveness(at: now)
    }

    /// It has frames to send, and its socket takes more.
    package var isReady: Bool { lane.isReady }

    /// Its last write is on its way to the loop of its socket.
    package var isInTransit: Bool { lane.isInFlight }

    func subscription(to stream: Stream) -> Int? {
        subscriptions.firstIndex { $0.stream === stream }
    }
}

/// A session's entry among the subscribers of a stream.
struct Subscription {
    unowned let stream: Stream
    /// Index in `stream.subscribers`.
    var place: Int
    /// The journal's serial when it began.
    var since: Journal.Serial
}

/// A request under way: the answer goes to `session` under `id`, if both still exist.
struct Call {
    let session: SessionID
    let id: Int
    private(set) var request: Request
    /// Whether the client accepts a first answer from the cache, and was not sent one yet.
    var takesCached: Bool
    /// What the answer must not miss.
    var reach: Reach
    /// How long it waits for data that the cache lacks.
    var deadline: Timestamp?
    /// If the call succeeds, the list of conversations is watched from here on.
    var beginsList = false
    /// Whether the log confirms the call's `have`; nil while that is unknown.
    var isConfirmed: Bool?
    /// The cache was asked to confirm the `have`.
    var hasAskedCache = false
    /// The stream's era when the stream was found, or when the origin was asked.
    var era: Replica.Era?
    /// The newest change of slot 0 known when the origin was asked.
    var record = 0
    /// If the origin was asked for the anchor's time: the last seq before that time.
    var place: Int?
    /// The stream had moved on when its answer came, so the question is asked again.
    var isOvertaken = false
    /// Its result is already in the journal.
    var isJournaled = false

    init(
        session: SessionID, id: Int, request: Request, takesCached: Bool, atLeast: Head? = nil
    ) {
        self.session = session
        self.id = id
        self.request = request
        self.takesCached = takesCached
        reach = Reach(atLeast: atLeast)
    }

    /// The same call with another request.
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

/// What an answer about a conversation must not miss: the change that the caller names, and those
/// that the log was known to have when the call came.
struct Reach {
    /// The change that the caller names.
    let atLeast: Head?
    /// Whether the log has it; nil while that is unknown.
    var isConfirmed: Bool?
    /// The store was asked whether the log has it.
    var hasAskedStore = false
    /// The newest change that the log was known to have when the call came.
    private(set) var known = 0
    /// The log that the call was about when it came.
    private(set) var epoch = ""
    /// The stream did not get there in time: the answer says `open`.
    var isShort = false

    init(atLeast: Head?) { self.atLeast = atLeast }

    /// The log lacks what the caller names, so that the caller holds another branch of it.
    var isRefuted: Bool { isConfirmed == false }
    /// Whether a stream at this position lacks what the caller names, or may lack it.
    func isMissing(at position: Int) -> Bool {
        guard let atLeast, !isRefuted else { return false }
        return isConfirmed == nil || atLeast.rev > position
    }

    /// The answer is the one that anybody would get.
    var isPlain: Bool { !isShort && !isRefuted }

    /// The feed, or the log behind it, may be another one.
    mutating func begin(known: Int, of epoch: String) {
        self = Reach(atLeast: atLeast)
        self.known = known
        self.epoch = epoch
    }
}

/// A token bucket: `rate` tokens a second on average, `burst` at once.
struct TokenBucket {
    private var rate: Int
    private var burst: Int
    /// In thousandths of a token; negative while in debt.
    private var level: Int
    private var filled: Timestamp

    /// Twice the rate.
    static func burst(rate: Int) -> Int { rate * 2 }

    /// - Parameter rate: per second; 0: no limit.
    init(rate: Int, burst: Int, at now: Timestamp) {
        self.rate = rate
        self.burst = burst
        level = burst * 1000
        filled = now
    }

    init(rate: Int, at now: Timestamp) {
        self.init(rate: rate, burst: Self.burst(rate: rate), at: now)
    }

    /// Changes the rate. A client that had no limit begins with the full burst.
    mutating func adopt(rate: Int, burst: Int? = nil) {
        let burst = burst ?? Self.burst(rate: rate)
        // After a limit was lowered, old debt must not become a long wait.
        level = self.rate == 0 ? burst * 1000 : max(min(level, burst * 1000), -burst * 1000)
        self.rate = rate
        self.burst = burst
    }

    private mutating func fill(at now: Timestamp) {
        let elapsed = max(0, min(now.milliseconds - filled.milliseconds, 3_600_000))
        level = min(burst * 1000, level + Int(elapsed) * rate)
        filled = now
    }

    /// Takes `cost` tokens, or the whole burst if it costs more.
    /// - Returns: nil if the tokens were there, otherwise the milliseconds until they will be.
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

    /// Takes `cost` tokens even into debt. All of it is owed: otherwise a client could ask for much
    /// at once and get the excess for free.
    mutating func charge(_ cost: Int, at now: Timestamp) {
        guard rate > 0 else { return }
        fill(at: now)
        level -= cost * 1000
    }

    /// The milliseconds until the debt is paid; nil without debt.
    mutating func debt(at now: Timestamp) -> Int? {
        guard rate > 0 else { return nil }
        fill(at: now)
        return level < 0 ? (rate - 1 - level) / rate : nil
    }

    /// Whether the bucket is full.
    mutating func isFull(at now: Timestamp) -> Bool {
        fill(at: now)
        return rate == 0 || level == burst * 1000
    }
}
