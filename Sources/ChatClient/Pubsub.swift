import ClientCore
import Synchronization

/// The state of the connection, for those who want to be called: `isConnected`, `onConnect`,
/// `onDisconnect`. Handlers run one after the other on a task of their own, on any thread, in the
/// order of what happened.
public final class Pubsub: Sendable {
    private struct State {
        var isConnected = false
        var onConnect: [@Sendable () -> Void] = []
        var onDisconnect: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ runner: Runner) {
        let queue = UpdateQueue<ConnectionState> {}
        runner.post { _ = $0.listenToState(queue) }
        let task = Task { [weak self] in
            while let state = await queue.next() { self?.take(state) }
        }
        self.task.withLock { $0 = task }
    }

    func end() { task.withLock { $0?.cancel() } }

    /// Whether there is a session: requests can be made, and events come.
    public var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Has a handler called each time that a session begins.
    public func onConnect(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onConnect.append(handler) }
    }

    /// Has a handler called each time that a session ends.
    public func onDisconnect(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onDisconnect.append(handler) }
    }

    private func take(_ connection: ConnectionState) {
        let handlers = state.withLock { state -> [@Sendable () -> Void] in
            guard connection.isLive != state.isConnected else { return [] }
            state.isConnected = connection.isLive
            return connection.isLive ? state.onConnect : state.onDisconnect
        }
        for handler in handlers { handler() }
    }
}
