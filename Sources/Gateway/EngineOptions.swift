import Configuration
import Engine
import Rules

/// The engine's options, where they follow from several keys of the configuration.
extension Configuration {
    /// How replicas follow their logs.
    var syncOptions: SyncOptions {
        var options = sync
        options.trimAfter = cache.keepsAll ? nil : Self.writtenBetweenTrims
        return options
    }

    /// A search for rows to trim costs more than keeping some of them longer.
    private static let writtenBetweenTrims = 500

    var engineLimits: Limits {
        var limits = limits
        limits.pacing = fanout.pacing
        limits.writeSlice.loops = WorkerLoops.count(fanout.loops)
        // Each loop writes its own sockets.
        limits.writeSlice.budget *= limits.writeSlice.loops
        limits.journal = journal
        limits.clients = policy
        limits.presence = presence
        limits.shown = ConfigurationKey.all.filter { $0.section == "limits" }.compactMap { key in
            key.number(self).map { ShownLimit(name: String(key.shortName), value: $0) }
        }
        return limits
    }

    /// Without `clients.create`: in open mode users choose their own names and may choose any id;
    /// with tokens, only ids of their own.
    private var policy: ClientPolicy {
        var policy = ClientPolicy()
        policy.create = clients.create ?? (auth.mode == .open ? .any : .own)
        policy.sends = clients.send == .yes
        policy.edits = clients.edit == .yes
        policy.reacts = clients.react == .yes
        policy.presence = clients.presence == .yes
        policy.mentionsAll = clients.mentionAll
        return policy
    }
}
