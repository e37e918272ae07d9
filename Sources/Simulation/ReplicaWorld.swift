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
    package let seed: UInt64
    var scenario: ReplicaScenario
    var random: SplitMix64
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    package private(set) var turn = 0
    var origin = Origin()
    let gateways: [Gateway]
    let clients: [Client]
    /// The open connections, by the client's index.
    var connections: [Int: Connection] = [:]
    /// Faults and random actions have stopped: what is in flight is completed.
    var isCalm = false
    /// Called with a line for every event.
    package var trace: ((String) -> Void)?
    /// How often each fault struck.
    package var injected: [Fault: Int] = [:]
    var nextSession: SessionID = 0
    /// The gateway of each client's last connection.
    var homes: [Int: Int] = [:]
    /// Deltas in frames lost with their connection.
    var lostDeltas = 0
    /// The parts that a script holds back.
    var held: Set<Part> = []
    /// The most messages in a page of the origin.
    var clamp = Int.max
    /// The questions to the origin, oldest first.
    var asked: [HistoryQuery] = []

    /// The random source of damage.
    var damageRandom: SplitMix64

    /// The applications' open transactions.
    var transactions: [Transaction] = []
    /// The events of the transaction that is committing; nil if none is.
    var committing: [FeedEvent]?
    /// The primary that was replaced, and still answers gateways that have not noticed.
    var old: Origin?
    /// How many transactions committed before one that began earlier.
    package var overtaken = 0
    /// How many changes were written to an old primary.
    package var writtenToOld = 0

    /// The time that writes take; nil without pacing.
    var pace: Pace?
    var clock: ReadClock

    /// A client's connection: its gateway, and how it reads.
    struct Connection {
        let gateway: Int
        let session: SessionID
        var socket: Socket
        var line = Line()
        var pace: Int
        var deadline: Int?
    }

    var users: [String] { scenario.users }
    var conversations: [String] { scenario.conversations }
    var connected: [Int] {
        connections.keys.sorted().filter { connections[$0]?.deadline == nil }
    }

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
        self.init(seed: seed, scenario, random)
        self.pace = pace
        for (place, client) in clients.enumerated() { client.asksUnread = place % 3 == 1 }
    }

    init(seed: UInt64, _ scenario: ReplicaScenario, _ random: SplitMix64) {
        self.seed = seed
        self.random = random
        self.scenario = scenario
        clock = ReadClock(seed: seed)
        damageRandom = SplitMix64(seed ^ 0x6461_6D61_6765)
        gateways = (0..<scenario.gateways).map {
            Gateway(place: $0, isRinging: scenario.isRinging)
        }
        clients = (0..<scenario.clients).map { place in
            Client(name: "client \(place)", user: scenario.users[place % scenario.users.count])
        }
        origin.retained = scenario.faults.contains(.floors) ? scenario.kept : 0
        for gateway in gateways { start(gateway) }
    }

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

    func say(_ line: @autoclosure () -> String) {
        if let trace { trace("\(turn): \(line())") }
    }

    /// Whether the fault strikes now.
    func strikes(_ fault: Fault, _ percent: Int? = nil) -> Bool {
        guard !isCalm, scenario.faults.contains(fault), random.chance(percent ?? scenario.rate)
        else { return false }
        injected[fault, default: 0] += 1
        return true
    }

    // MARK: - A turn

    /// A turn: time passes, and everything due in it happens in random order.
    package func step() throws(Violation) {
        turn += 1
        now.milliseconds += Int64(isCalm ? 200 : random.chance(2) ? 20_000 : random.number(1...400))
        origin.now = now
        old?.now = now
        for gateway in gateways { gateway.engine?.tick(at: now) }
        if scenario.isRinging {
            transact()
            keepOldPrimary()
        }
        if !isCalm {
            if random.chance(scenario.writes) { writeAsBackend() }
            act()
            try goWrong()
            damageSomething()
        }
        for gateway in random.shuffled(gateways) {
            keepLink(gateway)
            for part in random.shuffled([0, 1, 2, 3]) {
                switch part {
                case 0: deliverFeed(gateway)
                case 1: try deliverReads(gateway)
                case 2: try deliverFetches(gateway)
                default: write(gateway)
                }
            }
        }
        try readSockets()
        for gateway in gateways { try endTurn(gateway) }
        // A client that reads at once is checked when the gateway has sent everything.
        if isCalm || random.chance(50) { try readSockets() }
        try checkTurn()
    }

    private func act() {
        for place in clients.indices {
            guard connections[place] != nil else {
                if random.chance(30) { connect(place) }
                continue
            }
            if strikes(.readers) {
                connections[place]?.pace = random.pick([0, 40, 700, .max]) ?? .max
            }
            guard clients[place].isConnected, random.chance(scenario.requests) else { continue }
            for _ in 0..<random.number(1...3) {
                if let frame = deed(of: clients[place]) { send(place, frame) }
            }
        }
    }

    // MARK: - Writes

    /// Writes to the origin, which notifies every gateway that listens.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        perform(operation, by: caller, atOld: false)
    }

    /// - Parameter isOld: whether to write to the primary that was replaced.
    @discardableResult
    func perform(
        _ operation: Operation, by caller: Caller, atOld isOld: Bool
    ) -> Result<Outcome, RequestError> {
        if !isOld, committing == nil, isLocked(operation) { return .failure(.originUnavailable) }
        let node = isOld ? old ?? origin : origin
        let before = Dictionary(
            uniqueKeysWithValues: conversations.map { id in
                (id, Set(node.log(id)?.record().participants ?? []))
            })
        let floors = floors
        let performed =
            isOld
            ? performAtOld(operation, by: caller) : origin.perform(operation, by: caller)
        if self.floors > floors { injected[.floors, default: 0] += 1 }
        say("commit \(origin.commit): \(operation.line) \(performed.events.count) events")
        if committing == nil {
            tell(performed.events, ofOld: isOld)
        } else {
            committing? += performed.events
        }
        for event in performed.events.flatMap({ $0.listed(before) }) { tell(event, ofOld: isOld) }
        return performed.result
    }

    private var floors: Int { conversations.reduce(0) { $0 + (origin.log($1)?.floor ?? 0) } }

    /// Passes the events of a commit to the links; a feed that only notifies does so once for each
    /// conversation.
    func tell(_ events: [FeedEvent], ofOld isOld: Bool) {
        var rung: Set<String> = []
        for event in events {
            let conversation = RemoteLink.Output.event(event).conversation
            if scenario.isRinging, let conversation, !rung.insert(conversation).inserted {
                continue
            }
            tell(event, ofOld: isOld)
        }
    }

    /// Passes an event to the links, which may lose it.
    private func tell(_ event: FeedEvent, ofOld isOld: Bool) {
        for gateway in gateways where gateway.isWithOld == isOld && gateway.link.hears(event) {
            let conversation = RemoteLink.Output.event(event).conversation
            if let conversation, strikes(.drops) {
                say("gateway \(gateway.place) loses \(event.line)")
                gateway.losses[conversation] = Gateway.Loss(turn: turn)
                continue
            }
            gateway.link.tell(event)
            if conversation == nil { continue }
            if strikes(.duplicates) { gateway.link.tell(event) }
            if strikes(.reorders) { gateway.link.swapLast() }
        }
    }
}

extension FeedEvent {
    /// The events of lists that follow from it.
    /// - Parameter before: the earlier participants, by conversation.
    fileprivate func listed(_ before: [String: Set<String>]) -> [FeedEvent] {
        switch self {
        case .record(let record, _, let removed, _, _):
            let old = before[record.id] ?? []
            return record.participants.filter { !old.contains($0) }
                .map { .listed(user: $0, conversation: record.id, isIn: true) }
                + removed.map { .listed(user: $0, conversation: record.id, isIn: false) }
        case .deleted(let id, _, let participants):
            return participants.map { .listed(user: $0, conversation: id, isIn: false) }
        case .message, .read, .listed, .typing: return []
        }
    }
}
