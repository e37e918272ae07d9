import Engine
import Rules
import Upstream

/// Checks across keys: values that are valid alone but contradict each other.
extension Configuration {
    /// The problems of the configuration as a whole.
    package var contradictions: [ConfigurationError.Problem] {
        authProblems + listenProblems + redisProblems + postgresProblems + limitProblems
            + demoProblems
    }

    /// Where keys are used, by what their names begin with. Who gives one that is not used believes
    /// in something that is not so: that tokens are asked for, say.
    private static let uses:
        [(keys: String, condition: String, holds: @Sendable (Configuration) -> Bool)] = [
            ("auth.jwt.", "auth.mode jwt", { $0.auth.mode == .jwt }),
            (
                "cache.retain_", "upstream.kind redis or postgres",
                { $0.upstream.kind != .embedded }
            ),
            ("upstream.redis.", "upstream.kind redis", { $0.upstream.kind == .redis }),
            (
                "upstream.redis.master", "upstream.redis.sentinels",
                { !$0.upstream.redis.sentinels.isEmpty }
            ),
            ("upstream.postgres.", "upstream.kind postgres", { $0.upstream.kind == .postgres }),
            ("demo.supervisor", "demo.enabled", { $0.demo.enabled }),
        ]

    /// Settings that nothing uses. A file may have every key with its default (`genconfig`).
    func unused(_ settings: [Setting]) -> [ConfigurationError.Problem] {
        let defaults = Configuration()
        return settings.compactMap { setting in
            guard let key = ConfigurationKey.byName[setting.key], setting.value != .null,
                setting.value != .word(""),
                let use = Self.uses.first(where: {
                    setting.key.hasPrefix($0.keys) && !$0.holds(self)
                })
            else { return nil }
            if case .file = setting.place, key.agrees(self, defaults) { return nil }
            return .init(
                setting.place, key: setting.key,
                "not used without \(use.condition) (give that, or take this away)")
        }
    }

    private var authProblems: [ConfigurationError.Problem] {
        var problems: [ConfigurationError.Problem] = []
        let jwt = auth.jwt
        if auth.mode == .jwt, jwt.secretFile == nil, jwt.publicKeyFile == nil, jwt.jwksFile == nil {
            problems.append(
                .init(
                    .whole, key: "auth.mode",
                    "jwt, but there is no key to check tokens with (auth.jwt.secret_file,"
                        + " auth.jwt.public_key_file or auth.jwt.jwks_file)"))
        }
        if auth.mode == .open, !listen.public.isLoopback, !auth.allowInsecure {
            problems.append(
                .init(
                    .whole, key: "auth.mode",
                    "open, but listen.public is \(listen.public), where others can connect under"
                        + " any name (auth.mode jwt, a loopback address, or auth.allow_insecure)"))
        }
        return problems
    }

    private var listenProblems: [ConfigurationError.Problem] {
        var problems: [ConfigurationError.Problem] = []
        if (listen.tls.certificate == nil) != (listen.tls.key == nil) {
            let missing = listen.tls.key == nil ? "listen.tls.key" : "listen.tls.certificate"
            problems.append(
                .init(.whole, key: missing, "missing (TLS takes a certificate and its key)"))
        }
        let hosts = [listen.public.host, listen.internal.host]
        // One that means every address means the other's too.
        let meet = hosts[0] == hosts[1] || hosts.contains("0.0.0.0") || hosts.contains("::")
        if meet, listen.public.port == listen.internal.port, listen.public.port != 0 {
            problems.append(
                .init(
                    .whole, key: "listen.internal",
                    "\(listen.internal) is listen.public as well (another port)"))
        }
        return problems
    }

    private var demoProblems: [ConfigurationError.Problem] {
        guard demo.enabled else { return [] }
        var problems: [ConfigurationError.Problem] = []
        if !listen.public.isLoopback {
            problems.append(
                .init(
                    .whole, key: "demo.enabled",
                    "true, but listen.public is \(listen.public), and anybody who reaches /demo can"
                        + " kill gateways (a loopback address)"))
        }
        if !page.enabled {
            problems.append(
                .init(
                    .whole, key: "demo.enabled",
                    "true, but page.enabled is false, and /demo is a part of the page"))
        }
        if let supervisor = demo.supervisor, !supervisor.isLoopback {
            problems.append(
                .init(
                    .whole, key: "demo.supervisor",
                    "\(supervisor) can be another machine (a loopback address)"))
        }
        return problems
    }

    private var redisProblems: [ConfigurationError.Problem] {
        guard upstream.kind == .redis else { return [] }
        let redis = upstream.redis
        var problems: [ConfigurationError.Problem] = []
        if redis.cluster, !redis.sentinels.isEmpty {
            problems.append(
                .init(
                    .whole, key: "upstream.redis.sentinels",
                    "not accepted with upstream.redis.cluster: a cluster finds its masters itself"))
        }
        if !redis.sentinels.isEmpty, redis.master == nil {
            problems.append(
                .init(
                    .whole, key: "upstream.redis.master",
                    "missing (the name under which the sentinels know the master)"))
        }
        let hasDatabase = (try? RedisOptions(url: redis.url)).map { $0.database != 0 } ?? false
        if redis.cluster, hasDatabase {
            problems.append(
                .init(
                    .whole, key: "upstream.redis.url",
                    "names a database, and a cluster has the one with number 0 only"))
        }
        return problems + redisSecurityProblems
    }

    private var postgresProblems: [ConfigurationError.Problem] {
        let postgres = upstream.postgres
        guard upstream.kind == .postgres, postgres.urlFile != nil,
            postgres.url != Configuration().upstream.postgres.url
        else { return [] }
        return [
            .init(
                .whole, key: "upstream.postgres.url_file",
                "not accepted with upstream.postgres.url (one of them)")
        ]
    }

    private var redisSecurityProblems: [ConfigurationError.Problem] {
        let redis = upstream.redis
        let options = try? RedisOptions(url: redis.url)
        var problems: [ConfigurationError.Problem] = []
        func add(_ key: String, _ text: String) {
            problems.append(.init(.whole, key: key, text))
        }
        if options?.login.password != nil, redis.passwordFile != nil {
            add("upstream.redis.password_file", "not accepted with a password in the url")
        }
        if let options, options.login.user != nil, options.login.password == nil,
            redis.passwordFile == nil
        {
            add("upstream.redis.password_file", "missing (the url names a user and no password)")
        }
        if options?.tls == nil, redis.tls != .init() {
            add("upstream.redis.tls", "of no use without rediss:// in upstream.redis.url")
        }
        if (redis.tls.certificate == nil) != (redis.tls.key == nil) {
            let missing = redis.tls.key == nil ? "key" : "certificate"
            add("upstream.redis.tls.\(missing)", "missing (a certificate takes its key)")
        }
        return problems
    }

    private var limitProblems: [ConfigurationError.Problem] {
        let order: [(low: String, high: String, holds: Bool)] = [
            ("limits.message", "limits.inbound_frame", limits.log.message < limits.inboundFrame),
            ("limits.outbox_soft", "limits.outbox_hard", limits.outboxSoft < limits.outboxHard),
            ("limits.reply", "limits.outbox_hard", limits.reply < limits.outboxHard),
            ("sync.backoff_base", "sync.backoff_max", sync.backoffBase <= sync.backoffMax),
            ("drain.window", "drain.deadline", drain.window <= drain.deadline),
        ]
        return order.filter { !$0.holds }.map { low, high, _ in
            .init(
                .whole, key: low,
                "\(shown(low)) does not lie below \(high), which is \(shown(high))")
        }
    }

    private func shown(_ name: String) -> String {
        ConfigurationKey.byName[name]?.literal(self) ?? name
    }
}
