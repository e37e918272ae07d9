import Engine
import Rules

/// The keys, in the order of `protocol.md` 8.
extension ConfigurationKey {
    package static let all: [ConfigurationKey] =
        listen + auth + clients + cache + upstream + postgres + sync + limits + presence + fanout
        + operation

    private static let second: Milliseconds = 1000
    private static let hour: Milliseconds = 3600 * second
    private static let kibi = 1 << 10
    private static let mebi = 1 << 20

    private static let listen: [ConfigurationKey] = [
        .init(
            "listen.public", \.listen.public, .address,
            "Where clients and backends connect: /v1/ws, the server API, the page."),
        .init(
            "listen.internal", \.listen.internal, .address,
            "Where health and metrics are served. It has no authentication: keep it inside."),
        .init(
            "listen.internal_hosts", \.listen.internalHosts, .list(.host), reloads: true,
            "Names, beside localhost and addresses, under which a browser may reach /, /explain,"
                + " /events and /books of the internal listener."),
        .init(
            "listen.internal_password_file", \.listen.internalPasswordFile, .optional(.path),
            reloads: true,
            "What /, /explain and /events of the internal listener ask for by HTTP basic: a"
                + " password, or user:password, a line. Without it they are there on loopback only."
        ),
        .init(
            "listen.allowed_origins", \.listen.allowedOrigins, .list(.origin), reloads: true,
            "Web origins, beside its own, whose pages may connect. A request without an Origin"
                + " header does not come from a page, and is not held to this."),
        .init(
            "listen.tls.certificate", \.listen.tls.certificate, .optional(.path),
            "The certificate chain of the public listener, a PEM file. A reload reads the file"
                + " again; nobody who is connected is dropped."),
        .init(
            "listen.tls.key", \.listen.tls.key, .optional(.path),
            "The private key of the certificate, a PEM file. A reload reads it with the"
                + " certificate."),
    ]

    private static let auth: [ConfigurationKey] = [
        .init(
            "auth.mode", \.auth.mode, .choice,
            "Who may connect. open: everybody, under the name that they give; jwt: holders of a"
                + " token. open is refused on an address that other machines can reach."),
        .init(
            "auth.allow_insecure", \.auth.allowInsecure, .flag,
            "Allows auth.mode open on every address."),
        .init(
            "auth.api_key_file", \.auth.apiKeyFile, .optional(.path), reloads: true,
            "The keys of the server API, one a line, 16 bytes or more each; several, so that they"
                + " can be rotated. Without it the server API is closed."),
        .init(
            "auth.jwt.algorithms", \.auth.jwt.algorithms, .list(.choice), reloads: true,
            "The algorithms of tokens. Empty: each one that a key given here is bound to."),
        .init(
            "auth.jwt.secret_file", \.auth.jwt.secretFile, .optional(.path), reloads: true,
            "The secret of HS256 tokens, 32 bytes or more; line ends behind it are ignored."),
        .init(
            "auth.jwt.public_key_file", \.auth.jwt.publicKeyFile, .optional(.path), reloads: true,
            "A public key, a PEM file: RSA (RS256), EC P-256 (ES256) or Ed25519 (EdDSA)."),
        .init(
            "auth.jwt.jwks_file", \.auth.jwt.jwksFile, .optional(.path), reloads: true,
            "A JSON web key set: keys by kid. Rotate by adding a key, reloading, and taking the old"
                + " one out when its tokens have expired."),
        .init(
            "auth.jwt.issuer", \.auth.jwt.issuer, .optional(.text), reloads: true,
            "What the claim iss must be. Not checked if absent."),
        .init(
            "auth.jwt.audience", \.auth.jwt.audience, .optional(.text), reloads: true,
            "What the claim aud must be or contain. Not checked if absent."),
        .init(
            "auth.jwt.leeway", \.auth.jwt.leeway, .duration(0...hour), reloads: true,
            "By how much the clock of the issuer may differ from ours: for exp, nbf and iat."),
    ]

    private static let clients: [ConfigurationKey] = [
        .init(
            "clients.create", \.clients.create, .optional(.choice), reloads: true,
            "Which conversations a client may create. any: under every id that is free, so that a"
                + " client can learn which ids are taken, and take one that the backend is about to"
                + " use; own: without an id, or under one that is the user's id, a colon and a rest"
                + " without a colon; no: none. A distinct conversation that is there is answered in"
                + " every mode. Absent: any with auth.mode open, own with tokens."),
        .init(
            "clients.send", \.clients.send, .choice, reloads: true,
            "Whether clients may send messages; with no, only the server API does."),
        .init(
            "clients.edit", \.clients.edit, .choice, reloads: true,
            "Whether clients may edit and delete messages."),
        .init(
            "clients.react", \.clients.react, .choice, reloads: true,
            "Whether clients may react to messages."),
        .init(
            "clients.presence", \.clients.presence, .choice, reloads: true,
            "Whether clients may say how they are there, and watch whether others are."),
        .init(
            "clients.mention_all", \.clients.mentionAll, .choice, reloads: true,
            "Which clients may mention everybody in a message. admins: the conversation's admins,"
                + " or all who take part where it has none; yes: all who take part; no: none."),
    ]

    private static let cache: [ConfigurationKey] = [
        .init(
            "cache.path", \.cache.path, .path,
            "The SQLite file. With the embedded upstream it is the log itself, and precious."),
        .init(
            "cache.retain_messages", \.cache.retainMessages, .count(0...1_000_000_000),
            "How many messages of a conversation the cache keeps; 0: all. What is trimmed is"
                + " fetched again when asked for. The embedded log is never trimmed."),
        .init(
            "cache.retain_age", \.cache.retainAge, .duration(0...36_500 * 24 * hour),
            "How long the cache keeps a message; 0s: for ever. The embedded log is never trimmed."),
    ]

    private static let upstream: [ConfigurationKey] = [
        .init(
            "upstream.kind", \.upstream.kind, .choice,
            "The chat backend behind the gateway. embedded: the gateway is its own, in cache.path;"
                + " redis: any number of gateways share one, and cache.path is a cache of it;"
                + " postgres: the same, with the logs in a schema of a database."
        ),
        .init(
            "upstream.redis.url", \.upstream.redis.url, .redis,
            "The Redis server, redis://[user:password@]host:port/db, or rediss:// for TLS, with"
                + " sentinels too."),
        .init(
            "upstream.redis.password_file", \.upstream.redis.passwordFile, .optional(.path),
            "A file with the password in its first line, in place of the one in the url; read with"
                + " each connection."),
        .init(
            "upstream.redis.sentinels", \.upstream.redis.sentinels, .list(.address),
            "The sentinels that know the master; empty: the server of the url is asked itself."),
        .init(
            "upstream.redis.master", \.upstream.redis.master, .optional(.text),
            "The name under which the sentinels know the master."),
        .init(
            "upstream.redis.cluster", \.upstream.redis.cluster, .flag,
            "Whether the server is a node of a Redis cluster."),
        .init(
            "upstream.redis.prefix", \.upstream.redis.prefix, .text,
            "What the name of each key and channel begins with."),
        .init(
            "upstream.redis.retain", \.upstream.redis.retain, .count(0...1_000_000_000),
            "How many messages of a conversation Redis keeps; 0: all."),
        .init(
            "upstream.redis.retain_ids", \.upstream.redis.retainIds,
            .duration(0...36_500 * 24 * hour),
            "How long Redis knows the id of a message that it keeps no longer, so that the same"
                + " message sent again is no second one; of a conversation at most 100,000."),
        .init(
            "upstream.redis.tls.ca_file", \.upstream.redis.tls.caFile, .optional(.path),
            "The authorities that are trusted, PEM. Those of the system if absent."),
        .init(
            "upstream.redis.tls.certificate", \.upstream.redis.tls.certificate, .optional(.path),
            "The gateway's own certificate with its chain, PEM, for servers that want one."),
        .init(
            "upstream.redis.tls.key", \.upstream.redis.tls.key, .optional(.path),
            "The certificate's key, PEM, without a passphrase."),
        .init(
            "upstream.redis.tls.server_name", \.upstream.redis.tls.serverName, .optional(.text),
            "The name that the servers' certificates must have. The host of each connection if"
                + " absent."),
    ]

    private static let postgres: [ConfigurationKey] = [
        .init(
            "upstream.postgres.url", \.upstream.postgres.url, .postgres,
            "The database as libpq takes it: a URL, several hosts too, or key=value words."
                + " sslmode, service and pass files work as with psql."),
        .init(
            "upstream.postgres.url_file", \.upstream.postgres.urlFile, .optional(.path),
            "A file with the URL in its first line, in place of the key; read with each"
                + " connection."),
        .init(
            "upstream.postgres.schema", \.upstream.postgres.schema, .identifier,
            "The schema of the database that holds the logs."),
        .init(
            "upstream.postgres.roles.gateway", \.upstream.postgres.roles.gateway, .identifier,
            "The role that gapless postgres install gives what gateways call."),
        .init(
            "upstream.postgres.roles.writer", \.upstream.postgres.roles.writer, .identifier,
            "The role that gapless postgres install gives what applications call."),
        .init(
            "upstream.postgres.connections", \.upstream.postgres.connections, .count(2...100),
            "How many connections a gateway has for questions and writes; one more listens."),
        .init(
            "upstream.postgres.lock_timeout", \.upstream.postgres.lockTimeout,
            .duration(10...60 * second),
            "How long a write waits for a conversation that another transaction has locked; then"
                + " it is origin_unavailable."),
        .init(
            "upstream.postgres.retain", \.upstream.postgres.retain, .count(0...1_000_000_000),
            "How many messages of a conversation Postgres keeps; 0: all."),
        .init(
            "upstream.postgres.retain_ids", \.upstream.postgres.retainIds,
            .duration(0...36_500 * 24 * hour),
            "How long Postgres knows the id of a message that it keeps no longer, so that the same"
                + " message sent again is no second one; of a conversation at most 100,000."),
        .init(
            "upstream.postgres.retain_marks", \.upstream.postgres.retainMarks,
            .duration(0...36_500 * 24 * hour),
            "How long the marks of changes are kept, by which a lost end of a log is found; who"
                + " is further behind reads the conversation anew. 0s: for ever."),
    ]

    private static let sync: [ConfigurationKey] = [
        .init(
            "sync.page", \.sync.page, .count(1...1000),
            "How many messages one fetch from the upstream asks for."),
        .init(
            "sync.pages", \.sync.pages, .count(1...10_000),
            "A conversation that is more than sync.pages × sync.page messages behind gets its"
                + " latest page first; the rest is a gap while it is filled."),
        .init(
            "sync.concurrency", \.sync.concurrency, .count(1...1024),
            "How many fetches from the upstream run at once."),
        .init(
            "sync.backoff_base", \.sync.backoffBase, .duration(1...60 * second),
            "The wait after a first failed fetch. It doubles with each further one, with jitter."),
        .init(
            "sync.backoff_max", \.sync.backoffMax, .duration(1...hour),
            "The longest wait between two tries."),
        .init(
            "sync.gap_grace", \.sync.gapGrace, .duration(0...60 * second),
            "How long a hole in the feed may close by itself before it is fetched."),
        .init(
            "sync.linger", \.sync.linger, .duration(0...24 * hour),
            "How long a conversation stays subscribed upstream after its last subscriber left."),
        .init(
            "sync.wait", \.sync.wait, .duration(0...60 * second),
            "How long a request waits for the upstream before it is answered from the cache, with"
                + " what is missing as a gap."),
        .init(
            "sync.verify_interval", \.sync.verifyInterval, .duration(second...24 * hour),
            "How often the head is verified where a feed can lose changes silently."),
    ]

    private static let limits: [ConfigurationKey] = [
        .init(
            "limits.connections", \.limits.connections, .count(1...1_000_000), reloads: true,
            "How many clients may be connected. One more takes the place of one without a user;"
                + " where there is none, it is closed with 3004."),
        .init(
            "limits.connections_per_user", \.limits.connectionsPerUser, .count(0...1_000_000),
            reloads: true,
            "How many of them may be one user's; one more is closed with 3004. 0: no limit."),
        .init(
            "limits.connections_per_address", \.limits.connectionsPerAddress,
            .count(0...1_000_000), reloads: true,
            "How many of them may come from one address; one more is closed with 3004. 0: no"
                + " limit, as behind a proxy, where all have its address."),
        .init(
            "limits.http_connections", \.listen.httpConnections, .count(1...1_000_000),
            "How many requests of the public listener that are no upgrades may be under way; one"
                + " more is answered with 503 and closed."),
        .init(
            "limits.subscriptions", \.limits.subscriptions, .count(1...1_000_000), reloads: true,
            "How many conversations one connection may subscribe."),
        .init(
            "limits.presence", \.limits.presentUsers, .count(1...10_000), reloads: true,
            "How many users one connection may watch, and one call of the server API may ask"
                + " about."),
        .init(
            "limits.inbound_frame", \.limits.inboundFrame, .size(kibi...16 * mebi),
            "The largest frame that a client may send; a larger one is closed with 1009."),
        .init(
            "limits.message", \.limits.log.message, .size(256...8 * mebi), reloads: true,
            "The largest message: body, attachment, metadata and the fields that the gateway does"
                + " not know, together. An edit is held to what it makes of the message."),
        .init(
            "limits.record", \.limits.log.record, .size(256...8 * mebi), reloads: true,
            "What the title, metadata and unknown fields of a conversation may take together, and"
                + " name, metadata and unknown fields of a participant, after any change."),
        .init(
            "limits.unknown_fields", \.limits.log.unknownFields, .count(0...10_000), reloads: true,
            "How many fields that the gateway does not know a message, a conversation or a"
                + " participant may have."),
        .init(
            "limits.participants", \.limits.log.participants, .count(1...1_000_000), reloads: true,
            "How many may take part in a conversation; a call that would pass it is refused."),
        .init(
            "limits.admins", \.limits.log.admins, .count(1...1_000_000), reloads: true,
            "How many of them may be admins."),
        .init(
            "limits.conversations_per_user", \.limits.log.conversationsPerUser,
            .count(0...10_000_000), reloads: true,
            "How many conversations there may be that one user created. Being added to those of"
                + " others does not count, leaving one's own makes no room, and the server API is"
                + " not bound. 0: no limit."),
        .init(
            "limits.reaction_keys", \.limits.log.reactionKeys, .count(1...1000), reloads: true,
            "With how many different keys users may react to one message."),
        .init(
            "limits.reactions", \.limits.log.reactions, .count(1...10_000_000), reloads: true,
            "How many reactions one message may have."),
        .init(
            "limits.mentions", \.limits.log.mentions, .count(0...1000), reloads: true,
            "How many users one message may mention."),
        .init(
            "limits.reply", \.limits.reply, .size(4 * kibi...64 * mebi),
            "The largest reply; a page that would pass it holds fewer messages."),
        .init(
            "limits.outbox_soft", \.limits.outboxSoft, .size(kibi...1024 * mebi), reloads: true,
            "When more than this waits for a slow client, its events become gaps."),
        .init(
            "limits.outbox_hard", \.limits.outboxHard, .size(4 * kibi...4096 * mebi), reloads: true,
            "When more than this waits for a slow client, it is closed with 3002."),
        .init(
            "limits.outbox_total", \.limits.outboxTotal, .size(mebi...65_536 * mebi),
            reloads: true,
            "When more than this waits for all slow clients together, the events of the largest"
                + " become gaps, or they are closed with 3002."),
        .init(
            "limits.requests_per_second", \.limits.requestsPerSecond, .count(0...1_000_000),
            reloads: true,
            "What the requests of a user may cost in a second, on all connections together; twice"
                + " as much at once. A small request costs 1; rows, bytes and people cost more. 0:"
                + " no limit."),
        .init(
            "limits.bytes_per_second", \.limits.bytesPerSecond, .size(0...1024 * mebi),
            reloads: true,
            "What all connections of a user may send in a second, inflated; beyond it they are read"
                + " later, and nothing is refused. 0: no limit."),
        .init(
            "limits.connect_timeout", \.limits.connectTimeout, .duration(100...600 * second),
            reloads: true,
            "How long a new connection may take to make its first request."),
        .init(
            "limits.ping_interval", \.limits.pingInterval, .duration(second...600 * second),
            reloads: true,
            "After how much silence the gateway pings."),
        .init(
            "limits.pong_timeout", \.limits.pongTimeout, .duration(second...600 * second),
            reloads: true,
            "How long a client may take to answer a WebSocket ping; then it is closed with 3003."),
    ]

    private static let presence: [ConfigurationKey] = [
        .init(
            "presence.interval", \.presence.interval, .duration(100...60 * second), reloads: true,
            "How often a connection is told of the users whom it watches, at most."),
        .init(
            "presence.linger", \.presence.linger, .duration(0...hour), reloads: true,
            "How long a user without a connection stays as they were."),
        .init(
            "presence.lease", \.presence.lease, .duration(300...hour),
            "For how long a gateway that the origin does not hear counts as there. It renews that"
                + " each third of it."),
        .init(
            "presence.grace", \.presence.grace, .duration(0...24 * hour),
            "How long the users of a gateway whose lease lapsed are unknown, before they are"
                + " absent. With the embedded log, so long after each start."),
        .init(
            "presence.retain", \.presence.retain, .duration(hour...36_500 * 24 * hour),
            "How long the origin keeps since when a user is absent."),
    ]

    private static let fanout: [ConfigurationKey] = [
        .init(
            "fanout.loops", \.fanout.loops, .count(0...64),
            "How many threads serve sockets, each with its share of the clients; one engine decides"
                + " for all of them, on the first. 0: one less than there are cores, at least one."
        ),
        .init(
            "fanout.pacing", \.fanout.pacing, .number(0...10),
            "Under load, delays the messages of a busy conversation, so that several are written"
                + " together: by this many times what it took to write its last ones to all"
                + " subscribers, at most 20 ms. A conversation that was idle for that long, or had"
                + " a single message, is written at once. 0: nothing is delayed."),
        .init(
            "fanout.gather", \.fanout.gather, .duration(0...10), reloads: true,
            "With the embedded log and one loop, under load: how long the gateway leaves its"
                + " sockets unread after a turn, so that the requests that come meanwhile share a"
                + " commit and a wake-up. It waits only while a turn takes less than that, and"
                + " where waiting was measured to bring more requests to a turn and as many a"
                + " second; a gateway that is idle never waits. 0: it never waits."),
    ]

    private static let operation: [ConfigurationKey] = [
        .init(
            "journal.bytes", \.journal.bytes, .size(0...1024 * mebi),
            "What the journal may take in memory, from which /explain tells what became of a"
                + " message. One takes some 500 bytes, however many get it. 0: none is kept."),
        .init(
            "journal.age", \.journal.age, .duration(second...24 * hour),
            "How far back the journal goes, as far as journal.bytes allows."),
        .init(
            "drain.window", \.drain.window, .duration(0...hour), reloads: true,
            "Over how much time the clients of a gateway that stops are told to come back."),
        .init(
            "drain.deadline", \.drain.deadline, .duration(0...hour), reloads: true,
            "After how much time a gateway that stops closes what is still connected."),
        .init(
            "health.ready_grace", \.health.readyGrace, .duration(0...hour), reloads: true,
            "For how long the feed may be offline before the gateway says that it is not ready."),
        .init(
            "log.level", \.log.level, .choice, reloads: true, "The least important lines to log."),
        .init(
            "log.format", \.log.format, .choice, "How a line is written."),
        .init(
            "page.enabled", \.page.enabled, .flag,
            "Whether the browser client and its page are served at /."),
        .init(
            "demo.enabled", \.demo.enabled, .flag,
            "Whether the page shows a demonstration at /demo, with buttons that kill gateways. It"
                + " is refused on an address that other machines can reach."),
        .init(
            "demo.supervisor", \.demo.supervisor, .optional(.address),
            "Where the program listens that the buttons of /demo ask, as deploy/demo starts it: on"
                + " loopback."),
    ]
}
