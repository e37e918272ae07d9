import Glibc
import Synchronization

/// The thread of one gateway. Owns the event loop, and works in turns: collects ready events, calls
/// their handlers, and at the end of a turn with any work lets the driver commit and flush. Runs on
/// the thread that calls `run()`; any thread may call `post` and `stop`, all other calls are made
/// on the loop's thread (or, before `run()`, by the code that sets it up).
// Safety: every stored property but `mailbox` and `owner` is used on the loop thread only, which
// `preconditionOnLoop` checks at each entry; those two are thread-safe. (`wake` is set before
// anybody can post, and cleared after the mailbox has closed.)
package final class ServiceLoop: @unchecked Sendable {
    /// Does work between turns, outside of any C callback.
    package protocol Participant: AnyObject {
        /// Closes what was abandoned during the turn.
        ///
        /// - Returns: whether anything was closed.
        func settle() -> Bool

        /// The loop has ended; the C objects are about to be destroyed.
        func loopDidEnd()
    }

    /// Called at the end of each turn with any work.
    package var onTurnEnd: (() -> Void)?
    /// Called on SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2. Must be set before `run()`, which
    /// then watches for them; the last two would end the process otherwise.
    package var onSignal: ((Int32) -> Void)?

    package let eventLoop: EventLoop
    private let mailbox = Mailbox()
    /// For a client's socket and the wake-up descriptors of its loop, with some to spare.
    private static let clientDescriptors: UInt32 = 64

    private let ownsProcess: Bool
    /// The thread in `run()`; 0 before and after.
    private let owner = Atomic<UInt>(0)
    private var participants: [any Participant] = []
    private var virtualHosts: [AnyObject] = []
    private var watchers: [Watcher] = []
    private var alarms: [any LoopAlarm] = []
    /// Also used by posting threads, under a lock of the mailbox and until it is closed.
    private var wake: WakeWatcher?
    private var jobs: [Mailbox.Job] = []
    private var hadWork = false
    private var isStopping = false

    /// - Parameters:
    ///   - ownsProcess: Whether the loop may change process-wide settings: ignoring SIGPIPE, and
    ///     the limit on descriptors. A client in somebody else's program may not.
    ///   - log: gets the errors and warnings of libwebsockets, from any loop of the process: its
    ///     log is global. The library parses neither HTTP nor frames here, so no line can hold what
    ///     a user sent.
    /// - Throws: `WebSocketError` `loop` if the system provides no event loop or context.
    package init(
        ownsProcess: Bool = true, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(WebSocketError) {
        LibraryLog.route(to: log)
        self.ownsProcess = ownsProcess
        if ownsProcess { ProcessSettings.prepare() }
        let before = ownsProcess ? nil : ProcessSettings.pipeSignal
        eventLoop = try EventLoop(descriptors: ownsProcess ? nil : Self.clientDescriptors)
        // The library ignores the signal for the whole process when it starts.
        if let before { ProcessSettings.pipeSignal = before }
        wake = WakeWatcher(loop: self) { [unowned self] in runJobs() }
        mailbox.open { [unowned self] in wake?.wake() }
    }

    deinit {
        // A loop that never ran still owns its C objects.
        if !isStopping { tearDown() }
    }

    /// Serves until `stop()`. When it returns, every socket is closed, and the loop can't run
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

    /// Ends `run()` after the jobs that were posted before. Any thread may call it.
    package func stop() {
        post { [unowned self] in isStopping = true }
    }

    /// Runs a job on the loop, soon, after the jobs that were posted before. Any thread may call
    /// it; after the end of the loop the job is dropped.
    package func post(_ job: @escaping @Sendable () -> Void) {
        mailbox.post(job)
    }

    /// Calls `handler` periodically until the end of the loop.
    package func every(milliseconds: Int, _ handler: @escaping () -> Void) {
        preconditionOnLoop()
        let timer = TimerWatcher(loop: self, milliseconds: milliseconds, handler: handler)
        watchers.append(timer)
        timer.start()
    }

    /// An alarm that calls `handler` whenever the time last set has elapsed.
    package func alarm(_ handler: @escaping () -> Void) -> Alarm {
        preconditionOnLoop()
        let alarm = Alarm(loop: self, handler: handler)
        alarms.append(alarm)
        return alarm
    }

    /// The same to the microsecond, with a descriptor of its own.
    package func exactAlarm(
        _ handler: @escaping () -> Void
    ) throws(WebSocketError) -> ExactAlarm {
        preconditionOnLoop()
        let alarm = try ExactAlarm(loop: self, handler: handler)
        alarms.append(alarm)
        return alarm
    }

    /// Whether this is the loop's thread. Any thread may ask; before `run()` none is.
    package var isCurrent: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Traps on any thread other than the loop's. Before `run()` any thread passes.
    package func preconditionOnLoop() {
        let owner = owner.load(ordering: .relaxed)
        precondition(owner == 0 || owner == UInt(pthread_self()), "not on the loop thread")
    }

    /// Has the next turn begin after that time, whatever comes in meanwhile, unless something is
    /// left for it already. To be called while a turn ends.
    package func pause(for time: Duration) {
        preconditionOnLoop()
        eventLoop.pause = time
    }

    /// Marks the turn as one with work, which ends with `onTurnEnd`.
    package func noteWork() {
        hadWork = true
    }

    package func add(_ participant: any Participant) {
        participants.append(participant)
    }

    /// Retains an object to which the library has pointers, until the context is destroyed.
    package func retain(_ host: AnyObject) {
        virtualHosts.append(host)
    }

    private func runJobs() {
        mailbox.take(into: &jobs)
        // Moved out, because jobs posted meanwhile must wait for the next turn.
        var batch: [Mailbox.Job] = []
        swap(&batch, &jobs)
        for job in batch { job() }
        // A job that were kept would keep alive what it captured, perhaps the owner of this loop.
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &jobs)
    }

    private func endTurn() {
        settle()
        guard hadWork else { return }
        hadWork = false
        onTurnEnd?()
        // What the driver abandoned is closed now, and reported in a turn of its own, at once.
        settle()
        // What is here already does not wait.
        if eventLoop.pause != nil, hadWork || !mailbox.isEmpty { eventLoop.pause = nil }
    }

    private func settle() {
        for participant in participants where participant.settle() { hadWork = true }
    }

    private func watchSignals() {
        for number in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2] {
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
