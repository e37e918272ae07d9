import Chat
import Crypto
import Ports
import Rules
import Synchronization
import Wire

/// Redis as the upstream: it orders, keeps and distributes the logs, and any number of gateways
/// share it. What a log is there is written at `RedisScript`; what may be written is decided either
/// in the script that writes or here, upon what a script has read, and then the writing script
/// looks whether that still stands. Numbering is dense; the feed loses nothing while its link
/// lives, and a dead link is noticed within `RedisOptions.deadline`. An acknowledged write can be
/// lost when Redis itself loses it, which the marks of the log tell. Any thread may call it.
package final class Redis: SharedOrigin {
    /// The word of the configuration.
    package static let kind = "redis"
    package var kind: String { Self.kind }

    /// How often a decision is made anew because somebody else was faster. Changes of one record or
    /// one message are rare; who loses that often meets a fault.
    static let tryLimit = 32

    let options: RedisOptions
    let keys: RedisKeys
    let servers: any RedisServers
    private let watch: DisconnectWatch
    private let troubles: Troubles
    let outlet = Outlet()
    let creations = Creations()
    let rosters = Rosters()
    let lists: ListMender
    let recordQueues = SerialQueues()
    /// Readings of all who take part.
    let rosterQueues = SerialQueues()
    private let notice: @Sendable (RedisNotice) -> Void
    private let identifiers = Mutex(IdentifierSource())
    private let present: PresentLimits

    /// - Parameters:
    ///   - limits: what the values of the logs may take.
    ///   - notice: called with lines for the log, on threads of the upstream's own.
    package init(
        _ options: RedisOptions, limits: LogLimits = LogLimits(),
        notice: @escaping @Sendable (RedisNotice) -> Void = { _ in }
    ) {
        self.options = options
        present = PresentLimits(limits)
        self.notice = notice
        keys = RedisKeys(options)
        let troubles = Troubles()
        self.troubles = troubles
        let deliver: @Sendable ([UpstreamOutput]) -> Void = { [outlet] in outlet.deliver($0) }
        watch = DisconnectWatch(options, notice: notice, deliver: deliver)
        lists = ListMender(options, notice: notice)
        servers = Self.servers(options, troubles, watch, notice: notice, deliver: deliver)
        watch.attach(servers)
        lists.attach(servers)
    }

    private static func servers(
        _ options: RedisOptions, _ troubles: Troubles, _ watch: DisconnectWatch,
        notice: @escaping @Sendable (RedisNotice) -> Void,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void
    ) -> any RedisServers {
        if options.isCluster {
            return RedisCluster(options, troubles, watch, notice: notice, deliver: deliver)
        }
        let master: any MasterSource =
            options.sentinels.isEmpty
            ? FixedMaster(address: options.address) : Sentinels(options, notice: notice)
        let links = LinkPair(Generations(), troubles)
        let state = StateReport(deliver: deliver)
        return RedisShard(
            options, master: master, links: links, watch, notice: notice, deliver: deliver,
            report: { state.report { links.isOnline && watch.isCurrent() } })
    }

    package func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void) {
        outlet.open(deliver)
        servers.start()
    }

    package func stop() {
        lists.stop()
        servers.stop()
        outlet.close()
    }

    package func adopt(_ limits: LogLimits) { present.value = limits }

    /// What the values of the logs may take.
    var limits: LogLimits { present.value }

    /// What keeps the upstream from being online or from writing, for health; nil if nothing does.
    package var trouble: String? { servers.trouble ?? troubles.first ?? lists.trouble }

    package var faults: UpstreamFaults {
        var faults = troubles.faults
        faults.trouble = trouble
        return faults
    }

    /// When the feed was last heard, be it an event or the answer to a ping; nil until then. In a
    /// cluster it is the feed that is longest silent.
    package var heardAt: ContinuousClock.Instant? { servers.heardAt }

    // MARK: the feed

    package func subscribe(_ conversation: String) {
        servers.want(.conversation(conversation.id), true)
    }

    package func unsubscribe(_ conversation: String) {
        servers.want(.conversation(conversation.id), false)
    }

    package func subscribeList(of user: String) { servers.want(.list(user.id), true) }

    package func unsubscribeList(of user: String) { servers.want(.list(user.id), false) }

    package func publish(_ event: FeedEvent) {
        // All else is told by the script that writes it.
        guard case .typing(let conversation, let user, let state, let at) = event else { return }
        let told = RedisEvent.typing(user, state, at: at)
        let words = [publishing, keys.channel(of: conversation), told]
        servers.send([.words(words)]) { _ in }
    }

    package var reachesOthers: Bool { true }

    package func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {
        watch.tell(user, mayComeBack: mayComeBack) { result in
            let answer = result.flatMap { self.read($0[0], .disconnect, "") }
            // Whatever was in the way: it may be tried again, and does no harm if it was told.
            let fate = answer.map { _ in Outcome.done }.mapError { _ in RequestError.othersNotTold }
            self.outlet.deliver([.performed(token: token, fate)])
        }
    }

    /// The command with which an event is told.
    var publishing: [UInt8] { options.publishing }

    // MARK: writes

    package func submit(_ calls: [UpstreamCall]) { take(calls) }

    /// A question on its way: what it is about, and in which generation it was asked.
    struct Question: Sendable {
        let token: UInt64
        let topics: [RedisTopic]
        let generation: Int
    }

    /// A question begins, before anything of it is sent.
    func question(_ token: UInt64, about topics: [RedisTopic]) -> Question {
        Question(token: token, topics: topics, generation: generation(of: topics))
    }

    func answer(_ question: Question, _ result: Result<HistoryAnswer, RequestError>) {
        // What was asked in one generation and answered in another was read in no certain one.
        let isProven = question.generation == generation(of: question.topics)
        let generation = isProven ? question.generation : 0
        outlet.deliver([.answered(token: question.token, generation: generation, result)])
    }

    /// The generation under way of all of them, 0 if it is not one.
    private func generation(of topics: [RedisTopic]) -> Int {
        let generations = Set(topics.map(servers.generation(of:)))
        return generations.count == 1 ? generations.first ?? 0 : 0
    }

    func newID() -> String { identifiers.withLock { $0.next(at: Embedded.systemTime()) } }

    package func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        let question = question(token, about: [.conversation(conversation.id)])
        // A mark that is none of ours is one that the log has not.
        let mark = Hexadecimal.bytes(head.mark) ?? Array(head.mark.utf8)
        let texts = [head.epoch, String(head.rev)].map { Array($0.utf8) }
        run(.forkEpoch, of: conversation, texts + [mark, Array(Random.hex(8).utf8)]) { result in
            let heads = result.flatMap { answer -> Result<HistoryAnswer, RequestError> in
                guard let head = Head(answer[1]) else { return .failure(.unreadable) }
                if let reason = answer[2].string.flatMap(NewEpochReason.init) {
                    self.gave(conversation, reason)
                }
                return .success(.heads([conversation: head]))
            }
            self.answer(question, heads)
        }
    }

    /// A log has a new epoch from us.
    private func gave(_ conversation: String, _ reason: NewEpochReason) {
        troubles.gave(reason)
        let text = "gave the log of conversation \(conversation) a new epoch: \(reason.rawValue)"
        notice(RedisNotice(.error, text))
    }

    // MARK: scripts

    /// What a script said: a word, and what comes with it.
    struct Answer {
        let word: String
        let parts: [RedisReply]

        subscript(at: Int) -> RedisReply { at < parts.count ? parts[at] : .none }
    }

    /// Runs a script of one conversation; what comes next is called on the link's thread.
    func run(
        _ script: RedisScript, of conversation: String, _ arguments: [[UInt8]],
        then: @escaping @Sendable (Result<Answer, RequestError>) -> Void
    ) {
        servers.send([command(script, of: conversation, arguments)]) { result in
            then(result.flatMap { self.read($0[0], script, conversation) })
        }
    }

    func command(
        _ script: RedisScript, of conversation: String, _ arguments: [[UInt8]]
    ) -> RedisCommand {
        var all = arguments
        if script.tells {
            all = [publishing, keys.channel(of: conversation)] + arguments
        }
        return .script(script, keys: keys.keys(of: conversation), arguments: all)
    }

    /// What a reply comes to, for all that is the same whatever was asked.
    func read(
        _ reply: RedisReply, _ script: RedisScript, _ conversation: String
    ) -> Result<Answer, RequestError> {
        if let code = reply.errorCode { return .failure(refused(reply, code, script)) }
        let answer = Answer(word: reply.elements.first?.string ?? "", parts: reply.elements)
        switch answer.word {
        case "absent": return .failure(.noConversation)
        case "damaged":
            let part = answer[1].string?.split(separator: ":").last.map(String.init) ?? "key"
            if let text = troubles.damagedLogs.add(conversation, part) {
                notice(RedisNotice(.error, text))
            }
            outlet.deliver([.damaged(conversation: conversation, part: part)])
            return .failure(.damaged(part))
        default:
            if troubles.damagedLogs.remove(conversation) {
                let text = "the log of conversation \(conversation) is whole again"
                notice(RedisNotice(.info, text))
                outlet.deliver([.damaged(conversation: conversation, part: nil)])
            }
            if script.isWrite { troubles.takesWrites() }
            return .success(answer)
        }
    }

    private func refused(
        _ reply: RedisReply, _ code: String, _ script: RedisScript
    ) -> RequestError {
        say("run \(script.rawValue) on Redis: \(reply.refusal ?? code)")
        if script.isWrite { troubles.refused(RefusedWrite(rawValue: code.lowercased()) ?? .other) }
        switch code {
        case "OOM", "MISCONF", "NOREPLICAS": return .writesRefused
        case "READONLY", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN":
            return .originUnavailable
        case "NOPERM", "NOAUTH": return .gatewayRefused
        // All other keys are looked at before they are used.
        case "WRONGTYPE": return .damagedKey
        default:
            return .unreadable
        }
    }

    /// Says it to the log, but not the same again.
    func say(_ text: String) {
        if let line = troubles.line("writes", text) { notice(RedisNotice(.error, line)) }
    }
}

extension RequestError {
    static let othersNotTold = RequestError(
        .originUnavailable, "the origin can't be told, and so not every gateway", retry: .later)
    /// It is reached, so that nobody looks at the network.
    static let gatewayRefused = RequestError(
        .originUnavailable, "the origin refuses the gateway: its user lacks a right",
        retry: .later)
    static let unreadable = RequestError(.internal, "what is stored can't be read")
}
