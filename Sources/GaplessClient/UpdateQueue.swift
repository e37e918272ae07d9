import ClientCore
import Synchronization

/// What waits for one listener: pushed on the client's thread, taken by a task wherever that runs;
/// several share it, each element goes to one of them. Pushing never waits.
final class UpdateQueue<Element: Sendable>: Sendable {
    /// So many messages may wait: as many as a client keeps of a conversation by default.
    private static var limit: Int { 2_000 }

    private struct State {
        var backlog = Backlog<Element>(limit: UpdateQueue.limit)
        /// The tasks that wait, the longest first.
        var waiters: [(number: Int, CheckedContinuation<Element?, Never>)] = []
        var nextWaiter = 0
        /// Those that were cancelled before they waited.
        var cancelled: Set<Int> = []
        var isEnded = false

        /// Who waits, and what they take.
        mutating func served() -> [(CheckedContinuation<Element?, Never>, Element)] {
            var served: [(CheckedContinuation<Element?, Never>, Element)] = []
            while let waiter = waiters.first, let element = backlog.take() {
                waiters.removeFirst()
                served.append((waiter.1, element))
            }
            return served
        }
    }

    private let state = Mutex(State())
    private let onBehind: @Sendable (UpdateQueue) -> Void

    /// - Parameter onBehind: Called on the task that takes where what waited was dropped, so that
    ///   the newest state comes by `fill`.
    init(onBehind: @escaping @Sendable (UpdateQueue) -> Void) { self.onBehind = onBehind }

    /// Whether what waited was dropped, and the newest state did not come yet.
    var isBehind: Bool { state.withLock { $0.backlog.isBehind } }

    /// As `Backlog.push`.
    func push(_ element: Element, weight: Int = 1, isAnswer: Bool = false) {
        change { $0.push(element, weight: weight, isAnswer: isAnswer) }
    }

    /// As `Backlog.fill`.
    func fill(_ present: [Element]) { change { $0.fill(present) } }

    private func change(_ body: (inout Backlog<Element>) -> Void) {
        let served = state.withLock { state -> [(CheckedContinuation<Element?, Never>, Element)] in
            guard !state.isEnded else { return [] }
            body(&state.backlog)
            return state.served()
        }
        for (waiter, element) in served { waiter.resume(returning: element) }
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
        let (element, isReady, isBehind) = state.withLock { state -> (Element?, Bool, Bool) in
            if state.cancelled.remove(number) != nil { return (nil, true, false) }
            if let element = state.backlog.take() { return (element, true, false) }
            if state.isEnded { return (nil, true, false) }
            state.waiters.append((number, continuation))
            return (nil, false, state.backlog.isBehind)
        }
        if isReady { continuation.resume(returning: element) }
        if isBehind { onBehind(self) }
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
        let waiters = state.withLock { state -> [CheckedContinuation<Element?, Never>] in
            defer {
                state.isEnded = true
                state.waiters = []
            }
            return state.waiters.map(\.1)
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
