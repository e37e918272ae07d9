import Configuration
import Engine
import Rules

/// Translates the configuration into the engine's options; the engine does not know the
/// configuration.
extension SyncOptions {
    /// Reads the configuration.
    init(_ sync: Configuration.Sync, keepsAll: Bool) {
        self.init()
        page = sync.page
        pages = sync.pages
        concurrency = sync.concurrency
        backoffBase = sync.backoffBase
        backoffMax = sync.backoffMax
        gapGrace = sync.gapGrace
        linger = sync.linger
        wait = sync.wait
        verifyInterval = sync.verifyInterval
        trimAfter = keepsAll ? nil : Self.writtenBetweenTrims
    }

    /// A search for rows to trim costs more than keeping some of them longer.
    private static let writtenBetweenTrims = 500
}

extension LogLimits {
    /// The limits that the configuration sets.
    init(_ limits: Configuration.Limits) {
        self.init()
        message = limits.message
        record = limits.record
        unknownFields = limits.unknownFields
        participants = limits.participants
        admins = limits.admins
        conversationsPerUser = limits.conversationsPerUser
    }
}

extension ClientPolicy {
    /// The policy from the configuration. Without `clients.create`: in open mode users choose their
    /// own names and may choose any id; with tokens, only ids of their own.
    init(_ configuration: Configuration) {
        self.init()
        let clients = configuration.clients
        create = clients.create ?? (configuration.auth.mode == .open ? .any : .own)
        sends = clients.send == .yes
        edits = clients.edit == .yes
    }
}

extension Limits {
    /// The limits that the configuration sets.
    init(_ configuration: Configuration) {
        self.init()
        let limits = configuration.limits
        pacing = configuration.fanout.pacing
        writeSlice.loops = WorkerLoops.count(configuration.fanout.loops)
        // Each loop writes its own sockets.
        writeSlice.budget *= WorkerLoops.count(configuration.fanout.loops)
        journal.bytes = configuration.journal.bytes
        journal.age = configuration.journal.age
        subscriptions = limits.subscriptions
        connections = limits.connections
        connectionsPerUser = limits.connectionsPerUser
        connectionsPerAddress = limits.connectionsPerAddress
        log = LogLimits(limits)
        clients = ClientPolicy(configuration)
        reply = limits.reply
        inboundFrame = limits.inboundFrame
        outboxSoft = limits.outboxSoft
        outboxHard = limits.outboxHard
        requestsPerSecond = limits.requestsPerSecond
        bytesPerSecond = limits.bytesPerSecond
        connectTimeout = limits.connectTimeout
        pingInterval = limits.pingInterval
        pongTimeout = limits.pongTimeout
        shown = ConfigurationKey.all.filter { $0.section == "limits" }.compactMap { key in
            key.number(configuration).map { (String(key.shortName), $0) }
        }
    }
}
