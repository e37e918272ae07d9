import ClientCore
import Synchronization

/// The state of the connection, for those who want to be called: `isConnected`, `onConnect`,
/// `onDisconnect`. Handlers run one after the other, in the order of what happened: where they
/// belong if they are made on an actor, otherwise on any thread.
public final class Pubsub: Sendable {
    /// Called where it belongs: one that is made on the main actor, there.
    public typealias Handler = @isolated(any) @Sendable () async -> Void

    /// A handler that was added, to be removed again. It stays when this goes.
    public struct Registration: Sendable {
        let pubsub: Pubsub
        let number: Int

        /// Has it called no more.
        public func cancel() {
            pubsub.state.withLock { $0.handlers.removeAll { $0.number == number } }
        }
    }

    private struct State {
        /// What the handlers were told last.
        var wasConnected = false
        var handlers: [(number: Int, onConnect: Bool, call: Handler)] = []
        var nextNumber = 0
    }

    private let runner: Runner
    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ runner: Runner) {
        self.runner = runner
        let queue = UpdateQueue<ConnectionState> { queue in
            runner.post { if queue.isBehind { queue.fill([$0.present.state]) } }
        }
        runner.post { _ = $0.listenToState(queue) }
        let task = Task { [weak self] in
            while let state = await queue.next() { await self?.take(state) }
        }
        self.task.withLock { $0 = task }
    }

    func end() { task.withLock { $0?.cancel() } }

    /// Whether there is a session: requests can be made, and events come.
    public var isConnected: Bool { runner.isLive }

    /// Has a handler called each time that a session begins.
    @discardableResult
    public func onConnect(
        @_inheritActorContext _ handler: @escaping Handler
    ) -> Registration {
        add(handler, onConnect: true)
    }

    /// Has a handler called each time that a session ends.
    @discardableResult
    public func onDisconnect(
        @_inheritActorContext _ handler: @escaping Handler
    ) -> Registration {
        add(handler, onConnect: false)
    }

    private func add(_ handler: @escaping Handler, onConnect: Bool) -> Registration {
        let number = state.withLock { state in
            state.nextNumber += 1
            state.handlers.append((state.nextNumber, onConnect, handler))
            return state.nextNumber
        }
        return Registration(pubsub: self, number: number)
    }

    private func take(_ connection: ConnectionState) async {
        let handlers = state.withLock { state -> [Handler] in
            guard connection.isLive != state.wasConnected else { return [] }
            state.wasConnected = connection.isLive
            return state.handlers.filter { $0.onConnect == connection.isLive }.map(\.call)
        }
        for handler in handlers { await handler() }
    }
}
