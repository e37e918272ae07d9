import Chat
import Crypto
import Ports
import Rules
import Synchronization
import Wire

/// Redis as the upstream: it orders, stores and distributes the logs, shared by any number of
/// gateways. `RedisScript` describes the stored form. A write is decided either in the script that
/// writes, or here, on what a script has read; then the writing script checks that this still
/// holds. Numbering is dense; the feed loses nothing while its link lives, and a dead link is
/// noticed within `RedisOptions.deadline`. If Redis loses an acknowledged write, the log's marks
/// show it. Any thread may call it.
package final class Redis: SharedOrigin {
    /// The value of `upstream.kind`.
    package static let kind = "redis"
    package var kind: String { Self.kind }

    /// How often a write is decided again because another writer was faster. Changes of one record
    /// or message are rare; losing so often is a fault.
    static let tryLimit = 32

    let options: RedisOptions
    let keys: RedisKeys
    let servers: any RedisServers
    private let watch: DisconnectWatch
    private let troubles = Troubles()
    let outlet = Outlet()
    let creations = Creations()
    let rosters = Rosters()
    let lists: ListMender
    let recordQueues = SerialQueues()
    /// Reads of whole member lists.
    let rosterQueues = SerialQueues()
    private let notice: @Sendable (RedisNotice) -> Void
    private let identifiers = Mutex(IdentifierSource())
    private let present: PresentLimits

    /// - Parameters:
    ///   - limits: the limits of the logs' values.
    ///   - notice: called with log lines, on threads of the upstream's own.
    package init(
        _ options: RedisOptions, limits: LogLimits = LogLimits(),
        notice: @escaping @Sendable (RedisNotice) -> Void = { _ in }
    ) {
        self.options = options
        present = PresentLimits(limits)
        self.notice = notice
        keys = RedisKeys(options)
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
        let listener = FeedLink.Listener(notice: notice, deliver: deliver) {
            state.report { links.isOnline && watch.isCurrent() }
        }
        return RedisShard(options, master: master, links: links, watch, listener)
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

    /// The present limits of the logs' values.
    var limits: LogLimits { present.value }

    /// Why the upstream is offline or can't write, for health; nil if it is well.
    package var trouble: String? { servers.trouble ?? troubles.first ?? lists.trouble }

    package var faults: UpstreamFaults {
        var faults = troubles.faults
        faults.trouble = trouble
        return faults
    }

    /// When the feed last sent bytes, an event or the answer to a ping; nil before. In a cluster,
    /// that of the feed that is longest silent.
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
        // Other events are published by the scripts that write.
        guard case .typing(let conversation, let user, let state, let at) = event else { return }
        let told = RedisEvent.typing(user, state, at: at)
        let words = [publishing, keys.channel(of: conversation), told]
        servers.send([.words(words)]) { _ in }
    }

    package var reachesOthers: Bool { true }

    package func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {
        watch.tell(user, mayComeBack: mayComeBack) { result in
            let answer = result.flatMap { self.read($0[0], .disconnect, "") }
            // After any error: a retry is harmless, even if the request was published.
            let fate = answer.map { _ in Outcome.done }.mapError { _ in RequestError.othersNotTold }
            self.outlet.deliver([.performed(token: token, fate)])
        }
    }

    /// The command that publishes an event.
    var publishing: [UInt8] { options.publishing }

    // MARK: writes

    package func submit(_ calls: [UpstreamCall]) { take(calls) }

    /// A question in flight: its topics, and the generation in which it was asked.
    struct Question: Sendable {
        let token: UInt64
        let topics: [RedisTopic]
        let generation: Int
    }

    /// Starts a question, before its first command is sent.
    func question(_ token: UInt64, about topics: [RedisTopic]) -> Question {
        Question(token: token, topics: topics, generation: generation(of: topics))
    }

    func answer(_ question: Question, _ result: Result<HistoryAnswer, RequestError>) {
        // If the generation changed between question and answer, the answer belongs to none.
        let isProven = question.generation == generation(of: question.topics)
        let generation = isProven ? question.generation : 0
        outlet.deliver([.answered(token: question.token, generation: generation, result)])
    }

    /// The present generation of all topics; 0 if they don't share one.
    private func generation(of topics: [RedisTopic]) -> Int {
        let generations = Set(topics.map(servers.generation(of:)))
        return generations.count == 1 ? generations.first ?? 0 : 0
    }

    func newID() -> String { identifiers.withLock { $0.next(at: Embedded.systemTime()) } }

    package func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        let question = question(token, about: [.conversation(conversation.id)])
        // A mark that is not hexadecimal is not ours; the log does not have it.
        let mark = Hexadecimal.bytes(head.mark) ?? Array(head.mark.utf8)
        let texts = [head.epoch, String(head.rev)].map { Array($0.utf8) }
        run(.forkEpoch, of: conversation, texts + [mark, Array(Random.hex(8).utf8)]) { result in
            let heads = result.flatMap { answer -> Result<HistoryAnswer, RequestError> in
                guard let head = Head(answer[1]) else { return .failure(.unreadable) }
                if let reason = answer[2].string.flatMap(NewEpochReason.init) {
                    self.gave(conversation, reason)
                }
                return .success(.heads([conversation.id: head]))
            }
            self.answer(question, heads)
        }
    }

    /// Records that this gateway gave a log a new epoch.
    private func gave(_ conversation: String, _ reason: NewEpochReason) {
        troubles.gave(reason)
        let text = "gave the log of conversation \(conversation) a new epoch: \(reason.rawValue)"
        notice(RedisNotice(.error, text))
    }

    // MARK: scripts

    /// A script's reply: a word, and what comes with it.
    struct Answer {
        let word: String
        let parts: [RedisReply]

        subscript(at: Int) -> RedisReply { at < parts.count ? parts[at] : .none }
    }

    /// Runs a script of one conversation; `then` is called on the link's thread.
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

    /// Reads a reply: handles errors, `absent` and `damaged`, which are the same for all scripts.
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
            if script.shows(answer), troubles.damagedLogs.remove(conversation) {
                let text = "the log of conversation \(conversation) is whole again"
                notice(RedisNotice(.info, text))
                outlet.deliver([.damaged(conversation: conversation, part: nil)])
            }
            if script.isWrite { troubles.takesWrites() } else { troubles.takesReads() }
            return .success(answer)
        }
    }

    private func refused(
        _ reply: RedisReply, _ code: String, _ script: RedisScript
    ) -> RequestError {
        let text = "run \(script.rawValue) on Redis: \(reply.refusal ?? code)"
        if script.isWrite {
            say(text)
        } else if let line = troubles.refusedRead(text) {
            notice(RedisNotice(.error, line))
        }
        if script.isWrite { troubles.refused(RefusedWrite(rawValue: code.lowercased()) ?? .other) }
        switch code {
        case "OOM", "MISCONF", "NOREPLICAS": return .writesRefused
        case "READONLY", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN":
            return .originUnavailable
        case "NOPERM", "NOAUTH": return .gatewayRefused
        // The types of all other keys are checked before they are used.
        case "WRONGTYPE": return .damagedKey
        default:
            return .unreadable
        }
    }

    /// Logs a problem with writes, without repeats.
    func say(_ text: String) {
        if let line = troubles.line("writes", text) { notice(RedisNotice(.error, line)) }
    }
}

extension RequestError {
    static let othersNotTold = RequestError(
        .originUnavailable, "the origin can't be told, and so not every gateway", retry: .later)
    /// Says that the origin was reached, so that nobody looks at the network.
    static let gatewayRefused = RequestError(
        .originUnavailable, "the origin refuses the gateway: its user lacks a right",
        retry: .later)
    static let unreadable = RequestError(.internal, "what is stored can't be read")
}
