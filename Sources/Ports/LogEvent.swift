/// What the gateway tells its operator: each line of the log, each trouble of health and each
/// notice of the operator's page has one of these codes, which stay as they are. A test compares
/// `events.md` of the reference with this table.
package enum LogEvent: String, Sendable, Hashable, CaseIterable {
    // Start and stop
    case startFailed = "start_failed"
    case listening
    case pageServed = "page_served"
    case pageMissing = "page_missing"
    case descriptorsFew = "descriptors_few"
    case signalIgnored = "signal_ignored"
    case reloaded
    case reloadFailed = "reload_failed"
    case draining
    case stoppingAtOnce = "stopping_at_once"
    case successorListens = "successor_listens"
    case stopped
    // The file of `cache.path`
    case cacheMigrated = "cache_migrated"
    case cacheReplaced = "cache_replaced"
    case cacheDamaged = "cache_damaged"
    case logOlder = "log_older"
    case logAgeUnknown = "log_age_unknown"
    case cacheReadFailed = "cache_read_failed"
    case cacheWriteFailed = "cache_write_failed"
    case checkpointFailed = "checkpoint_failed"
    case tidyingFailed = "tidying_failed"
    case cacheUnwritable = "cache_unwritable"
    case cacheLocked = "cache_locked"
    case cacheChanged = "cache_changed"
    case cacheWritable = "cache_writable"
    // The process
    case loopStalled = "loop_stalled"
    case loopResumed = "loop_resumed"
    case clockJumped = "clock_jumped"
    case descriptorsExhausted = "descriptors_exhausted"
    case descriptorsSufficient = "descriptors_sufficient"
    case certificateExpires = "certificate_expires"
    case certificateExpired = "certificate_expired"
    case logLinesDropped = "log_lines_dropped"
    case logLinesSuppressed = "log_lines_suppressed"
    case libraryWarning = "library_warning"
    case accountingWrong = "accounting_wrong"
    // Requests
    case connectionOpened = "connection_opened"
    case connectionClosed = "connection_closed"
    case requestReceived = "request_received"
    case webSocketRefused = "websocket_refused"
    case apiKeyRefused = "api_key_refused"
    case tracedWriteDone = "traced_write_done"
    case tracedRequestRefused = "traced_request_refused"
    case tracedRequestFailed = "traced_request_failed"
    // The origin and its feed
    case upstreamStateChanged = "upstream_state_changed"
    case feedBroken = "feed_broken"
    case originOffline = "origin_offline"
    case originSyncing = "origin_syncing"
    case gapsOpen = "gaps_open"
    case conversationReset = "conversation_reset"
    case originLostChanges = "origin_lost_changes"
    // What Redis or Postgres does
    case originConnected = "origin_connected"
    case originUnreachable = "origin_unreachable"
    case originLookupFailed = "origin_lookup_failed"
    case originPasswordRefused = "origin_password_refused"
    case originRightMissing = "origin_right_missing"
    case originTLSFailed = "origin_tls_failed"
    case originTooOld = "origin_too_old"
    case originSchemaUnfit = "origin_schema_unfit"
    case originIsReplica = "origin_is_replica"
    case originExchanged = "origin_exchanged"
    case originPoolerBetween = "origin_pooler_between"
    case originLoading = "origin_loading"
    case originBusy = "origin_busy"
    case originClusterDown = "origin_cluster_down"
    case originFull = "origin_full"
    case originOutOfMemory = "origin_out_of_memory"
    case originCannotSave = "origin_cannot_save"
    case originLacksReplicas = "origin_lacks_replicas"
    case originStandbySilent = "origin_standby_silent"
    case originRefuses = "origin_refuses"
    case originSettingsRefused = "origin_settings_refused"
    case originMayEvict = "origin_may_evict"
    case originKeepsNothing = "origin_keeps_nothing"
    case originEmptied = "origin_emptied"
    case originQueueFills = "origin_queue_fills"
    case conversationLocked = "conversation_locked"
    case writeRefused = "write_refused"
    case logDamaged = "log_damaged"
    case logWhole = "log_whole"
    case logForked = "log_forked"
    case listDamaged = "list_damaged"
    case listWhole = "list_whole"
    case feedEventUnreadable = "feed_event_unreadable"
    case disconnectsUnreadable = "disconnects_unreadable"

    /// How urgent it is. Error: to get up for. Warning: to look at in the morning. Info: what the
    /// service does by itself. Debug: for developers.
    package enum Level: String, Sendable, Hashable, CaseIterable {
        case debug, info, warning, error
    }

    /// What a code stands for.
    package struct Row: Sendable {
        package let level: Level
        /// What has happened, in words.
        package let text: String
        /// The names of what a line may say beside it.
        package let fields: [String]
        /// What to do about it; empty if there is nothing to do.
        package let remedy: String

        init(_ level: Level, _ fields: [String], _ text: String, remedy: String = "") {
            self.level = level
            self.fields = fields
            self.text = text
            self.remedy = remedy
        }
    }
}

extension LogEvent {
    /// The fields of what Redis or Postgres does: which of the two, and its words.
    private static let told = ["origin", "notice"]

    package var row: Row {
        switch self {
        case .startFailed:
            Row(
                .error, ["error"],
                "The gateway does not start.",
                remedy:
                    "Do what the error says. gapless checkconfig checks a configuration "
                    + "without a start.")
        case .listening:
            Row(
                .info,
                [
                    "version", "commit", "public", "internal", "upstream", "cache", "auth",
                    "loops",
                ],
                "The gateway listens.")
        case .pageServed:
            Row(
                .info, ["url"],
                "The page is served at this address.")
        case .pageMissing:
            Row(
                .warning, [],
                "The files of the page were not found beside the program: the gateway "
                    + "serves no page.",
                remedy: "Install the files beside the program, or set page.enabled to false.")
        case .descriptorsFew:
            Row(
                .warning, ["limits.connections", "descriptors"],
                "limits.connections is above what the descriptors are enough for.",
                remedy: "Raise LimitNOFILE (ulimit -n), or lower limits.connections.")
        case .signalIgnored:
            Row(
                .info, ["signal"],
                "A signal without a meaning here was ignored.")
        case .reloaded:
            Row(
                .info, ["change"],
                "The configuration was loaded again.")
        case .reloadFailed:
            Row(
                .error, ["error"],
                "The reload failed; the old configuration stays.",
                remedy: "Run gapless checkconfig with the same file, and reload again.")
        case .draining:
            Row(
                .info, ["reason", "connections", "window_ms"],
                "The gateway is stopping: its clients go to its successor.",
                remedy: "Nothing, if somebody stopped it. Otherwise the reason says why it stops.")
        case .stoppingAtOnce:
            Row(
                .info, ["signal"],
                "A second signal came: the gateway stops without waiting for its clients.")
        case .successorListens:
            Row(
                .info, ["listener"],
                "A successor has taken over the port.")
        case .stopped:
            Row(
                .info, [],
                "The gateway has stopped.")
        case .cacheMigrated:
            Row(
                .info, ["path", "from_version", "to_version"],
                "The file was brought to a new version: no earlier version of the program "
                    + "opens it from now on.")
        case .cacheReplaced:
            Row(
                .error, ["put_aside"],
                "The cache was damaged: it was put aside, and is filled anew.",
                remedy:
                    "Nothing is lost. Look at the disk; the file that was put aside may "
                    + "be deleted.")
        case .cacheDamaged:
            Row(
                .error, ["put_aside", "error"],
                "The cache is damaged: the gateway stops, to begin with an empty one.",
                remedy:
                    "Look at the disk of cache.path. Where the file could not be put "
                    + "aside, move it away.")
        case .logOlder:
            Row(
                .warning, ["path", "last_change", "last_told"],
                "An older copy of the log was put in its place: clients read their lists "
                    + "again, and load anew what the file lacks.",
                remedy:
                    "Nothing, if somebody restored a backup. Otherwise find out who put "
                    + "the file there.")
        case .logAgeUnknown:
            Row(
                .info, ["path", "last_change"],
                "Nothing beside the log says whether it is the newest: clients read their "
                    + "lists again, and load anew what the file lacks.")
        case .cacheReadFailed:
            Row(
                .error, ["error"],
                "A read of the file failed.",
                remedy: "Look at the disk of cache.path.")
        case .cacheWriteFailed:
            Row(
                .error, ["error"],
                "A write of the file failed.",
                remedy: "Look at the disk of cache.path.")
        case .checkpointFailed:
            Row(
                .error, ["error"],
                "A checkpoint of the file failed.",
                remedy: "Look at the disk of cache.path.")
        case .tidyingFailed:
            Row(
                .error, ["error"],
                "What is kept too long could not be removed from the file.",
                remedy: "Look at the disk of cache.path.")
        case .cacheUnwritable:
            Row(
                .error, ["path", "error", "for_s"],
                "The file can't be written; the gateway is not ready until it can.",
                remedy:
                    "Look at its disk: full, read-only, or failing. The gateway tries "
                    + "again every second.")
        case .cacheLocked:
            Row(
                .error, ["path", "error", "for_s"],
                "Another process holds a lock on the file; the gateway is not ready until "
                    + "it ends.",
                remedy:
                    "End that process, which fuser -v shows, or what it does. The gateway "
                    + "tries again every second.")
        case .cacheChanged:
            Row(
                .error, ["path", "error", "for_s"],
                "Another program removed, replaced or wrote to the file; the gateway is "
                    + "not ready.",
                remedy:
                    "Find out what did it, and do what the error says in brackets. To "
                    + "restore a backup loses what was acknowledged since it was made.")
        case .cacheWritable:
            Row(
                .info, [],
                "The file can be written again.")
        case .loopStalled:
            Row(
                .error, ["for_s"],
                "The loop stands still: no request is answered, nor health and metrics.",
                remedy:
                    "Look at the disk of cache.path (dmesg; is its file system frozen?). "
                    + "Where the process was stopped, nothing has to be done.")
        case .loopResumed:
            Row(
                .info, ["stood_s"],
                "The loop goes on.")
        case .clockJumped:
            Row(
                .warning, ["by_ms"],
                "The time of day jumped.",
                remedy: "Keep the clock right by NTP: tokens are judged by it.")
        case .descriptorsExhausted:
            Row(
                .error, ["refused", "limit"],
                "Connections are refused: the process has no descriptors left.",
                remedy: "Raise LimitNOFILE (ulimit -n), or lower limits.connections.")
        case .descriptorsSufficient:
            Row(
                .info, [],
                "The descriptors suffice again.")
        case .certificateExpires:
            Row(
                .warning, ["days", "file"],
                "The certificate of TLS expires soon.",
                remedy: "Renew the files of listen.tls, then reload (SIGHUP).")
        case .certificateExpired:
            Row(
                .error, ["days", "file"],
                "The certificate of TLS has expired: clients refuse the connection.",
                remedy: "Renew the files of listen.tls, then reload (SIGHUP).")
        case .logLinesDropped:
            Row(
                .warning, ["count"],
                "Lines of the log were dropped.",
                remedy: "Find out why what reads the log does not.")
        case .logLinesSuppressed:
            Row(
                .warning, ["of", "count"],
                "Lines of one event beyond a hundred a minute were left out.",
                remedy: "Look at the lines of that event.")
        case .libraryWarning:
            Row(
                .warning, ["said"],
                "libwebsockets reports something.",
                remedy: "Look at the network and at TLS; report it where it goes on.")
        case .accountingWrong:
            Row(
                .error, [],
                "The accounting of deltas is out: a fault of the program.",
                remedy: "Keep /books and the log, and report it. The service goes on.")
        case .connectionOpened:
            Row(
                .debug, ["connection", "address"],
                "A connection was accepted.")
        case .connectionClosed:
            Row(
                .debug, ["connection", "user"],
                "A connection has ended.")
        case .requestReceived:
            Row(
                .debug, ["listener", "method", "path", "address"],
                "An HTTP request came.")
        case .webSocketRefused:
            Row(
                .warning, ["reason", "origin", "host", "address"],
                "A page of another origin asked for a WebSocket, and was refused.",
                remedy: "List the page's origin in listen.allowed_origins, if it is yours.")
        case .apiKeyRefused:
            Row(
                .warning, ["address"],
                "A request of the server API came with a key that is not accepted.",
                remedy:
                    "A backend has a key that is not in auth.api_key_file, or somebody "
                    + "tries some: the address says who.")
        case .tracedWriteDone:
            Row(
                .debug, ["traceparent", "method", "conversation", "path", "user", "by"],
                "A write with a trace is done.")
        case .tracedRequestRefused:
            Row(
                .info,
                [
                    "traceparent", "method", "conversation", "path", "user", "by", "code",
                    "reason", "error",
                ],
                "A request with a trace was refused.")
        case .tracedRequestFailed:
            Row(
                .warning,
                [
                    "traceparent", "method", "conversation", "path", "user", "by", "code",
                    "reason", "error",
                ],
                "A request with a trace failed.",
                remedy: "The origin did not do it: look for its own lines.")
        case .upstreamStateChanged:
            Row(
                .info, ["state"],
                "The state of the origin, as clients see it, has changed.")
        case .feedBroken:
            Row(
                .warning, ["generation"],
                "The feed broke; what was missed is fetched when it is back.",
                remedy:
                    "Look at the origin and at the network on the way to it. Clients are "
                    + "told, and get what they miss when it is back.")
        case .originOffline:
            Row(
                .error, [],
                "The origin can't be reached. Clients keep what they hold, and are told "
                    + "that there may be more.",
                remedy:
                    "Look whether the origin runs, and at the network on the way to it. "
                    + "The gateway tries again every second or two, and fetches what was "
                    + "missed.")
        case .originSyncing:
            Row(
                .warning, [],
                "The gateway is catching up with the origin.",
                remedy:
                    "Wait. If it lasts for minutes, look at the open gaps, and at the "
                    + "load of the origin.")
        case .gapsOpen:
            Row(
                .warning, [],
                "Gaps are open: changes that this gateway lacks and fetches.",
                remedy: "Wait. /v1/gaps and the page of operators say what is done about each.")
        case .conversationReset:
            Row(
                .warning, ["conversation", "reason", "subscriptions"],
                "Clients were told to forget a conversation and to load it again.",
                remedy:
                    "The origin was restored, or lost its end. If nobody restored it, "
                    + "look whether its writes are durable.")
        case .originLostChanges:
            Row(
                .warning, ["conversation"],
                "The origin lost changes of a conversation; clients load it again.",
                remedy:
                    "The origin lost what it had acknowledged. Look whether its writes "
                    + "are durable.")
        case .originConnected:
            Row(
                .info, Self.told,
                "A connection to the origin is there again.")
        case .originUnreachable:
            Row(
                .error, Self.told,
                "The origin can't be reached, or does not answer in time.",
                remedy:
                    "Look at the server and its log, at the network on the way to it, and "
                    + "at upstream.redis.url or upstream.postgres.url.")
        case .originLookupFailed:
            Row(
                .warning, Self.told,
                "A sentinel or a node of the cluster can't be asked who the master is.",
                remedy: "Look at that server, and at the network on the way to it.")
        case .originPasswordRefused:
            Row(
                .error, Self.told,
                "The origin does not accept the gateway's user or password.",
                remedy:
                    "Correct user and password in upstream.redis.url or upstream.postgres.url, "
                    + "or upstream.redis.password_file.")
        case .originRightMissing:
            Row(
                .error, Self.told,
                "The user of the gateway lacks a right at the origin.",
                remedy:
                    "Give it the rights that security.md (Redis, by ACL SETUSER) or "
                    + "postgres.md names.")
        case .originTLSFailed:
            Row(
                .error, Self.told,
                "The connection to the origin fails at TLS.",
                remedy:
                    "Compare the certificate of the server with upstream.redis.tls, and "
                    + "look whether the server speaks TLS.")
        case .originTooOld:
            Row(
                .error, Self.told,
                "The origin is of a version that this program does not support.",
                remedy: "Upgrade the server.")
        case .originSchemaUnfit:
            Row(
                .error, Self.told,
                "The schema of the logs is missing, or of another version.",
                remedy: "Run gapless postgres install, or gapless postgres upgrade.")
        case .originIsReplica:
            Row(
                .error, Self.told,
                "The server is a replica or a standby, or takes no writes.",
                remedy:
                    "Name the master, by upstream.redis.url, upstream.redis.sentinels or "
                    + "upstream.postgres.url. Where it is the master, let it take writes.")
        case .originExchanged:
            Row(
                .error, Self.told,
                "Another server, or another start of it, answers than before.",
                remedy:
                    "Nothing, after a failover. Otherwise look which servers the address "
                    + "leads to.")
        case .originPoolerBetween:
            Row(
                .error, Self.told,
                "A pooler between the gateway and Postgres drops notifications.",
                remedy:
                    "Name the server itself in upstream.postgres.url, or let the pooler "
                    + "work by session.")
        case .originLoading:
            Row(
                .error, Self.told,
                "The server starts and reads its file.",
                remedy: "Wait until it is done.")
        case .originBusy:
            Row(
                .error, Self.told,
                "The server runs a script and answers nobody.",
                remedy: "Wait, or end the script that runs (SCRIPT KILL).")
        case .originClusterDown:
            Row(
                .error, Self.told,
                "The cluster has no master for some slots.",
                remedy: "Look at the cluster (CLUSTER INFO).")
        case .originFull:
            Row(
                .error, Self.told,
                "The server takes no more connections.",
                remedy:
                    "Raise its limit (maxclients, max_connections), or end what holds "
                    + "them (CLIENT LIST, pg_stat_activity).")
        case .originOutOfMemory:
            Row(
                .error, Self.told,
                "The server has no memory left, and takes no writes.",
                remedy:
                    "Raise its maxmemory, or keep less (upstream.redis.retain). With "
                    + "Postgres look at the memory of the server.")
        case .originCannotSave:
            Row(
                .error, Self.told,
                "The server can't save what is written, and takes no writes.",
                remedy: "Make room where its files are, and look into its log.")
        case .originLacksReplicas:
            Row(
                .error, Self.told,
                "The server lacks replicas, and takes no writes.",
                remedy: "Bring its replicas back (min-replicas-to-write).")
        case .originStandbySilent:
            Row(
                .error, Self.told,
                "A write is committed, and the standby may not have it.",
                remedy:
                    "Look at the standby of synchronous_standby_names, and at the network "
                    + "on the way to it.")
        case .originRefuses:
            Row(
                .error, Self.told,
                "The server refuses a command.",
                remedy: "Look at the server and its log: the notice has its words.")
        case .originSettingsRefused:
            Row(
                .error, Self.told,
                "Postgres does not take the gateway's limits; applications keep the earlier ones.",
                remedy: "Look at the server and its log: the notice has its words.")
        case .originMayEvict:
            Row(
                .error, Self.told,
                "The server throws logs away when its memory is full.",
                remedy:
                    "Type CONFIG SET maxmemory-policy noeviction, and set it in its "
                    + "configuration.")
        case .originKeepsNothing:
            Row(
                .warning, Self.told,
                "Redis has written nothing to its disk for an hour; a restart loses that.",
                remedy:
                    "Type CONFIG SET appendonly yes, and set it in its configuration. Otherwise "
                    + "keep replicas that outlive it.")
        case .originEmptied:
            Row(
                .error, Self.told,
                "Redis has lost its data; clients forget what they held.",
                remedy: "Restore its backup, and look how its data is kept (appendonly).")
        case .originQueueFills:
            Row(
                .error, Self.told,
                "The notification queue of Postgres fills; when it is full, no write is taken.",
                remedy: "End the session that listens in a long transaction (pg_stat_activity).")
        case .conversationLocked:
            Row(
                .error, Self.told,
                "Another transaction holds a conversation; its writers are refused.",
                remedy: "End that transaction.")
        case .writeRefused:
            Row(
                .error, Self.told,
                "Postgres refuses writes to one conversation.",
                remedy:
                    "Look at the triggers and constraints of your schema: the notice has "
                    + "the SQLSTATE.")
        case .logDamaged:
            Row(
                .error, Self.told,
                "A part of the log of a conversation is damaged at the origin.",
                remedy:
                    "Redis: run gapless repair --conversation ID; where the members are "
                    + "damaged, PUT the conversation with all participants. Postgres: "
                    + "restore its rows, or delete the conversation, which then begins "
                    + "anew.")
        case .logWhole:
            Row(
                .info, Self.told,
                "The log of a conversation is whole again, or gone.")
        case .logForked:
            Row(
                .error, Self.told,
                "The log of a conversation lost its end or has other changes in its "
                    + "place: it got a new epoch.",
                remedy:
                    "The origin lost what it had acknowledged. Look whether its writes "
                    + "are durable.")
        case .listDamaged:
            Row(
                .error, Self.told,
                "A user's list in Redis is damaged; it is put together again from the "
                    + "conversations.",
                remedy:
                    "Wait: the gateway mends it by itself. Find out who removed or wrote the key.")
        case .listWhole:
            Row(
                .info, Self.told,
                "A user's list is whole again.")
        case .feedEventUnreadable:
            Row(
                .warning, Self.told,
                "An event of the feed can't be read; the changes behind it are fetched.",
                remedy:
                    "Run gateways of one version; look who else publishes under "
                    + "upstream.redis.prefix.")
        case .disconnectsUnreadable:
            Row(
                .error, Self.told,
                "The users to disconnect can't be read from Redis.",
                remedy: "Look at the server and its log, and at the rights of the user (XRANGE).")
        }
    }
}
