import Foundation
import TestSupport
import Testing

/// `protocol.md` 8: the commands, their exit codes and what they say; the configuration with its
/// four places; and signals.
@Suite struct CommandLineTests {
    /// Every key of the page, with its default where the page names one.
    static let keys: [(key: String, shown: String?)] = [
        ("listen.public", "127.0.0.1:8000"), ("listen.internal", "127.0.0.1:9000"),
        ("listen.tls.certificate", nil), ("listen.tls.key", nil), ("listen.allowed_origins", nil),
        ("listen.internal_hosts", nil), ("listen.internal_password_file", nil),
        ("auth.mode", "open"), ("auth.jwt.algorithms", nil), ("auth.jwt.secret_file", nil),
        ("auth.jwt.public_key_file", nil), ("auth.jwt.jwks_file", nil), ("auth.jwt.issuer", nil),
        ("auth.jwt.audience", nil), ("auth.jwt.leeway", "30s"), ("auth.api_key_file", nil),
        ("auth.allow_insecure", nil), ("cache.path", "gapless.db"), ("cache.retain_messages", nil),
        ("cache.retain_age", nil), ("upstream.kind", "embedded"), ("upstream.redis.url", nil),
        ("upstream.redis.sentinels", nil), ("upstream.redis.master", nil),
        ("upstream.redis.cluster", nil), ("upstream.redis.prefix", nil),
        ("upstream.redis.retain", nil), ("sync.page", nil), ("sync.pages", nil),
        ("sync.concurrency", nil), ("sync.backoff_base", nil), ("sync.backoff_max", nil),
        ("sync.gap_grace", nil), ("sync.linger", nil), ("sync.wait", nil),
        ("sync.verify_interval", nil), ("limits.connections", nil),
        ("limits.connections_per_user", "100"), ("limits.connections_per_address", nil),
        ("limits.http_connections", "1000"),
        ("limits.subscriptions", nil),
        ("limits.inbound_frame", nil), ("limits.message", nil), ("limits.record", "32KiB"),
        ("limits.unknown_fields", "100"), ("limits.participants", "10000"),
        ("limits.admins", "100"), ("limits.conversations_per_user", "10000"),
        ("limits.reaction_keys", "32"), ("limits.reactions", "100000"), ("clients.react", "yes"),
        ("clients.presence", "yes"), ("limits.presence", "1000"), ("presence.interval", "1s"),
        ("presence.linger", "10s"), ("presence.lease", "15s"), ("presence.grace", "1m"),
        ("presence.retain", "30d"), ("limits.mentions", "50"), ("clients.mention_all", "admins"),
        ("limits.reply", "1MiB"), ("limits.bytes_per_second", "4MiB"),
        ("clients.create", "null"), ("clients.send", "yes"), ("clients.edit", "yes"),
        ("limits.outbox_soft", nil), ("limits.outbox_hard", nil),
        ("limits.requests_per_second", "200"), ("limits.connect_timeout", nil),
        ("limits.ping_interval", "25s"), ("limits.pong_timeout", "30s"), ("fanout.loops", nil),
        ("fanout.pacing", nil), ("fanout.gather", "1ms"),
        ("journal.bytes", "16MiB"), ("journal.age", "1h"),
        ("drain.window", "10s"), ("drain.deadline", "30s"),
        ("health.ready_grace", "0s"), ("log.level", nil), ("log.format", nil),
        ("page.enabled", nil), ("demo.enabled", "false"), ("demo.supervisor", "null"),
    ]

    @Test func versionSaysIt() throws {
        let run = try CommandRun("version")
        #expect(run.status == 0 && run.output.contains(/\d+\.\d+\.\d+/))
    }

    @Test(arguments: [
        "serve", "init", "genconfig", "checkconfig", "gentoken", "replay", "live", "version",
    ])
    func eachCommandHasHelp(command: String) throws {
        let run = try CommandRun(command, "--help")
        #expect(run.status == 0 && run.output.contains("gapless \(command)"))
        #expect(try CommandRun("--help").output.contains(command))
    }

    @Test(arguments: [
        ["nonsense"], ["serve", "--nonsense"], ["serve", "operand"], ["serve", "--config"],
        ["serve", "--set"], ["serve", "--set", "listen.public"], ["--nonsense"],
        ["checkconfig", "--nonsense"], ["replay"], ["gentoken"], ["version", "operand"],
    ])
    func badUsageExitsWith2(arguments: [String]) throws {
        let run = try CommandRun(arguments)
        #expect(run.status == 2 && run.output.contains("--help"), "\(run.output)")
    }

    @Test func aGeneratedConfigurationHoldsEveryKeyAndIsAccepted() throws {
        let generated = try CommandRun("genconfig")
        #expect(generated.status == 0)
        let checked = try CommandRun(
            ["checkconfig", "--config", "%/c.json5"], files: ["c.json5": generated.output])
        #expect(checked.status == 0, "\(checked.output)")
        for (key, shown) in Self.keys {
            let name = key.split(separator: ".").last ?? ""
            #expect(generated.output.contains(name), "\(key)")
            if let shown { #expect(generated.output.contains(shown), "\(key): \(shown)") }
        }
    }

    @Test func everyKeyHasANameOnTheCommandLineAndInTheEnvironment() throws {
        // A value of no kind is refused by every key that is there, and named by it.
        let words = Self.keys.flatMap { ["--set", "\($0.key)=\u{1}"] }
        let flags = try CommandRun(["checkconfig"] + words)
        #expect(flags.status == 1)
        #expect(!flags.output.contains("unknown key"), "\(flags.output)")
        for (key, _) in Self.keys {
            let name = "GAPLESS_" + key.uppercased().split(separator: ".").joined(separator: "_")
            let run = try CommandRun(
                ["checkconfig", "--set", "auth.mode=none"], environment: [name: "\u{1}"])
            #expect(run.status == 1 && !run.output.contains("no key has this name"), "\(name)")
        }
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var setting: String
        /// What the complaint must hold.
        var words: [String]
        var testDescription: String { setting }
    }

    @Test(arguments: [
        Refused(setting: "limits.conections=5", words: ["limits.conections", "unknown key"]),
        Refused(setting: "nonsense=5", words: ["nonsense", "unknown key"]),
        Refused(
            setting: "fanout.io_uring=true", words: ["fanout.io_uring", "removed", "delete it"]),
        Refused(
            setting: "limits.connections=many", words: ["limits.connections", "many", "accepted"]),
        Refused(setting: "limits.connections=-1", words: ["limits.connections", "-1", "accepted"]),
        Refused(
            setting: "limits.inbound_frame=64", words: ["limits.inbound_frame", "64", "accepted"]),
        Refused(setting: "limits.inbound_frame=64Kb", words: ["limits.inbound_frame", "accepted"]),
        Refused(
            setting: "limits.ping_interval=5x", words: ["limits.ping_interval", "5x", "accepted"]),
        Refused(setting: "listen.public=here", words: ["listen.public", "here", "accepted"]),
        Refused(setting: "listen.public=127.0.0.1:70000", words: ["listen.public", "70000"]),
        Refused(setting: "auth.mode=closed", words: ["auth.mode", "closed", "open", "jwt"]),
        Refused(setting: "auth.mode=jwt", words: ["auth.mode", "jwt"]),
        Refused(setting: "upstream.kind=kafka", words: ["upstream.kind", "kafka", "embedded"]),
        Refused(setting: "page.enabled=maybe", words: ["page.enabled", "maybe", "accepted"]),
        Refused(setting: "log.level=loud", words: ["log.level", "loud", "accepted"]),
        Refused(
            setting: "auth.api_key_file=/nowhere/keys",
            words: ["auth.api_key_file", "/nowhere/keys"]),
        Refused(setting: "cache.path=/nowhere/at/all.db", words: ["/nowhere/at/all.db"]),
        Refused(
            setting: "listen.public=0.0.0.0:0", words: ["auth.mode", "auth.allow_insecure"]),
    ])
    func aBadSettingStopsTheStartWith1(_ refused: Refused) throws {
        let run = try CommandRun(
            ["serve", "--set", "listen.public=127.0.0.1:0", "--set", "listen.internal=127.0.0.1:0"]
                + ["--set", refused.setting])
        #expect(run.status == 1)
        for word in refused.words { #expect(run.output.contains(word), "\(word): \(run.output)") }
    }

    @Test func aMissingOrBrokenFileIsNamedWithItsLine() throws {
        for command in ["serve", "checkconfig"] {
            let missing = try CommandRun(command, "--config", "/nowhere/c.json5")
            #expect(missing.status == 1 && missing.output.contains("/nowhere/c.json5"))
            let broken = try CommandRun(
                [command, "--config", "%/c.json5"],
                files: ["c.json5": "{\n  // a comment\n  limits: {\n    connections: ,\n  }\n}\n"])
            #expect(broken.status == 1 && broken.output.contains("c.json5:4"), "\(broken.output)")
            let unknown = try CommandRun(
                [command, "--config", "%/c.json5"],
                files: ["c.json5": "{\n  limits: {\n    conections: 5,\n  }\n}\n"])
            #expect(unknown.status == 1 && unknown.output.contains("limits.conections"))
        }
    }

    @Test func whoReadsLinesOfJSONReadsWhatStopsTheStartToo() throws {
        for arguments in [
            ["--set", "log.format=json", "--config", "/nowhere/c.json5"],
            ["--config", "%/c.json5"],
        ] {
            let text = "{log: {format: 'json'}, limits: {conections: 1, conection: 2}}"
            let run = try CommandRun(["serve"] + arguments, files: ["c.json5": text])
            #expect(run.status == 1)
            let lines = run.output.split(separator: "\n")
            #expect(lines.count == (arguments.count == 4 ? 1 : 2))
            for line in lines {
                let value = try JSONValue(parsing: Array(line.utf8))
                #expect(value["event"] == "start_failed" && value["level"] == "error")
                #expect(value["error"].string?.contains("c.json5") == true)
            }
        }
    }

    @Test func flagsStandOverTheEnvironmentOverTheFileOverDefaults() throws {
        let file = "{limits: {connections: 11, subscriptions: 12, message: '13KiB'}}"
        let run = try CommandRun(
            ["checkconfig", "--config", "%/c.json5", "--set", "limits.connections=31"],
            environment: [
                "GAPLESS_LIMITS_CONNECTIONS": "21", "GAPLESS_LIMITS_SUBSCRIPTIONS": "22",
                "GAPLESS_LISTEN_ALLOWED_ORIGINS": "https://a.example,https://b.example",
            ], files: ["c.json5": file])
        #expect(run.status == 0)
        for line in [
            "limits.connections: 31", "limits.subscriptions: 22", "limits.message: \"13KiB\"",
        ] { #expect(run.output.contains(line), "\(run.output)") }
        #expect(
            run.output.contains("https://a.example") && run.output.contains("https://b.example"))
    }

    @Test func openModeOnAnOpenAddressMustBeAllowed() throws {
        let open = ["checkconfig", "--set", "listen.public=0.0.0.0:8000"]
        #expect(try CommandRun(open).status == 1)
        #expect(try CommandRun(open + ["--set", "auth.allow_insecure=true"]).status == 0)
    }
}
