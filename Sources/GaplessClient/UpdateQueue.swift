import Synchronization

/// What waits for one listener, in order: pushed on the client's thread, taken by a task wherever
/// that runs; several share it, each element goes to one of them. It never drops anything; when too
/// much waits, the client stops reading from its socket, and the gateway tells a reader that can't
/// keep up what it missed.
final class UpdateQueue<Element: Sendable>: Sendable {
    /// So many messages may wait before the client stops reading, and so few before it goes on.
    private static var limits: (full: Int, low: Int) { (full: 256, low: 64) }

    private struct State {
        var items: [(element: Element, weight: Int)] = []
        var next = 0
        /// Of all that waits.
        var weight = 0
        /// The tasks that wait, the longest first.
        var waiters: [(number: Int, CheckedContinuation<Element?, Never>)] = []
        var nextWaiter = 0
        /// Those that were cancelled before they waited.
        var cancelled: Set<Int> = []
        var isEnded = false
        var isFull = false

        var count: Int { items.count - next }

        mutating func take() -> Element {
            let item = items[next]
            next += 1
            weight -= item.weight
            if next == items.count || next > 1024 {
                items.removeFirst(next)
                next = 0
            }
            return item.element
        }
    }

    private let state = Mutex(State())
    private let onDrain: @Sendable () -> Void

    /// - Parameter onDrain: called on the taking task when a full queue has room again.
    init(onDrain: @escaping @Sendable () -> Void) { self.onDrain = onDrain }

    /// Whether so much waits that nothing more should come.
    var isFull: Bool { state.withLock { $0.isFull } }

    /// - Parameter weight: how many messages it carries; nothing weighs less than one.
    func push(_ item: Element, weight: Int = 1) {
        let waiter = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            guard !state.isEnded else { return nil }
            if !state.waiters.isEmpty { return state.waiters.removeFirst().1 }
            state.items.append((item, max(1, weight)))
            state.weight += max(1, weight)
            if state.weight >= Self.limits.full { state.isFull = true }
            return nil
        }
        waiter?.resume(returning: item)
    }

    /// The next one; nil after the end, or when the task is cancelled.
    func next() async -> Element? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(number, continuation) }
        } onCancel: {
            cancel(number)
        }
    }

    private func wait(_ number: Int, _ continuation: CheckedContinuation<Element?, Never>) {
        let (item, isReady, hasDrained) = state.withLock { state -> (Element?, Bool, Bool) in
            if state.cancelled.remove(number) != nil { return (nil, true, false) }
            if state.count > 0 {
                let item = state.take()
                let hasDrained = state.isFull && state.weight <= Self.limits.low
                if hasDrained { state.isFull = false }
                return (item, true, hasDrained)
            }
            if state.isEnded { return (nil, true, false) }
            state.waiters.append((number, continuation))
            return (nil, false, false)
        }
        if isReady { continuation.resume(returning: item) }
        if hasDrained { onDrain() }
    }

    /// One task waits no more; the others do.
    private func cancel(_ number: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            if let at = state.waiters.firstIndex(where: { $0.number == number }) {
                return state.waiters.remove(at: at).1
            }
            state.cancelled.insert(number)
            return nil
        }
        waiter?.resume(returning: nil)
    }

    /// Nothing more comes; what waits can still be taken.
    func end() {
        let (waiters, wasFull) = state.withLock {
            state -> ([CheckedContinuation<Element?, Never>], Bool) in
            defer {
                state.isEnded = true
                state.waiters = []
                state.isFull = false
            }
            return (state.waiters.map(\.1), state.isFull)
        }
        for waiter in waiters { waiter.resume(returning: nil) }
        if wasFull { onDrain() }
    }
}
