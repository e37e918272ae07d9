import Dispatch
import JSON
import Ports
import Postgres
import Rules
import Synchronization
import Wire

/// The listening connection and its thread. A generation begins when the server acknowledges
/// `LISTEN`; it ends when the connection breaks, is silent beyond the deadline, or its server no
/// longer counts. The thread waits for this connection only.
// Safety: `ended` is atomic, and what else `let` holds is Sendable; the rest is touched on `queue`
// alone, which is serial and so the listener's own thread.
final class PostgresListener: @unchecked Sendable {
    /// Probes per deadline: with four, a connection that breaks was known to be alive at most half
    /// a second before.
    private static let probes = 4

    private let options: PostgresOptions
    private let pool: PostgresPool
    private let links: PostgresLinks
    private let troubles: Troubles
    private let feed: PostgresFeed
    private let signals: PostgresSignals
    private let notice: @Sendable (UpstreamNotice) -> Void
    /// Called when the links' state may have changed.
    private let report: @Sendable () -> Void
    private let queue = DispatchQueue(label: "gapless.postgres.feed", qos: .userInitiated)
    private let wakeup = Wakeup()
    private let ended = Atomic(false)
    /// What has not yet shown that the listener hears others; nil: it does.
    private var proof: PostgresProof?
    /// Whether the limits in the database are outdated.
    private let isSettingDue = Atomic(true)
    /// When to write the limits again, after a refusal.
    private var settingAgainAt: ContinuousClock.Instant?
    private let limits: @Sendable () -> LogLimits

    init(
        _ options: PostgresOptions, _ pool: PostgresPool, _ links: PostgresLinks,
        _ troubles: Troubles, _ feed: PostgresFeed, _ signals: PostgresSignals,
        limits: @escaping @Sendable () -> LogLimits,
        notice: @escaping @Sendable (UpstreamNotice) -> Void,
        report: @escaping @Sendable () -> Void
    ) {
        self.limits = limits
        self.options = options
        self.pool = pool
        self.links = links
        self.troubles = troubles
        self.feed = feed
        self.signals = signals
        self.notice = notice
        self.report = report
    }

    func start() { queue.async { self.run() } }

    /// Returns when nothing more will be delivered.
    func stop() {
        ended.store(true, ordering: .relaxed)
        wakeup.wake()
        queue.sync {}
    }

    /// Wakes the thread to look at the links' state.
    func look() { wakeup.wake() }

    /// The limits have changed.
    func adopt() {
        isSettingDue.store(true, ordering: .relaxed)
        look()
    }

    // MARK: on the thread

    private var isEnded: Bool { ended.load(ordering: .relaxed) }

    private func run() {
        var backoff = Backoff(
            base: options.backoffBase, limit: min(options.backoffMax, Backoff.longest))
        while !isEnded {
            do throws(PostgresError) {
                try serve { backoff.succeeded() }
            } catch {
                lost(error)
            }
            let until = ContinuousClock.now + backoff.failed()
            while !isEnded, ContinuousClock.now < until {
                _ = Wakeup.poll(nil, writing: false, wakeup, until: until)
            }
        }
        links.feedClosed()
        _ = troubles.isOver("feed")
    }

    private func lost(_ error: PostgresError) {
        links.feedClosed()
        if let line = troubles.line("feed", UpstreamNotice(error)) { notice(line) }
        feed.closed()
        report()
    }

    /// Connects and listens until the connection breaks, or the server is no longer the right one.
    private func serve(opened: () -> Void) throws(PostgresError) {
        let (session, host) = try PostgresSession.newest(options) { isEnded }
        let connection = session.connection
        _ = try connection.exchange(
            [session.channel, session.signals].map { .init("listen \(Schema.quoted($0))") },
            until: .now + options.deadline)
        links.chose(session.identity, at: host)
        pool.wakeAll()
        proof = try prove(session)
        isSettingDue.store(true, ordering: .relaxed)
        links.feedHeard()
        let generation = links.feedOpened(session.identity)
        if troubles.isOver("feed") {
            notice(UpstreamNotice(.originConnected, "the feed comes from \(connection.server)"))
        }
        feed.opened(generation, place: session.place)
        signals.listens(in: generation)
        opened()
        report()
        try listen(session)
    }

    private func listen(_ session: PostgresSession) throws(PostgresError) {
        let connection = session.connection
        // When the newest answered probe was sent.
        var provenAt = ContinuousClock.now
        var sentAt: ContinuousClock.Instant?
        while !isEnded {
            report()
            if let rejection = links.rejection { throw rejection }
            if let again = settingAgainAt, again <= .now { adopt() }
            // An exchange takes the next answer, which is not to be that of a probe.
            if sentAt == nil, isSettingDue.exchange(false, ordering: .relaxed) { try set(session) }
            try proveAgain(session)
            let now = ContinuousClock.now
            if sentAt == nil, now >= provenAt + options.deadline / (2 * Self.probes) {
                try connection.send([Self.probe])
                sentAt = now
            }
            let isWriting = try connection.flush()
            let ready = Wakeup.poll(
                connection.descriptor, writing: isWriting, wakeup,
                until: min(provenAt + options.deadline, now + options.deadline / Self.probes))
            if ready.isReadable {
                let answers = try connection.receive()
                links.feedHeard()
                for case .success(let results) in answers { try check(results, session) }
                if !answers.isEmpty, let sent = sentAt {
                    provenAt = sent
                    sentAt = nil
                    feed.noteAlive(at: sent)
                } else {
                    // Any byte is a sign of life.
                    provenAt = max(provenAt, now)
                }
                take(connection.notifications(), session)
            }
            guard ContinuousClock.now < provenAt + options.deadline else {
                throw PostgresError(
                    .deadline, doing: "listen to", on: connection.server,
                    seen: "no answer to a probe", detail: "\(options.deadline)")
            }
        }
    }

    /// Writes the limits that the database's functions for applications enforce.
    private func set(_ session: PostgresSession) throws(PostgresError) {
        settingAgainAt = nil
        let limits = limits()
        var json = JSONWriter()
        json.beginObject()
        json.member("limits.message", int: limits.message)
        json.member("limits.record", int: limits.record)
        json.member("limits.unknown_fields", int: limits.unknownFields)
        json.member("limits.participants", int: limits.participants)
        json.member("limits.admins", int: limits.admins)
        json.member("limits.reaction_keys", int: limits.reactionKeys)
        json.member("limits.mentions", int: limits.mentions)
        json.member("limits.reactions", int: limits.reactions)
        json.member("retain_ids", int: Int(options.retainIds))
        json.endObject()
        // The feed must not wait for it: neither for a standby nor for another gateway that writes
        // them. They are written anew with each connection.
        let hasty = """
            select set_config('synchronous_commit', 'off', true), \
            set_config('lock_timeout', '100ms', true)
            """
        let statement = "select \(Schema.quoted(options.schema)).gateway_settings($1::json)"
        do throws(PostgresError) {
            _ = try session.connection.exchange(
                [.init(hasty), .init(statement, [json.bytes])], until: .now + options.deadline)
            _ = troubles.isOver("settings")
        } catch {
            // The feed still works; applications keep the earlier limits.
            guard error.code == .refused else { throw error }
            settingAgainAt = .now + options.deadline
            let told = UpstreamNotice(.originSettingsRefused, error.description)
            if let line = troubles.line("settings", told) { notice(line) }
        }
    }

    private func take(_ notifications: [PostgresNotification], _ session: PostgresSession) {
        var rung: [ID] = []
        var seen: Set<ID> = []
        for notification in notifications {
            if notification.channel == session.channel {
                let id = notification.payload.id
                if seen.insert(id).inserted { rung.append(id) }
            } else if notification.payload == proof?.nonce {
                proof = nil
            } else if notification.channel == session.signals {
                signals.heard(notification.payload)
            }
        }
        if !rung.isEmpty { feed.noteDoorbells(rung) }
    }

    // MARK: poolers

    /// Its answer shows whether another process of the server answers now.
    private static let probe = PostgresConnection.Statement("select pg_backend_pid()")

    private func check(
        _ results: [PostgresResult], _ session: PostgresSession
    ) throws(PostgresError) {
        guard results.first?.text(0, 0) == "\(session.process)" else {
            throw PostgresError.pooler(session.connection.server)
        }
    }

    /// Checks that a notification from another connection arrives while this one is idle.
    /// - Returns: nil; or what can't be sent for now, so that nobody's notification can be.
    /// - Throws: `PostgresError.pooler`, if it was sent and does not arrive.
    private func prove(_ session: PostgresSession) throws(PostgresError) -> PostgresProof? {
        let connection = session.connection
        let proof = PostgresProof(pool) { [wakeup] in wakeup.wake() }
        let deadline = ContinuousClock.now + options.deadline
        while ContinuousClock.now < deadline, !isEnded, proof.failedAt == nil {
            _ = Wakeup.poll(
                connection.descriptor, writing: false, wakeup,
                until: min(deadline, .now + .milliseconds(100)))
            _ = try connection.receive()
            guard connection.notifications().contains(where: { $0.payload == proof.nonce })
            else { continue }
            // It may have arrived by chance, in a transaction of this question.
            try check(try connection.exchange([Self.probe], until: deadline), session)
            return nil
        }
        guard proof.sentAt == nil else { throw PostgresError.pooler(connection.server) }
        return proof
    }

    /// Sends what is still to be shown again, once it failed some time ago.
    /// - Throws: `PostgresError.pooler`, if it was sent and does not arrive.
    private func proveAgain(_ session: PostgresSession) throws(PostgresError) {
        if let sent = proof?.sentAt, sent + options.deadline < .now {
            throw PostgresError.pooler(session.connection.server)
        }
        if let failed = proof?.failedAt, failed + options.deadline * 2 < .now {
            proof = PostgresProof(pool) { [wakeup] in wakeup.wake() }
        }
    }
}

extension PostgresError {
    /// Each transaction runs in another process of the server.
    static func pooler(_ server: String) -> PostgresError {
        PostgresError(
            .pooler, doing: "listen to", on: server,
            seen: "notifications are lost: a pooler in transaction mode stands before the server",
            detail: "upstream.postgres.url must lead to the server itself, or to a pool in session"
                + " mode")
    }
}
