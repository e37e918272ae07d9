/// What a client stands on: a thread of its own, a clock, one alarm, and one socket at a time.
///
/// There is one for Linux (`LoopTransport`, libwebsockets on an event loop), one for Apple's
/// platforms (`URLSessionTransport`), and one in memory for the tests of apps (`MemoryTransport`).
/// What each must keep, and `TransportContract` in the tests holds them to:
///
/// - **One thread.** From `start` to the end everything that the transport says, it says on one
///   thread or serial queue, *the loop*, which the transport owns. No call comes from within
///   another: what the client calls returns before anything that it leads to is said.
/// - **Turns.** After some calls, at the latest when nothing more is ready, comes one
///   `turnEnded`, in which the client writes its store. What it calls then is done like all else.
/// - **Jobs** run in the order in which any threads posted them, each once. A job that was
///   posted on the loop runs after the present call has returned.
/// - **Sockets.** Each `connect` has a number that was never used before. Of it come, in this
///   order: `opened` at most once, then whole texts in the order in which the peer sent them, then
///   `closed`, once. A try that fails is `closed` without `opened`, and never within `connect`.
///   After `abandon`, after another `connect` and after `closed` nothing more is said of it,
///   whatever was on its way.
/// - **Close codes.** `closed` has the code of the peer's close frame; nil where there was none:
///   refused, reset, or ended without one.
/// - **Sending.** Texts go out in the order in which they were given, each whole. What is sent
///   before `opened`, or when there is no socket, is dropped.
/// - **Reading** never stops while there is a socket: what the client is slow to do keeps nobody
///   from hearing the peer, nor from learning that it is gone.
/// - **Alarm.** There is one. It rings once, when `now` has reached the moment that was set last,
///   or later; setting it again, or to nil, takes the place of what was set.
/// - **The end.** `stop` takes effect after the jobs that were posted before. From then on nothing
///   is said, jobs are dropped, and the socket is gone without a word to the peer. The transport
///   holds the client from `start` until then, and not longer.
public protocol ClientTransport: AnyObject, Sendable {
    /// The present. May be read on any thread.
    var now: Instant { get }

    /// Begins. Called once, before everything else.
    /// - Throws: What keeps it from working, such as an event loop that the system does not give.
    ///   The initializer of a client throws it on.
    func start(_ client: any ClientTransportDelegate, to endpoint: ClientEndpoint) throws

    /// Runs a job on the loop, soon. May be called on any thread.
    func post(_ job: @escaping @Sendable () -> Void)

    /// Runs work of the app's that is not the loop's, such as getting credentials. May be called on
    /// any thread. By itself a transport makes a task of it; one whose time is a test's lets no
    /// time pass until the work is done.
    func begin(_ work: @escaping @Sendable () async -> Void)

    /// Ends it all. May be called on any thread.
    func stop()

    // MARK: On the loop only

    /// Traps where it is called on another thread than the loop's.
    func preconditionOnLoop()

    /// Has `alarmRang` called once, in so many milliseconds or soon after; nil for not at all.
    func setAlarm(milliseconds: Int?)

    /// Begins to connect; the socket before is abandoned.
    /// - Returns: The number of the new socket.
    func connect() -> UInt

    /// Sends a text frame.
    func send(_ text: [UInt8])

    /// Ends the socket without a word, here and there.
    func abandon()
}

extension ClientTransport {
    /// Makes a task of the work.
    public func begin(_ work: @escaping @Sendable () async -> Void) {
        Task { await work() }
    }
}

/// Whom a transport serves: a client.
public protocol ClientTransportDelegate: AnyObject, Sendable {
    /// The handshake is done, and texts may be sent.
    func opened(_ socket: UInt)
    /// A whole text came.
    func received(_ socket: UInt, _ text: [UInt8])
    /// The socket is gone, or never came to be.
    /// - Parameter code: of the peer's close frame; nil where there was none.
    func closed(_ socket: UInt, code: UInt16?)
    /// The time that was set is over.
    func alarmRang()
    /// What was there is taken.
    func turnEnded()
}
