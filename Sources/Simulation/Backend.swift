import Chat
import Engine
import Ports
import Wire

/// The other side of a world of replicas: the origin, with the applications that write to it in
/// transactions and the primary that was replaced, and what of its events reaches the links.
final class Backend: BackendWorkload {
    let run: Run
    let scenario: ReplicaScenario
    let gateways: [Gateway]
    var origin = Origin()
    /// The applications' open transactions.
    var transactions: [Transaction] = []
    /// The events of the transaction that is committing; nil if none is.
    var committing: [FeedEvent]?
    /// The primary that was replaced, and still answers gateways that have not noticed.
    var old: Origin?
    /// How many primaries went on alone.
    var replacements = 0
    /// How many transactions committed before one that began earlier.
    var overtaken = 0
    /// How many changes were written to an old primary.
    var writtenToOld = 0
    /// The random sources of damage and of forks.
    var damageRandom: SplitMix64
    var forkRandom: SplitMix64

    var users: [String] { scenario.users }
    var conversations: [String] { scenario.conversations }

    init(_ run: Run, _ scenario: ReplicaScenario, _ gateways: [Gateway]) {
        self.run = run
        self.scenario = scenario
        self.gateways = gateways
        damageRandom = SplitMix64(run.seed ^ 0x6461_6D61_6765)
        forkRandom = SplitMix64(run.seed ^ 0x666F_726B)
        origin.retained = scenario.faults.contains(.floors) ? scenario.sizes.kept : 0
    }

    /// Time has passed.
    func tick() {
        origin.now = run.now
        old?.now = run.now
        guard scenario.isRinging else { return }
        transact()
        keepOldPrimary()
    }

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
        if self.floors > floors { run.count(.floors) }
        run.say("commit \(origin.commit): \(operation.line) \(performed.events.count) events")
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
            if let conversation, run.strikes(.drops) {
                run.say("gateway \(gateway.place) loses \(event.line)")
                gateway.losses[conversation] = Gateway.Loss(turn: run.turn)
                continue
            }
            gateway.link.tell(event)
            if conversation == nil { continue }
            if run.strikes(.duplicates) { gateway.link.tell(event) }
            if run.strikes(.reorders) { gateway.link.swapLast() }
        }
    }

    // MARK: - Losses

    /// The conversation changes without any feed reporting it.
    func lose(_ conversation: String) {
        for gateway in gateways where gateway.link.acknowledged.contains(conversation) {
            gateway.losses[conversation] = Gateway.Loss(turn: run.turn)
        }
    }

    func loseNewest() {
        for conversation in conversations {
            origin.lose(run.random.upTo(run.random.pick([1, 2, 10]) ?? 1), of: conversation)
        }
    }

    func cut(_ gateway: Gateway) {
        run.say("gateway \(gateway.place) loses its link")
        gateway.link.die()
        if run.random.chance(50) { gateway.link.notice() }
    }
}

extension FeedEvent {
    /// The events of lists that follow from it.
    /// - Parameter before: the earlier participants, by conversation.
    fileprivate func listed(_ before: [String: Set<String>]) -> [FeedEvent] {
        switch self {
        case .record(let record, _, let removed, _, _, _):
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
