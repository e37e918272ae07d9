import Dispatch
import Ports
import Synchronization
import Wire

/// Commands of one call on their way through a cluster: each goes to the node that owns its slot,
/// those for one node together, and the replies come back in the order of the commands. What a node
/// refuses because the slot is elsewhere was not done, and goes again when the map has had time to
/// follow, until the deadline. Any thread; it lives as long as something of it is on its way.
final class RedisScatter: Sendable {
    /// How long to wait until a slot that moved is known to be where it is: some round trips.
    private static let pause = Duration.milliseconds(20)

    fileprivate struct State {
        var replies: [RedisReply]
        /// Parts that are on their way.
        var open = 0
        /// What is to go again, and to whom if not to the owner.
        var again: [(at: Int, address: RedisOptions.Address?)] = []
        var failure: RequestError?
    }

    private let commands: [RedisCommand]
    private let cluster: RedisCluster
    private let deadline: ContinuousClock.Instant
    private let then: CommandLink.Completion
    /// Whose operation it is of.
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

    /// Sends those, each to the address, if there is one, or to the owner of its slot.
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
                    // The answers to ASKING itself say nothing.
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

    /// All that was sent has been answered.
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
        // Of several reasons the one counts that leaves the fate open.
        if failure == nil || error == .fateUnknown { failure = error }
    }

    fileprivate mutating func take(_ reply: RedisReply, at place: Int, _ command: RedisCommand) {
        switch (reply.redirection?.kind, reply.errorCode) {
        // What tells the feed waits until the listeners are where it would be told.
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
