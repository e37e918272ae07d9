import Chat
import Engine
import JSON
import Ports
import Wire

/// A small world around real engines whose log lives elsewhere: an origin that is written to, and
/// that loses, forks and forgets; links that break and feeds that are wrong; caches that fail;
/// gateways that end and restart; and clients that move between them. Time is virtual and every
/// choice is drawn from the seed. One thread; a run owns everything in it.
package final class ReplicaWorld: Workload {
    let run: Run
    let scenario: ReplicaScenario
    let gateways: [Gateway]
    let backend: Backend
    let connections: Connections
    let shell: GatewayShell
    /// The gateway of each client's last connection.
    private(set) var homes: [Int: Int] = [:]

    var origin: Origin { backend.origin }
    var clients: [Client] { connections.clients }
    var users: [String] { scenario.users }
    var conversations: [String] { scenario.conversations }

    /// - Parameters:
    ///   - isPaced: whether busy conversations are paced.
    ///   - isRinging: whether feeds only notify, so that changes must be read.
    ///   - isFar: whether much is written while a gateway is cut off.
    package convenience init(
        seed: UInt64, without left: Set<Fault> = [], isPaced: Bool = false, isRinging: Bool = false,
        isFar: Bool = false
    ) {
        var random = SplitMix64(seed ^ 0x6D69_7272_6F72)
        var scenario = ReplicaScenario(&random, without: left)
        let pace = isPaced ? Pace(seed: seed) : nil
        if let pace { scenario.limits = pace.limits(scenario.limits) }
        scenario.isRinging = isRinging
        if isFar { scenario.goFar() }
        self.init(seed: seed, scenario, random, pace)
        for (place, client) in clients.enumerated() { client.asksUnread = place % 3 == 1 }
    }

    init(seed: UInt64, _ scenario: ReplicaScenario, _ random: SplitMix64, _ pace: Pace? = nil) {
        run = Run(seed: seed, random, faults: scenario.faults, rate: scenario.rate)
        self.scenario = scenario
        gateways = (0..<scenario.gateways).map {
            Gateway(place: $0, isRinging: scenario.isRinging)
        }
        backend = Backend(run, scenario, gateways)
        connections = Connections(
            run, clients: scenario.load.clients, users: scenario.users, gateways,
            sizes: (scenario.sizes.socket, 65_536))
        connections.oracle = { [backend] in Oracle(origin: backend.origin, isReplica: true) }
        shell = GatewayShell(run, scenario, backend, connections, pace)
        for gateway in gateways { shell.start(gateway) }
    }

    // MARK: - What tests look at

    /// Called with a line for every event.
    package var trace: ((String) -> Void)? {
        get { run.trace }
        set { run.trace = newValue }
    }

    /// How often each fault struck.
    package var injected: [Fault: Int] { run.injected }

    /// How many transactions committed before one that began earlier.
    package var overtaken: Int { backend.overtaken }

    /// How many changes were written to an old primary.
    package var writtenToOld: Int { backend.writtenToOld }

    /// The figures of the running gateways since they started.
    package var figures: [Figures] { gateways.compactMap { $0.engine?.report.figures } }

    /// How many open answers about lists were judged.
    package var openLists: Int { clients.reduce(0) { $0 + $1.shown.judged } }

    /// How often a client resumed at, or was removed by, a gateway that was this many pages behind.
    package func farBehind(_ pages: Int) -> (resumes: Int, removals: Int) {
        let changes = pages * scenario.sync.page
        return clients.reduce((0, 0)) { sum, client in
            (
                sum.0 + client.tally.behind.count { $0 > changes },
                sum.1 + client.tally.behindWhenRemoved.count { $0 > changes }
            )
        }
    }

    /// How many open answers about participants were judged.
    package var openPeople: Int { clients.reduce(0) { $0 + $1.tally.openPeople } }

    /// How many reads waited while other users' were done.
    package var readsThatWaited: Int { gateways.reduce(0) { $0 + $1.fairness.waited } }

    /// Enables damage in this world.
    /// - Parameter looks: whether the origin checks before it answers; otherwise it serves what is
    ///   left, which the oracle must detect.
    package func damages(looks: Bool) { backend.damages(looks: looks) }

    /// Writes to the origin, without a turn.
    @discardableResult
    package func perform(
        _ operation: Operation, by caller: Caller
    ) -> Result<Outcome, RequestError> {
        backend.perform(operation, by: caller)
    }

    // MARK: - A turn

    /// A turn: time passes, and everything due in it happens in random order.
    package func step() throws(Violation) {
        let last = run.now
        run.pass(calm: 200)
        if run.now.milliseconds - last.milliseconds > scenario.sync.linkDeadline {
            for gateway in gateways { gateway.stoodStill() }
        }
        for gateway in gateways { gateway.engine?.tick(at: run.now) }
        backend.tick()
        if !run.isCalm {
            if run.random.chance(scenario.load.writes) { backend.writeAsBackend() }
            act()
            try goWrong()
            backend.damageSomething()
            backend.forkSomething()
        }
        for gateway in run.random.shuffled(gateways) {
            shell.keepLink(gateway)
            for part in run.random.shuffled([0, 1, 2, 3]) {
                switch part {
                case 0: shell.deliverFeed(gateway)
                case 1: try shell.deliverReads(gateway)
                case 2: try shell.deliverFetches(gateway)
                default: shell.write(gateway)
                }
            }
        }
        try connections.readSockets()
        for gateway in gateways {
            try shell.endTurn(gateway)
            try shell.tidy(gateway)
        }
        // A client that reads at once is checked when the gateway has sent everything.
        if run.isCalm || run.random.chance(50) { try connections.readSockets() }
        try checkTurn()
    }

    private func act() {
        for place in clients.indices {
            guard connections.open[place] != nil else {
                if run.random.chance(30) { connect(place) }
                continue
            }
            if run.strikes(.readers) {
                connections.setPace(run.random.pick([0, 40, 700, .max]) ?? .max, of: place)
            }
            guard clients[place].isConnected, run.random.chance(scenario.load.requests) else {
                continue
            }
            for _ in 0..<run.random.number(1...3) {
                if let frame = deed(of: clients[place]) { connections.send(place, frame) }
            }
        }
    }

    private func connect(_ place: Int) {
        guard let gateway = run.random.pick(gateways) else { return }
        if let last = homes[place], last != gateway.place { run.count(.gateways) }
        homes[place] = gateway.place
        connections.connect(place, to: gateway)
    }
}
