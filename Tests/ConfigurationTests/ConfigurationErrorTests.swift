@testable import Configuration
import Testing

/// What is wrong with a configuration is said in full.
@Suite struct ConfigurationErrorTests {
    private let directory = Result { try TemporaryDirectory() }

    /// The problems of a file's text, with `c.json5` for its path.
    private func problems(_ text: String, _ flags: [String: String] = [:]) throws -> [String] {
        let file = try directory.get().file("c.json5", text)
        let settings = flags.map { Setting(key: $0, value: .word($1), place: .flag) }
        do throws(ConfigurationError) {
            _ = try Configuration.load(
                file: file, overrides: ConfigurationOverrides(settings: settings))
            return []
        } catch {
            return error.problems.map { problem in
                let text = problem.description
                return text.hasPrefix(file) ? "c.json5" + text.dropFirst(file.count) : text
            }
        }
    }

    @Test(arguments: [
        (
            "{\n limits: {conections: 1}}",
            "c.json5:2: limits.conections: unknown key (did you mean limits.connections?)"
        ),
        (
            "{subscriptions: 1}",
            "c.json5:1: subscriptions: unknown key (did you mean limits.subscriptions?)"
        ),
        ("{zzz: 1}", "c.json5:1: zzz: unknown key"),
        (
            "{fanout: {io_uring: false}}",
            "c.json5:1: fanout.io_uring: this key was removed"
                + " (what io_uring saved was within the noise); delete it"
        ),
        ("{log: 'debug'}", "c.json5:1: log: a section, not a key (keys: level, format)"),
        (
            "{log: {level: 'loud'}}",
            "c.json5:1: log.level: \"loud\" is not accepted"
                + " (accepted: debug | info | warning | error)"
        ),
        (
            "{upstream: {kind: 'nats'}}",
            "c.json5:1: upstream.kind: \"nats\" is not accepted"
                + " (accepted: embedded | redis | postgres)"
        ),
        (
            "{limits: {message: '5PiB'}}",
            "c.json5:1: limits.message: \"5PiB\" is not accepted"
                + " (accepted: a size from 256B to 8MiB (B, KiB, MiB, GiB))"
        ),
        (
            "{limits: {connections: 0}}",
            "c.json5:1: limits.connections: 0 is not accepted"
                + " (accepted: a whole number from 1 to 1000000)"
        ),
        (
            "{fanout: {loops: 65}}",
            "c.json5:1: fanout.loops: 65 is not accepted (accepted: a whole number from 0 to 64)"
        ),
        (
            "{limits: {ping_interval: 25}}",
            "c.json5:1: limits.ping_interval: 25 is not accepted"
                + " (accepted: a duration from 1s to 10m (ms, s, m, h, d))"
        ),
        (
            "{page: {enabled: 'yes'}}",
            "c.json5:1: page.enabled: \"yes\" is not accepted (accepted: true or false)"
        ),
        (
            "{listen: {public: 8000}}",
            "c.json5:1: listen.public: 8000 is not accepted"
                + " (accepted: HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000)"
        ),
        (
            "{listen: {allowed_origins: ['https://a.example/']}}",
            "c.json5:1: listen.allowed_origins: \"https://a.example/\" is not accepted"
                + " (accepted: a list, each of it an origin, such as https://chat.example.org)"
        ),
        (
            "{cache: {path: ['x']}}",
            "c.json5:1: cache.path: a list of 1 is not accepted (accepted: the path of a file)"
        ),
        ("{log: {level: 'info'},\n log: {level: 'info'}}", "c.json5:2: log.level: given before"),
        ("{\n  log: {level: 'info'\n}", "c.json5:3: not JSON5: expected: a comma or } follows"),
        ("", "c.json5:1: not JSON5: expected: an object begins (column 1)"),
    ])
    func aMistakeIsNamed(_ text: String, _ message: String) throws {
        let problems = try problems(text)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(message) == true, "\(problems)")
    }

    @Test(arguments: [
        (["auth.mode": "jwt"], "configuration: auth.mode: jwt, but there is no key"),
        (
            ["listen.public": "0.0.0.0:8000"],
            "configuration: auth.mode: open, but listen.public is 0.0.0.0:8000"
        ),
        (["listen.tls.certificate": "c.pem"], "configuration: listen.tls.key: missing"),
        (
            [
                "listen.public": "0.0.0.0:8000", "auth.allow_insecure": "true",
                "demo.enabled": "true",
            ],
            "configuration: demo.enabled: true, but listen.public is 0.0.0.0:8000"
        ),
        (
            ["page.enabled": "false", "demo.enabled": "true"],
            "configuration: demo.enabled: true, but page.enabled is false"
        ),
        (
            ["demo.supervisor": "192.0.2.1:8002", "demo.enabled": "true"],
            "configuration: demo.supervisor: 192.0.2.1:8002 can be another machine"
        ),
        (["listen.tls.key": "k.pem"], "configuration: listen.tls.certificate: missing"),
        (
            ["listen.internal": "127.0.0.1:8000"],
            "configuration: listen.internal: 127.0.0.1:8000 is"
        ),
        (
            [
                "upstream.kind": "redis", "upstream.redis.cluster": "true",
                "upstream.redis.sentinels": "127.0.0.1:26379", "upstream.redis.master": "main",
            ],
            "configuration: upstream.redis.sentinels: not accepted with upstream.redis.cluster"
        ),
        (
            ["upstream.kind": "redis", "upstream.redis.sentinels": "127.0.0.1:26379"],
            "configuration: upstream.redis.master: missing"
        ),
        (
            [
                "upstream.kind": "redis", "upstream.redis.cluster": "true",
                "upstream.redis.url": "redis://127.0.0.1:6379/3",
            ],
            "configuration: upstream.redis.url: names a database"
        ),
        (
            ["limits.message": "64KiB"],
            "configuration: limits.message: \"64KiB\" does not lie below limits.inbound_frame"
        ),
        (
            ["limits.outbox_soft": "4MiB"],
            "configuration: limits.outbox_soft: \"4MiB\" does not lie"
        ),
        (["limits.reply": "5MiB"], "configuration: limits.reply: \"5MiB\" does not lie below"),
        (["sync.backoff_base": "31s"], "configuration: sync.backoff_base: \"31s\" does not lie"),
        (["drain.window": "31s"], "configuration: drain.window: \"31s\" does not lie below"),
    ])
    func aContradictionIsNamed(_ flags: [String: String], _ message: String) throws {
        let problems = try problems("{}", flags)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(message) == true, "\(problems)")
    }

    /// Settings that nothing uses, with what they lack.
    @Test(
        arguments: [
            (
                "{auth: {jwt: {secret_file: 'secret'}}}", [:],
                "c.json5:1: auth.jwt.secret_file", "auth.mode jwt"
            ),
            (
                "{}", ["upstream.redis.url": "redis://127.0.0.1:6379/0"],
                "--set: upstream.redis.url", "upstream.kind redis"
            ),
            (
                "{upstream: {kind: 'redis', postgres: {connections: 5}}}", [:],
                "c.json5:1: upstream.postgres.connections", "upstream.kind postgres"
            ),
            (
                "{upstream: {kind: 'redis', redis: {master: 'main'}}}", [:],
                "c.json5:1: upstream.redis.master", "upstream.redis.sentinels"
            ),
            (
                "{cache: {retain_age: '30d'}}", [:], "c.json5:1: cache.retain_age",
                "upstream.kind redis or postgres"
            ),
            ("{}", ["demo.supervisor": "127.0.0.1:8002"], "--set: demo.supervisor", "demo.enabled"),
        ] as [(String, [String: String], String, String)])
    func whatIsGivenAndNotUsedStopsTheStart(
        _ text: String, _ flags: [String: String], _ key: String, _ condition: String
    ) throws {
        let problems = try problems(text, flags)
        #expect(
            problems == ["\(key): not used without \(condition) (give that, or take this away)"])
    }

    @Test(arguments: [
        ("{limitz: {}}", "c.json5:1: limitz: unknown key (did you mean limits?)"),
        ("{limits: {connections: {}}}", "c.json5:1: limits.connections: an object is not accepted"),
        (
            "{listen: {allowed_origins: ['https://a', 'b/', 'c/']}}",
            "c.json5:1: listen.allowed_origins: \"b/\" is not accepted"
        ),
    ])
    func theWrongPartIsNamed(_ text: String, _ message: String) throws {
        let problems = try problems(text, [:])
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(message) == true, "\(problems)")
    }

    @Test func aSectionMayBeEmpty() throws {
        #expect(try problems("{limits: {}, listen: {tls: {}}}", [:]).isEmpty)
    }

    @Test func anOpenGatewayForAllIsAllowedIfAsked() throws {
        let flags = ["listen.public": "0.0.0.0:8000", "auth.allow_insecure": "true"]
        #expect(try problems("{}", flags).isEmpty)
    }

    @Test func everythingWrongIsSaidAtOnce() throws {
        let problems = try problems(
            "{lgo: 1, log: {level: 1}, limits: {message: '63KiB', inbound_frame: '32KiB'}}",
            ["page.enabled": "1"])
        #expect(problems.count == 4)
    }

    @Test func aFileThatIsNotThereIsNamed() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: "/nowhere/c.json5", overrides: .init())
        }
        #expect(
            error?.description
                == "configuration: open /nowhere/c.json5: No such file or directory (errno 2)")
    }

    @Test func aVariableThatIsNoKeyIsNamed() {
        let overrides = ConfigurationOverrides(environment: ["GAPLESS_LOG_LEVLE": "info"])
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, overrides: overrides)
        }
        #expect(
            error?.description
                == "GAPLESS_LOG_LEVLE: no key has this name (did you mean GAPLESS_LOG_LEVEL?)")
    }

    @Test func aVariableOfARemovedKeyIsNamed() {
        let overrides = ConfigurationOverrides(
            environment: ["GAPLESS_FANOUT_IO_URING": "true"])
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, overrides: overrides)
        }
        #expect(
            error?.description
                == "GAPLESS_FANOUT_IO_URING: this key was removed"
                + " (what io_uring saved was within the noise); delete it")
    }

    @Test func aSecretValueIsNotShown() throws {
        let problems = try problems("{upstream: {redis: {url: 'http://user:hunter2@host'}}}")
        #expect(problems.count == 1)
        #expect(!problems.joined().contains("hunter2"))
        var next = Configuration()
        next.upstream.redis.url = "redis://user:hunter2@host"
        #expect(!Configuration().changes(to: next).map(\.description).joined().contains("hunter2"))
    }

    @Test func aValueIsShownWithoutItsControls() throws {
        let problems = try problems(#"{log: {level: "\u001b[2Jx\n"}}"#)
        #expect(problems.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test(arguments: [
        ("limits.conections", "limits.connections"), ("ping_interval", "limits.ping_interval"),
        ("Limits.Connections", "limits.connections"), ("log.levle", "log.level"),
        ("listen.tls.cert", "listen.tls.certificate"), ("xyz", nil), ("", nil),
    ])
    func theNearestKeyIsFound(_ word: String, _ expected: String?) {
        #expect(ClosestMatch.of(word, in: ConfigurationKey.all.map(\.name)) == expected)
    }

    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("ab", "ba", 1), ("serv", "serve", 1),
        ("ABC", "abc", 0),
    ])
    func theDistanceOfWordsCountsEdits(_ a: String, _ b: String, _ distance: Int) {
        #expect(ClosestMatch.distance(a, b) == distance)
        #expect(ClosestMatch.distance(b, a) == distance)
    }
}
