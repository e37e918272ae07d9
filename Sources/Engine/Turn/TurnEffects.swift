import Ports
import Wire

/// The engine's environment in a turn: the gateway's driver implements it with sockets, a file and
/// an upstream, a simulated world with virtual ones. `TurnRunner` decides the order.
package protocol TurnEffects {
    /// An error that ends a turn halfway; a gateway has none.
    associatedtype Failure: Error

    func moment() -> Moment

    /// What the thread of the turns had of the machine so far.
    func usage() -> ThreadUsage

    /// Asks the upstream, which answers later.
    func perform(_ call: UpstreamCall) throws(Failure)

    /// Sends the upstream everything asked so far. Called before the file is written, since the
    /// origin need not wait for that, and before the sockets are.
    func handOver() throws(Failure)

    /// All effects so far were performed; an upstream that answers within the call may be asked.
    /// - Returns: whether it has answered: the engine then decides on that in the same turn.
    func askAtOnce() throws(Failure) -> Bool

    /// Stores this in the cache in one transaction.
    /// - Returns: whether it was committed.
    func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Failure) -> Bool

    /// Reads the cache.
    /// - Returns: the answer; nil if it comes later, by `TurnRunner.finish`.
    func answer(_ read: CacheRead) throws(Failure) -> Result<Answer, RequestError>?

    /// Begins a slow read beside the turns. The answer comes by `TurnRunner.finishSlow`; no other
    /// slow read begins before that.
    func beginSlow(_ read: CacheRead) throws(Failure)

    /// The read was answered, with or without the cache, or nobody still awaits it.
    /// - Parameter sessions: are above the soft limit and must be written before the next read: one
    ///   turn can read more than a socket takes.
    func finished(_ read: CacheRead, flush sessions: [Session]) throws(Failure)

    /// Writes the sessions' pending frames, as far as their sockets take them.
    /// - Returns: the time it took, for pacing; nil if there is no pacing.
    func write(_ sessions: consuming [Session]) throws(Failure) -> Duration?

    /// Closes the connection after its pending frames.
    func close(_ session: SessionID, _ code: CloseCode) throws(Failure)

    /// Stops or resumes reading the session's socket.
    func throttle(_ session: SessionID, _ isThrottled: Bool) throws(Failure)
}

extension TurnEffects {
    package func askAtOnce() throws(Failure) -> Bool { false }
}

/// A read of the cache that was decided.
package struct CacheRead: Sendable {
    /// Reads of one class share a queue.
    package enum Class: Sendable, CaseIterable {
        /// Answered on the loop, in every turn.
        case quick
        /// For a user whose last read was costly: on the loop, after it has rested.
        case costly
        /// On a thread of its own.
        case slow
    }

    package let token: UInt64
    package let query: Query
    /// When it was decided, on the steady clock.
    package let since: Duration
    /// The user who asked.
    package let payer: Payer
    /// By how much it delays the payer's next read, in units of `limits.requests_per_second`.
    package let cost: Int
    package private(set) var `class` = Class.quick
    /// When it joined its class's queue.
    package private(set) var queued: Duration

    init(_ read: Turn.Read, for payer: Payer, cost: Int, at instant: Duration) {
        token = read.token
        query = read.query
        since = instant
        queued = instant
        self.payer = payer
        self.cost = cost
    }

    func moved(to class: Class, at instant: Duration) -> CacheRead {
        var read = self
        read.class = `class`
        read.queued = instant
        return read
    }
}

/// Observes which reads begin, to judge fairness. A gateway has none.
package protocol ReadWatcher: AnyObject {
    func began(_ read: CacheRead, at instant: Duration)
    /// The payer's requests have cost this much more than was estimated.
    func charged(_ payer: Payer, _ cost: Int)
}
