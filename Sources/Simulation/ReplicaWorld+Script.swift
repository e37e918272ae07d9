import Chat
import Engine
import JSON
import Ports
import Wire

/// A world that follows a script instead of a seed: nothing is random, everything arrives at once
/// unless the script holds it back, and the oracle still judges every frame. For regression tests,
/// each with one scenario.
extension ReplicaWorld {
    package typealias Part = Script.Part

    /// A client's state of a conversation.
    package struct Held: Sendable, Equatable {
        package var asOf: Int
        package var runs: Coverage
        package var isOpen: Bool
        package var isSubscribed: Bool

        package init(asOf: Int, runs: Coverage, isOpen: Bool = false, isSubscribed: Bool = true) {
            self.asOf = asOf
            self.runs = runs
            self.isOpen = isOpen
            self.isSubscribed = isSubscribed
        }
    }

    /// With a client for each user.
    package convenience init(
        _ users: [String], gateways: Int = 1, sync: SyncOptions = SyncOptions(),
        limits: Limits = Limits(), socket: Int = 1 << 30, isRinging: Bool = false
    ) {
        var scenario = ReplicaScenario(
            users, conversations: ["c1", "c2"], gateways: gateways, sync: sync)
        scenario.limits = limits
        scenario.sizes.socket = socket
        scenario.isRinging = isRinging
        self.init(seed: 0, scenario, SplitMix64(0))
        run.isCalm = true
    }

    // MARK: - Events

    /// Runs some turns of 200 ms each.
    package func pass(_ turns: Int = 8) throws(Violation) {
        for _ in 0..<turns { try step() }
    }

    /// One turn of a gateway and of its sockets, in no time: what waits for a later turn waits, so
    /// that other things may come before it. An answer to a write comes before its event.
    package func turn(of gateway: Int = 0) throws(Violation) {
        let gateway = gateways[gateway]
        shell.deliverFeed(gateway)
        shell.write(gateway)
        try shell.endTurn(gateway, most: 1)
        try connections.readSockets()
    }

    /// The gateways' processes stand still, as under SIGSTOP.
    package func standStill(_ milliseconds: Int64) { run.standStill(milliseconds) }

    package func hold(_ parts: Part...) { shell.script.held.formUnion(parts) }

    package func release(_ parts: Part...) throws(Violation) {
        shell.script.held.subtract(parts)
        try pass()
    }

    /// Delivers one of the answers held back.
    package func answerOnce() throws(Violation) {
        shell.script.held.remove(.answers)
        try step()
        shell.script.held.insert(.answers)
        try pass()
    }

    /// Delivers one output of each feed that is held back.
    package func hearOnce() throws(Violation) {
        shell.script.held.remove(.feed)
        shell.script.feed = 1
        try step()
        shell.script.feed = .max
        shell.script.held.insert(.feed)
    }

    /// The origin acknowledges a write of the server API to the gateway.
    package func noteWritten(_ written: Written, _ gateway: Int = 0) {
        gateways[gateway].engine?.noteSent(
            token: 1 << 63, .success(.messages([], at: written, isNew: true)))
    }

    /// Limits the origin's answers to this many messages.
    package func clamp(to count: Int) { shell.script.clamp = count }

    /// The origin keeps this many messages of each conversation.
    package func retain(_ count: Int) { backend.origin.retained = count }

    /// Caches keep this many messages of each conversation.
    package func trim(to count: Int) {
        for gateway in gateways { gateway.store.retained = count }
    }

    /// Writes to the origin as the backend.
    package func write(_ operations: Operation...) throws(Violation) {
        for operation in operations { perform(operation, by: .server) }
        try pass()
    }

    /// Writes to the origin as a user.
    package func write(_ operation: Operation, by user: String) throws(Violation) {
        perform(operation, by: .user(user))
        try pass()
    }

    package func say(_ count: Int = 1, to conversation: String = "c1") throws(Violation) {
        for _ in 0..<count {
            let message = NewMessage(
                author: users[0], content: MessageContent(body: "message \(origin.commit)"))
            perform(.send(conversation: conversation, [message]), by: .server)
        }
        try pass()
    }

    /// Has the backend send a message, without a turn.
    package func sayUnheard(_ body: String, to conversation: String = "c1") {
        let message = NewMessage(author: users[0], content: MessageContent(body: body))
        perform(.send(conversation: conversation, [message]), by: .server)
    }

    /// Has a client send a message, without a turn.
    package func send(_ client: Int, _ body: String, to conversation: String = "c1") {
        connections.send(
            client,
            clients[client].call("sendMessage", conversation) { $0.member("body", string: body) })
    }

    /// Has a client delete the message with this seq, without a turn.
    package func delete(_ client: Int, _ seq: Int, of conversation: String = "c1") {
        guard let id = origin.log(conversation)?.message(seq).id else { return }
        connections.send(
            client,
            clients[client].call("deleteMessage", conversation) { $0.member("id", string: id) })
    }

    /// Has a client ask for a page, without a turn.
    package func ask(_ client: Int, _ page: PageRequest, of conversation: String = "c1") {
        connections.send(client, clients[client].fetch(conversation, page))
    }

    /// Edits or deletes the message with this seq.
    package func change(
        _ seq: Int, deleting: Bool = false, of conversation: String = "c1"
    ) throws(Violation) {
        guard let id = origin.log(conversation)?.message(seq).id else { return }
        let caller = Caller.user(users[0])
        if deleting {
            perform(.delete(conversation: conversation, id: id), by: caller)
        } else {
            let edit = MessageEdit(body: "edited \(origin.commit)")
            perform(.edit(conversation: conversation, id: id, edit), by: caller)
        }
        try pass()
    }

    /// The link breaks, and the gateway notices; it does not return while `.link` is held.
    package func cut(_ gateway: Int = 0) throws(Violation) {
        gateways[gateway].link.die()
        gateways[gateway].link.notice()
        try pass()
    }

    /// Failover: another master takes over without the newest changes, and every link breaks.
    package func failOver(losing count: Int, of conversation: String = "c1") {
        backend.origin.lose(count, of: conversation)
        for gateway in gateways {
            gateway.link.die()
            gateway.link.notice()
        }
    }

    /// Rewinds the log without breaking a link.
    package func windBack(by count: Int, of conversation: String = "c1") {
        backend.origin.lose(count, of: conversation)
        backend.lose(conversation)
    }

    /// The origin keeps only the marks of the newest changes.
    package func forgetMarks(butFor count: Int, of conversation: String = "c1") {
        backend.origin.forgetMarks(butFor: count, of: conversation)
    }

    /// The feed silently loses its pending outputs.
    package func loseFeed(_ gateway: Int = 0, _ conversation: String = "c1") {
        _ = gateways[gateway].link.deliver(.max)
        backend.lose(conversation)
    }

    /// The origin reports a damaged part of the log to the gateway.
    package func damage(_ part: String, of conversation: String = "c1", _ gateway: Int = 0) {
        gateways[gateway].engine?.damaged(conversation, part, at: run.now)
    }

    /// The gateway's process ends and restarts with its cache.
    package func restart(_ gateway: Int = 0) throws(Violation) {
        try shell.stop(gateways[gateway])
        shell.start(gateways[gateway])
        try pass()
    }

    // MARK: - Clients

    package func join(_ client: Int, gateway: Int = 0) throws(Violation) {
        connections.connect(client, to: gateways[gateway])
        try pass()
    }

    package func leave(_ client: Int) throws(Violation) { try connections.disconnect(client) }

    package func subscribe(
        _ client: Int, resuming: Bool = false, limit: Int = 100, to conversation: String = "c1"
    ) throws(Violation) {
        connections.send(
            client, clients[client].subscribe(conversation, resuming: resuming, limit: limit))
        try pass()
    }

    /// The client watches its list, which must be right when everything has settled.
    package func watch(_ client: Int) throws(Violation) {
        connections.send(client, clients[client].watch())
        try pass()
    }

    /// - Returns: the reply, also if the client watches its list already.
    package func rewatch(_ client: Int) throws(Violation) -> JSONObject? {
        try watch(client)
        return clients[client].reply
    }

    /// - Parameter goesOn: whether to continue after the last page.
    /// - Returns: the reply.
    package func fetchConversations(
        _ client: Int, limit: Int? = nil, goesOn: Bool = false
    ) throws(Violation) -> JSONObject? {
        connections.send(client, clients[client].fetchConversations(limit: limit, goesOn: goesOn))
        try pass()
        return clients[client].reply
    }

    package func fetch(
        _ client: Int, _ page: PageRequest, of conversation: String = "c1"
    ) throws(Violation) {
        connections.send(client, clients[client].fetch(conversation, page))
        try pass()
    }

    /// - Returns: the reply.
    package func fetchConversation(
        _ client: Int, _ conversation: String = "c1"
    ) throws(Violation) -> JSONObject? {
        connections.send(client, clients[client].fetchConversation(conversation))
        try pass()
        return clients[client].reply
    }

    /// - Returns: the reply.
    package func fetchParticipants(
        _ client: Int, _ range: ParticipantsRequest = ParticipantsRequest(order: .asc)
    ) throws(Violation) -> JSONObject? {
        connections.send(client, clients[client].fetchParticipants("c1", range))
        try pass()
        return clients[client].reply
    }

    /// The client reads nothing from its socket, or everything.
    package func stall(_ client: Int, _ isStalled: Bool = true) throws(Violation) {
        connections.setPace(isStalled ? 0 : .max, of: client)
        try pass()
    }

    package func held(by client: Int, of conversation: String = "c1") -> Held {
        let holding = clients[client].holdings[conversation] ?? Holding()
        return Held(
            asOf: holding.asOf, runs: holding.runs, isOpen: clients[client].isOpen(conversation),
            isSubscribed: holding.isSubscribed)
    }

    /// How many deltas the client received in events.
    package func deltas(to client: Int) -> Int { clients[client].tally.deltas }

    /// Whether every request of the client was answered.
    package func isAnswered(_ client: Int) -> Bool { clients[client].asked.isEmpty }

    /// The head of the conversation's present log.
    package func head(of conversation: String = "c1") -> Head? { origin.log(conversation)?.head }

    package func openGaps(_ gateway: Int = 0) -> [OpenGap] {
        gateways[gateway].engine?.report.openGaps() ?? []
    }

    /// The explanation of a message of `c1` from a gateway's journal.
    package func explain(_ seq: Int, _ gateway: Int = 0) -> Explanation? {
        let question = Explanation.Question(conversation: "c1", seq: seq, id: nil, user: nil)
        return gateways[gateway].engine?.report.explain(question, at: run.now)
    }

    /// The questions to the origin since the last call.
    package func questions() -> [HistoryQuery] {
        defer { shell.script.asked = [] }
        return shell.script.asked
    }

    /// Releases everything, and runs until all clients are whole.
    /// - Throws: `Violation` if one is not.
    package func settle() throws(Violation) {
        shell.script.held = []
        shell.script.clamp = .max
        try rest()
    }
}
