import Dispatch
import Synchronization

/// Asks one server the same question again and again, on a thread of its own: a sentinel who the
/// master is, a node of a cluster who its masters are. A connection that breaks is made again, with
/// growing waits up to the lease; what is wrong is said once.
final class Poller: Sendable {
    /// How many times within a lease the question is asked.
    private static let questions = 4

    /// How soon it may be asked again, however many are in a hurry.
    private static let haste = Duration.milliseconds(20)

    /// Asks on a connection that is there. The moment lies before the question: what is answered is
    /// known to be so from then on, not from the answer on.
    typealias Question =
        @Sendable (RedisConnection, ContinuousClock.Instant) throws(RedisError) -> Void

    private struct State {
        var isEnded = false
        /// Whether there was an answer, or a reason for none.
        var hasAsked = false
        var trouble: String?
    }

    let address: RedisOptions.Address
    private let options: RedisOptions
    private let notice: @Sendable (RedisNotice) -> Void
    private let question: Question
    private let queue: DispatchQueue
    private let wakeup = Wakeup()
    private let state = Mutex(State())

    init(
        _ address: RedisOptions.Address, _ options: RedisOptions,
        notice: @escaping @Sendable (RedisNotice) -> Void, question: @escaping Question
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

    /// Asks no more; does not wait.
    func end() {
        state.withLock { $0.isEnded = true }
        wakeup.wake()
    }

    /// Returns when the thread, which was told to end, has left.
    func wait() { queue.sync {} }

    /// What is wrong with the server, nil while it answers.
    var trouble: String? { state.withLock { $0.trouble } }

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
                let isNews = state.withLock { state in
                    defer { state.trouble = error.description }
                    state.hasAsked = true
                    return state.trouble != error.description
                }
                if isNews { notice(RedisNotice(.warning, error.description)) }
                wait(for: backoff.failed())
            }
        }
    }

    /// Waits, whoever is in a hurry.
    private func wait(for duration: Duration) {
        let end = ContinuousClock.now + duration
        var isHurried = false
        while !isEnded, ContinuousClock.now < end {
            isHurried = Wakeup.poll(nil, writing: false, wakeup, until: end).isWoken || isHurried
        }
        if isHurried { wakeup.wake() }
    }
}
