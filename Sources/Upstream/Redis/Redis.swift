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

    let scripts: RedisScripts
    let lists: RedisLists
    private let history: RedisHistory
    private let watch: DisconnectWatch
    private let troubles = Troubles()
    let outlet = Outlet()
    let creations = Creations()
    let recordQueues = SerialQueues()
    let enabled = EnabledVersion()
    private let identifiers = Mutex(IdentifierSource())
    private let present: PresentLimits

    /// - Parameters:
    ///   - limits: the limits of the logs' values.
    ///   - notice: called with log lines, on threads of the upstream's own.
    package init(
        _ options: RedisOptions, limits: LogLimits = LogLimits(),
        notice: @escaping @Sendable (UpstreamNotice) -> Void = { _ in }
    ) {
        present = PresentLimits(limits)
        let deliver: @Sendable ([UpstreamOutput]) -> Void = { [outlet] in outlet.deliver($0) }
        watch = DisconnectWatch(options, notice: notice, deliver: deliver)
        let servers = Self.servers(options, troubles, watch, notice: notice, deliver: deliver)
        watch.attach(servers)
        servers.want(.presence, true)
        let mender = ListMender(options, notice: notice)
        mender.attach(servers)
        scripts = RedisScripts(options, servers, troubles, outlet, notice: notice)
        lists = RedisLists(scripts, mender)
        history = RedisHistory(scripts, lists, outlet)
    }

    private static func servers(
        _ options: RedisOptions, _ troubles: Troubles, _ watch: DisconnectWatch,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
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
        scripts.servers.start()
    }

    package func stop() {
        lists.mender.stop()
        scripts.servers.stop()
        history.wholeLists.stop()
        outlet.close()
    }

    package func adopt(_ limits: LogLimits) { present.value = limits }

    /// The present limits of the logs' values.
    var limits: LogLimits { present.value }

    /// Why the upstream is offline or can't write, for health; nil if it is well.
    package var trouble: UpstreamNotice? {
        scripts.servers.trouble ?? troubles.first ?? lists.mender.trouble
    }

    package var faults: UpstreamFaults {
        var faults = troubles.faults
        faults.trouble = trouble
        return faults
    }

    /// When the feed last sent bytes, an event or the answer to a ping; nil before. In a cluster,
    /// that of the feed that is longest silent.
    package var heardAt: ContinuousClock.Instant? { scripts.servers.heardAt }

    // MARK: the feed

    func subscribe(_ conversation: String) {
        scripts.servers.want(.conversation(conversation.id), true)
    }

    func unsubscribe(_ conversation: String) {
        scripts.servers.want(.conversation(conversation.id), false)
    }

    func subscribeList(of user: String) { scripts.servers.want(.list(user.id), true) }

    func unsubscribeList(of user: String) { scripts.servers.want(.list(user.id), false) }

    func publish(_ event: FeedEvent) {
        // Other events are published by the scripts that write.
        guard case .typing(let conversation, let user, let state, let at) = event else { return }
        let told = RedisEvent.typing(user, state, at: at)
        let words = [scripts.options.publishing, scripts.keys.channel(of: conversation), told]
        scripts.servers.send([.words(words)]) { _ in }
    }

    package var reachesOthers: Bool { true }

    func disconnect(_ user: String, mayComeBack: Bool, token: UInt64) {
        watch.tell(user, mayComeBack: mayComeBack) { result in
            let answer = result.flatMap { self.scripts.read($0[0], .disconnect, "") }
            // After any error: a retry is harmless, even if the request was published.
            let fate = answer.map { _ in Outcome.done }.mapError { _ in RequestError.othersNotTold }
            self.outlet.deliver([.performed(token: token, fate)])
        }
    }

    // MARK: writes

    package func submit(_ calls: [UpstreamCall]) {
        scripts.servers.together { take(calls) }
    }

    func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        history.forkEpoch(head, conversation: conversation, token: token)
    }

    func ask(_ query: HistoryQuery, token: UInt64) { history.ask(query, token: token) }

    func newID() -> String { identifiers.withLock { $0.next(at: Embedded.systemTime()) } }
}

extension RequestError {
    static let othersNotTold = RequestError(
        .othersNotTold, "the origin can't be told, and so not every gateway")
    /// Says that the origin was reached, so that nobody looks at the network.
    static let gatewayRefused = RequestError(
        .originRefusesGateway, "the origin refuses the gateway: its user lacks a right")
    static let refusedForNow = RequestError(
        .originRefuses, "the origin refuses it for now")
    static let unreadable = RequestError(.storedUnreadable, "what is stored can't be read")
}
