import Dispatch
import Ports
import Synchronization

/// Polls one server on a thread of its own: a sentinel for the master, a node of a cluster for its
/// masters. A broken connection is made again with backoff, up to the lease; a problem is logged
/// once.
final class Poller: Sendable {
    /// Questions per lease.
    private static let questions = 4

    /// The shortest time between two questions.
    private static let haste = Duration.milliseconds(20)

    /// Asks on an open connection. The moment lies before the question: the answer is valid from
    /// then on.
    typealias Question =
        @Sendable (RedisConnection, ContinuousClock.Instant) throws(RedisError) -> Void

    private struct State {
        var isEnded = false
        /// Whether there was an answer, or a reason for none.
        var hasAsked = false
        var trouble: UpstreamNotice?
    }

    let address: RedisOptions.Address
    private let options: RedisOptions
    private let notice: @Sendable (UpstreamNotice) -> Void
    private let question: Question
    private let queue: DispatchQueue
    private let wakeup = Wakeup()
    private let state = Mutex(State())

    init(
        _ address: RedisOptions.Address, _ options: RedisOptions,
        notice: @escaping @Sendable (UpstreamNotice) -> Void, question: @escaping Question
    ) {
        self.address = address
        self.options = options
        self.notice = notice
        self.question = question
        queue = DispatchQueue(label: "gapless.redis.poll \(address)")
    }

    func start() { queue.async { self.run() } }

    /// Asks now.
    func hurry() { wakeup.wake() }

    /// Ends the thread, without waiting.
    func end() {
        state.withLock { $0.isEnded = true }
        wakeup.wake()
    }

    /// Returns when the thread has ended; after `end`.
    func wait() { queue.sync {} }

    /// The problem with the server; nil while it answers.
    var trouble: UpstreamNotice? { state.withLock { $0.trouble } }

    /// Whether there was an answer, or a reason for none.
    var hasAsked: Bool { state.withLock { $0.hasAsked } }

    // MARK: on the thread

    private var isEnded: Bool { state.withLock { $0.isEnded } }

    private func run() {
        var backoff = Backoff(base: options.backoffBase, limit: options.deadline)
        while !isEnded {
            do throws(RedisError) {
                let connection = try RedisConnection(address, options)
                while !isEnded {
                    try question(connection, .now)
                    backoff.succeeded()
                    state.withLock { state in
                        state.trouble = nil
                        state.hasAsked = true
                    }
                    wait(for: Self.haste)
                    let next = options.deadline / Self.questions - Self.haste
                    _ = Wakeup.poll(nil, writing: false, wakeup, until: .now + next)
                }
            } catch {
                let trouble = UpstreamNotice(error)
                let isNews = state.withLock { state in
                    defer { state.trouble = trouble }
                    state.hasAsked = true
                    return state.trouble != trouble
                }
                if isNews { notice(UpstreamNotice(.originLookupFailed, trouble.text)) }
                wait(for: backoff.failed())
            }
        }
    }

    /// Waits the full duration, even if hurried; a hurry counts afterwards.
    private func wait(for duration: Duration) {
        let end = ContinuousClock.now + duration
        var isHurried = false
        while !isEnded, ContinuousClock.now < end {
            isHurried = Wakeup.poll(nil, writing: false, wakeup, until: end).isWoken || isHurried
        }
        if isHurried { wakeup.wake() }
    }
}
