import Glibc
import Synchronization

/// The thread that everything of one gateway happens on. Owns the event loop, and goes turn by
/// turn: take what is there, call the handlers, and at the end of a turn in which anything happened
/// let the driver commit and flush. Runs on the thread that calls `run()`; `post` and `stop` may be
/// called on any thread, all else on the loop's (or, before `run()`, by whoever sets it up).
// Safety: every stored property but `mailbox` and `owner` is touched on the loop thread only, which
// `preconditionOnLoop` checks at each entry; those two are safe by themselves. (`wake` is set
// before anybody can post, and taken away after the mailbox has closed.)
package final class ServiceLoop: @unchecked Sendable {
    /// What has to be done between turns, outside of any C callback.
    package protocol Participant: AnyObject {
        /// Closes what was given up during the turn.
        ///
        /// - Returns: whether anything was closed.
        func settle() -> Bool

        /// The loop has ended; the C objects are about to go.
        func loopDidEnd()
    }

    /// Called at the end of each turn in which anything happened.
    package var onTurnEnd: (() -> Void)?
    /// Called with SIGTERM, SIGINT or SIGHUP. Set before `run()`, which then watches for them.
    package var onSignal: ((Int32) -> Void)?

    package let eventLoop: EventLoop
    private let mailbox = Mailbox()
    /// The socket of a client, those that wake its loop, and room to spare.
    private static let clientDescriptors: UInt32 = 64

    private let ownsProcess: Bool
    /// The thread in `run()`; 0 before and after.
    private let owner = Atomic<UInt>(0)
    private var participants: [any Participant] = []
    private var virtualHosts: [AnyObject] = []
    private var watchers: [Watcher] = []
    private var alarms: [Alarm] = []
    /// Also used by those who post, under a lock of the mailbox and until it is closed.
    private var wake: WakeWatcher?
    private var jobs: [Mailbox.Job] = []
    private var hadWork = false
    private var isStopping = false

    /// - Parameters:
    ///   - ownsProcess: Whether the loop may set what concerns the process: that SIGPIPE is
    ///     ignored, and how many descriptors may be open. A client in somebody's program may not.
    ///   - log: receives what libwebsockets has to say of level error or warning, from any loop of
    ///     the process: its log is global. HTTP and frames are not read by the library here, so
    ///     that no line of it can hold what a user sent.
    /// - Throws: `WebSocketError` `loop` if the system gives no event loop or context.
    package init(
        ownsProcess: Bool = true, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(WebSocketError) {
        LibraryLog.route(to: log)
        self.ownsProcess = ownsProcess
        if ownsProcess { ProcessSettings.prepare() }
        let before = ownsProcess ? nil : ProcessSettings.pipeSignal
        eventLoop = try EventLoop(descriptors: ownsProcess ? nil : Self.clientDescriptors)
        // The library ignores the signal for the process when it begins.
        if let before { ProcessSettings.pipeSignal = before }
        wake = WakeWatcher(loop: self) { [unowned self] in runJobs() }
        mailbox.open { [unowned self] in wake?.wake() }
    }

    deinit {
        // A loop that never ran still owns its C objects.
        if !isStopping { tearDown() }
    }

    /// Serves until `stop()`. When it returns, every socket is closed, and the loop can't be used
    /// again.
    package func run() {
        let me = UInt(pthread_self())
        let (isFirst, _) = owner.compareExchange(
            expected: 0, desired: me, ordering: .acquiringAndReleasing)
        precondition(isFirst && !isStopping, "a service loop runs once, on one thread")
        let mask = ownsProcess ? nil : ProcessSettings.holdPipeSignal()
        defer { if let mask { ProcessSettings.restore(mask) } }
        if onSignal != nil { watchSignals() }
        while !isStopping {
            eventLoop.turn(waiting: !hadWork)
            endTurn()
        }
        tearDown()
        owner.store(0, ordering: .releasing)
    }

    /// Ends `run()` after the jobs that were posted before. May be called on any thread.
    package func stop() {
        post { [unowned self] in isStopping = true }
    }

    /// Runs a job on the loop, soon, after those that were posted before. May be called on any
    /// thread; after the end of the loop the job is dropped.
    package func post(_ job: @escaping @Sendable () -> Void) {
        mailbox.post(job)
    }

    /// Calls `handler` again and again until the end of the loop.
    package func every(milliseconds: Int, _ handler: @escaping () -> Void) {
        preconditionOnLoop()
        let timer = TimerWatcher(loop: self, milliseconds: milliseconds, handler: handler)
        watchers.append(timer)
        timer.start()
    }

    /// An alarm that calls `handler` whenever the time that was set last is over.
    package func alarm(_ handler: @escaping () -> Void) -> Alarm {
        preconditionOnLoop()
        let alarm = Alarm(loop: self, handler: handler)
        alarms.append(alarm)
        return alarm
    }

    /// Traps when called on another thread than the loop's. Before `run()` everybody may pass.
    package func preconditionOnLoop() {
        let owner = owner.load(ordering: .relaxed)
        precondition(owner == 0 || owner == UInt(pthread_self()), "not on the loop thread")
    }

    /// Marks the turn as one that ends with `onTurnEnd`.
    package func noteWork() {
        hadWork = true
    }

    package func add(_ participant: any Participant) {
        participants.append(participant)
    }

    /// Keeps what the library has pointers into until the context is gone.
    package func retain(_ host: AnyObject) {
        virtualHosts.append(host)
    }

    private func runJobs() {
        mailbox.take(into: &jobs)
        // Moved out, because a job may end up here again only by way of the next turn.
        let batch = jobs
        for job in batch { job() }
    }

    private func endTurn() {
        settle()
        guard hadWork else { return }
        hadWork = false
        onTurnEnd?()
        // What the driver gave up is closed now, and told in a turn of its own, at once.
        settle()
    }

    private func settle() {
        for participant in participants where participant.settle() { hadWork = true }
    }

    private func watchSignals() {
        for number in [SIGTERM, SIGINT, SIGHUP] {
            watchers.append(
                SignalWatcher(loop: self, number: number) { [unowned self] in onSignal?(number) })
        }
    }

    private func tearDown() {
        isStopping = true
        mailbox.close()
        for participant in participants { participant.loopDidEnd() }
        eventLoop.destroyContext()
        participants = []
        virtualHosts = []
        watchers = []
        for alarm in alarms { alarm.end() }
        alarms = []
        wake = nil
        onTurnEnd = nil
        onSignal = nil
    }
}
