import Crypto
import Engine
import Rules
import Testing
@testable import Configuration

/// Where a value comes from, and that each key is reachable from everywhere.
@Suite struct ConfigurationLoadingTests {
    private func flag(_ key: String, _ value: String) -> Setting {
        Setting(key: key, value: .word(value), place: .flag)
    }

    /// A place that does not matter.
    private let directory = Result { try TemporaryDirectory() }

    @Test func flagsStandOverEnvironmentOverFileOverDefaults() throws {
        let file = try directory.get().file(
            "c.json5", "{limits: {connections: 1, subscriptions: 1, reply: '1MiB'}}")
        let overrides = ConfigurationOverrides(
            environment: [
                "GAPLESS_LIMITS_CONNECTIONS": "2", "GAPLESS_LIMITS_SUBSCRIPTIONS": "2",
                "PATH": "/bin",
            ],
            settings: [flag("limits.connections", "3"), flag("limits.connections", "4")])
        let configuration = try Configuration.load(file: file, overrides: overrides)
        #expect(configuration.limits.connections == 4)
        #expect(configuration.limits.subscriptions == 2)
        #expect(configuration.limits.reply == 1 << 20)
        #expect(configuration.limits.pingInterval == 25_000)
    }

    @Test func nothingGivenIsTheDefaults() throws {
        #expect(try Configuration.load(file: nil, overrides: .init()) == Configuration())
        #expect(Configuration().contradictions.isEmpty)
    }

    @Test func nullAndAnEmptyVariableLeaveAKeyAlone() throws {
        let file = try directory.get().file("c.json5", "{log: {level: null}}")
        let overrides = ConfigurationOverrides(environment: ["GAPLESS_LOG_FORMAT": ""])
        #expect(try Configuration.load(file: file, overrides: overrides) == Configuration())
    }

    @Test func listsHaveCommasOutsideAFile() throws {
        let overrides = ConfigurationOverrides(
            environment: [
                "GAPLESS_LISTEN_ALLOWED_ORIGINS": "https://a.example, http://b.example:1"
            ],
            settings: [
                flag("auth.mode", "jwt"), flag("auth.jwt.secret_file", "secret"),
                flag("auth.jwt.algorithms", "ES256,EdDSA"),
            ])
        let configuration = try Configuration.load(file: nil, overrides: overrides)
        #expect(configuration.listen.allowedOrigins == ["https://a.example", "http://b.example:1"])
        #expect(configuration.auth.jwt.algorithms == [.es256, .edDSA])
    }

    @Test func variablesOfServicesAreNotTakenForKeys() throws {
        let overrides = ConfigurationOverrides(environment: [
            "GAPLESS_SERVICE_HOST": "10.0.0.1", "GAPLESS_SERVICE_PORT": "8000",
            "GAPLESS_SERVICE_PORT_HTTP": "8000", "GAPLESS_PORT": "tcp://10.0.0.1:8000",
            "GAPLESS_PORT_8000_TCP": "tcp://10.0.0.1:8000",
            "GAPLESS_INTERNAL_PORT_9000_TCP_ADDR": "10.0.0.1",
        ])
        #expect(try Configuration.load(file: nil, overrides: overrides) == Configuration())
    }

    @Test func aFlagMayTakeAFilesValueBack() throws {
        let file = try directory.get().file("c.json5", "{auth: {jwt: {issuer: 'x'}}}")
        let overrides = ConfigurationOverrides(settings: [flag("auth.jwt.issuer", "")])
        #expect(try Configuration.load(file: file, overrides: overrides) == Configuration())
    }

    @Test func aSizeAndACountMayBeNumbersInAFile() throws {
        let file = try directory.get().file(
            "c.json5", "{limits: {message: 1024, connections: 0x10, subscriptions: '9'}}")
        let limits = try Configuration.load(file: file, overrides: .init()).limits
        #expect(limits.log.message == 1024)
        #expect(limits.connections == 16)
        #expect(limits.subscriptions == 9)
    }

    @Test(arguments: ConfigurationKey.all.map(\.name))
    func eachKeyReadsItsOwnDefault(_ name: String) throws {
        let key = try #require(ConfigurationKey.byName[name])
        let text = "{a: \(key.literal(Configuration()))}"
        let value = try #require(
            try JSON5Reader.settings(of: Array(text.utf8), path: "f").first?.value)
        var configuration = Configuration()
        #expect(key.assign(value, &configuration))
        #expect(configuration == Configuration())
    }

    @Test(arguments: ConfigurationKey.all.map(\.name))
    func eachKeyRefusesNonsense(_ name: String) throws {
        let key = try #require(ConfigurationKey.byName[name])
        for nonsense: SettingValue in [.string("\u{1}"), .word("\u{7F}"), .list([.list([])])] {
            var configuration = Configuration()
            #expect(!key.assign(nonsense, &configuration))
            #expect(configuration == Configuration())
        }
    }

    @Test func eachNameIsOneKeys() {
        #expect(ConfigurationKey.byName.count == ConfigurationKey.all.count)
        #expect(ConfigurationKey.byEnvironmentName.count == ConfigurationKey.all.count)
        for key in ConfigurationKey.all {
            #expect(key.environmentName.allSatisfy { $0.isUppercase || $0 == "_" })
            #expect(key.documentation.hasSuffix("."))
            #expect(ConfigurationSection.all.contains { $0.name == key.section })
        }
    }

    /// What the gateway derives from other keys, or fixes, in values that it shares with the
    /// configuration.
    private static let derived: Set<String> = [
        "limits.clients", "limits.writeSlice", "limits.recentBytes", "limits.recentBytesInAll",
        "limits.idleStreams", "limits.pacing", "limits.pacingCap", "limits.journal",
        "limits.presence", "limits.shown", "sync.linkDeadline", "sync.trimAfter",
    ]

    @Test func eachPieceOfTheConfigurationHasAKey() {
        var found: Set<String> = []
        /// Counts what is not a structure of its own.
        func leaves(_ value: Any, at path: String) -> Int {
            guard !Self.derived.contains(path) else {
                found.insert(path)
                return 0
            }
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .struct, !(value is Address), !(value is String) else {
                return 1
            }
            return mirror.children.reduce(0) { sum, child in
                let name = child.label ?? ""
                return sum + leaves(child.value, at: path.isEmpty ? name : "\(path).\(name)")
            }
        }
        #expect(leaves(Configuration(), at: "") == ConfigurationKey.all.count)
        #expect(found == Self.derived)
    }
}
