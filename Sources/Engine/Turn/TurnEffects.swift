import Ports
import Wire

/// What a turn needs of the world around the engine: the gateway's driver does it with sockets, a
/// file and an upstream, a simulated world with virtual ones. `TurnRunner` decides the order.
package protocol TurnEffects {
    /// What ends a turn halfway; a gateway has nothing that does.
    associatedtype Failure: Error

    func moment() -> Moment

    /// Asks the upstream, which answers later.
    func perform(_ effect: Turn.UpstreamEffect) throws(Failure)

    /// Hands the upstream what it was asked for so far. Called before the file is written, which
    /// the origin does not wait for, and before the sockets are.
    func handOver() throws(Failure)

    /// Has the cache keep this in one transaction.
    /// - Returns: whether it is in the file.
    func store(_ token: UInt64, _ writes: [StoreWrite]) throws(Failure) -> Bool

    /// Reads the cache.
    /// - Returns: the answer; nil if it comes later, by `TurnRunner.finish`.
    func answer(_ read: CacheRead) throws(Failure) -> Result<Answer, RequestError>?

    /// Begins with a read that takes long, beside the turns; the answer comes by
    /// `TurnRunner.finishSlow`, and no other slow read begins before.
    func beginSlow(_ read: CacheRead) throws(Failure)

    /// The read has its answer, from wherever, or serves nobody any more.
    /// - Parameter sessions: have more waiting than they are to have, and must be written before
    ///   anything else is read: one turn can ask for more than a socket takes.
    func finished(_ read: CacheRead, flush sessions: [Session]) throws(Failure)

    /// Writes what the sessions are owed, as far as their sockets take it.
    /// - Returns: what that took, from which busy conversations are paced; nil if none is.
    func write(_ sessions: consuming [Session]) throws(Failure) -> Duration?

    /// Closes the connection behind what it was sent.
    func close(_ session: SessionID, _ code: CloseCode) throws(Failure)

    /// Stops reading the session's socket, or goes on.
    func throttle(_ session: SessionID, _ isThrottled: Bool) throws(Failure)
}

/// A read of the cache whose turn has come.
package struct CacheRead: Sendable {
    /// Reads of one class take turns with each other.
    package enum Class: Sendable, CaseIterable {
        /// Answered on the loop, in every turn.
        case quick
        /// Of somebody whose last read held the turn up: on the loop, when that has rested.
        case costly
        /// On a thread of its own.
        case slow
    }

    package let token: UInt64
    package let query: Query
    /// When it was decided, on the clock that never jumps.
    package let since: Duration
    /// Whom it is for.
    package let payer: Payer
    /// What that one's next read stands behind, as `limits.requests_per_second` counts.
    package let cost: Int
    package private(set) var `class` = Class.quick
    /// When it came into its class.
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

/// Who sees which reads begin, to judge whether that is fair. A gateway has nobody who does.
package protocol ReadWatcher: AnyObject {
    func began(_ read: CacheRead, at instant: Duration)
    /// What was done for this one has cost so much more than its reads said.
    func charged(_ payer: Payer, _ cost: Int)
}
