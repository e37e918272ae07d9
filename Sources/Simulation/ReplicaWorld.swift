import Chat
import Engine
import JSON
import Ports
import Wire

/// A small world around real engines whose log lives elsewhere: an origin that is written to, that
/// loses, forks and forgets, links that break and feeds that lie, caches that fail, gateways that
/// end and start again, and clients that move between them. Time is virtual and every choice is
/// drawn from the seed. One thread; a run owns everything in it.
package final class ReplicaWorld: Workload {
    package let seed: UInt64
    var scenario: ReplicaScenario
    var random: SplitMix64
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    package private(set) var turn = 0
    var origin = Origin()
    let gateways: [Gateway]
    let clients: [Client]
    /// The connections that there are, by the client's place among the clients.
    var connections: [Int: Connection] = [:]
    /// Faults and random deeds have stopped: what is under way comes to its end.
    var isCalm = false
    /// Gets a line for whatever happens, if somebody listens.
    package var trace: ((String) -> Void)?
    /// How often what went wrong.
    package var injected: [Fault: Int] = [:]
    var nextSession: SessionID = 0
    /// The gateway that a client was connected to last.
    var homes: [Int: Int] = [:]
    /// Deltas in frames that were lost with their connection.
    var lostDeltas = 0
    /// What a script holds back.
    var held: Set<Part> = []
    /// How many messages a page of the origin holds at most.
    var clamp = Int.max
    /// What was asked of the origin, oldest first.
    var asked: [HistoryQuery] = []

    /// By which logs are damaged.
    var damageRandom: SplitMix64

    /// Transactions of applications that are under way.
    var transactions: [Transaction] = []
    /// What the transaction that commits now has told; nil while none does.
    var committing: [FeedEvent]?
    /// The primary that another one has replaced, and that goes on answering those who do not know.
    var old: Origin?
    /// How many transactions have committed before one that was begun earlier.
    package var overtaken = 0
    /// How many changes were written to an old primary.
    package var writtenToOld = 0

    /// How long writing takes; nil where nobody rests.
    var pace: Pace?
    var clock: ReadClock

    /// A client's connection: to which gateway, and how it reads.
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

    /// - Parameters:
    ///   - isPaced: whether conversations that are busy rest.
    ///   - isRinging: whether feeds only ring, and what has changed is read.
    ///   - isFar: whether much is said while a gateway is cut off.
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

    /// What the gateways that run have counted since they began.
    package var figures: [Figures] { gateways.compactMap { $0.engine?.report.figures } }

    /// How many answers about lists were given as open, and judged.
    package var openLists: Int { clients.reduce(0) { $0 + $1.shown.judged } }

    /// How often somebody resumed at, or was removed by, a gateway that was so many pages behind.
    package func farBehind(_ pages: Int) -> (resumes: Int, removals: Int) {
        let changes = pages * scenario.sync.page
        return clients.reduce((0, 0)) { sum, client in
            (
                sum.0 + client.behind.count { $0 > changes },
                sum.1 + client.behindWhenRemoved.count { $0 > changes }
            )
        }
    }

    /// How many answers about who takes part were given as open, and judged.
    package var openPeople: Int { clients.reduce(0) { $0 + $1.openPeople } }

    /// How many reads waited while others were read for.
    package var readsThatWaited: Int { gateways.reduce(0) { $0 + $1.fairness.waited } }

    func say(_ line: @autoclosure () -> String) {
        if let trace { trace("\(turn): \(line())") }
    }

    /// Whether something goes wrong now.
    func strikes(_ fault: Fault, _ percent: Int? = nil) -> Bool {
        guard !isCalm, scenario.faults.contains(fault), random.chance(percent ?? scenario.rate)
        else { return false }
        injected[fault, default: 0] += 1
        return true
    }

    // MARK: - A turn

    /// Lets time pass, and everything that happens in it happen, in an order of the seed's.
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
        // Who reads at once is looked at where the gateway says that all is said.
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

    /// Writes to the origin, which tells every gateway that listens.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        perform(operation, by: caller, atOld: false)
    }

    /// - Parameter isOld: it is written to the primary that counts no more.
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

    /// Hands the events of a commit to the links: a feed that only rings does so once for each
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

    /// Hands an event to the links, which may lose it.
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
    /// What lists are told of it.
    /// - Parameter before: who took part, by conversation.
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
