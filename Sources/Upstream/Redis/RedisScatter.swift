import Dispatch
import Ports
import Synchronization
import Wire

/// The commands of one call in a cluster: each goes to the node that owns its slot, those for one
/// node together, and the replies come back in the order of the commands. A command that a node
/// redirects was not executed, and is sent again until the deadline, once the map had time to
/// follow. Any thread; it lives as long as a command of it is in flight.
final class RedisScatter: Sendable {
    /// The wait for the map to follow a slot that moved: some round trips.
    private static let pause = Duration.milliseconds(20)

    fileprivate struct State {
        var replies: [RedisReply]
        /// Parts in flight.
        var open = 0
        /// Commands to send again, and the address if it is not the owner's.
        var again: [(at: Int, address: RedisOptions.Address?)] = []
        var failure: RequestError?
    }

    private let commands: [RedisCommand]
    private let cluster: RedisCluster
    private let deadline: ContinuousClock.Instant
    private let then: CommandLink.Completion
    /// The user whose operation it is.
    private let payer = Payer.current
    private let state: Mutex<State>

    init(
        _ commands: [RedisCommand], _ cluster: RedisCluster, then: @escaping CommandLink.Completion
    ) {
        self.commands = commands
        self.cluster = cluster
        self.then = then
        deadline = .now + cluster.options.deadline
        state = Mutex(State(replies: Array(repeating: .none, count: commands.count)))
    }

    func begin() {
        guard !commands.isEmpty else { return then(.success([])) }
        go(commands.indices.map { ($0, nil) })
    }

    /// Sends these commands, each to its address, if it has one, or to the owner of its slot.
    private func go(_ places: [(at: Int, address: RedisOptions.Address?)]) {
        let servers = cluster.snapshot()
        var parts: [ObjectIdentifier: (shard: RedisShard, places: [(at: Int, isAsking: Bool)])] =
            [:]
        var homeless: [Int] = []
        for place in places {
            let owner = commands[place.at].slot.flatMap { servers.owner(of: $0) }
            let shard = place.address.map { servers.shards[$0] } ?? owner
            guard let shard else {
                homeless.append(place.at)
                continue
            }
            parts[ObjectIdentifier(shard), default: (shard, [])].places
                .append((place.at, place.address != nil))
        }
        state.withLock { state in
            state.open = parts.count
            state.again = homeless.map { ($0, nil) }
        }
        guard !parts.isEmpty else { return arrived() }
        for part in parts.values { send(part.places, to: part.shard) }
    }

    private func send(_ places: [(at: Int, isAsking: Bool)], to shard: RedisShard) {
        let sent = places.flatMap { place in
            place.isAsking ? [.asking, commands[place.at]] : [commands[place.at]]
        }
        shard.send(sent) { result in
            let isLast = self.state.withLock { state in
                switch result {
                case .failure(let error): state.fail(error)
                case .success(let replies):
                    // Skip the replies to `ASKING` itself.
                    let meant = zip(sent, replies).filter { !$0.0.isAsking }.map { $0.1 }
                    for (place, reply) in zip(places, meant) {
                        state.take(reply, at: place.at, self.commands[place.at])
                    }
                }
                state.open -= 1
                return state.open == 0
            }
            if isLast { self.arrived() }
        }
    }

    /// All commands sent are answered.
    private func arrived() {
        let state = state.withLock { $0 }
        if let failure = state.failure { return then(.failure(failure)) }
        guard !state.again.isEmpty else { return then(.success(state.replies)) }
        guard ContinuousClock.now < deadline else { return then(.failure(.originUnavailable)) }
        if state.again.allSatisfy({ $0.address != nil }) { return go(state.again) }
        guard cluster.waiting.add(1, ordering: .relaxed).oldValue < CommandQueue.jobLimit else {
            cluster.waiting.subtract(1, ordering: .relaxed)
            return then(.failure(.tooManyWaiting))
        }
        cluster.topology.refresh()
        cluster.queue.asyncAfter(deadline: .now() + Self.pause.dispatched) {
            self.cluster.waiting.subtract(1, ordering: .relaxed)
            Payer.$current.withValue(self.payer) { self.go(state.again) }
        }
    }
}

extension RedisScatter.State {
    fileprivate mutating func fail(_ error: RequestError) {
        // If several fail, an unknown result takes precedence.
        if failure == nil || error == .fateUnknown { failure = error }
    }

    fileprivate mutating func take(_ reply: RedisReply, at place: Int, _ command: RedisCommand) {
        switch (reply.redirection?.kind, reply.errorCode) {
        // Commands that publish wait until the subscribers are at the node that would publish.
        case (.ask, _) where !command.tells:
            again.append((place, reply.redirection?.address))
        case (.some, _), (_, "TRYAGAIN"): again.append((place, nil))
        default: replies[place] = reply
        }
    }
}

extension Duration {
    /// For libdispatch.
    fileprivate var dispatched: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        return .milliseconds(Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}
