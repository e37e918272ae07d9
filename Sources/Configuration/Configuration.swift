import Crypto
import Engine
import Ports
import Rules

/// All settings of an operator, with their defaults: `protocol.md` 8 as types. Times are
/// milliseconds, sizes are bytes. A value; what each key accepts and means is declared in
/// `ConfigurationKey.all`.
package struct Configuration: Sendable, Equatable {
    package var listen = Listen()
    package var auth = Auth()
    package var clients = Clients()
    package var cache = Cache()
    package var upstream = Upstream()
    package var sync = SyncOptions()
    package var limits = Limits()
    package var presence = PresenceOptions()
    package var fanout = Fanout()
    package var journal = JournalSize(bytes: 16 << 20, age: 3_600_000)
    package var drain = Drain()
    package var health = Health()
    package var log = Log()
    package var page = Page()
    package var demo = Demo()

    /// The defaults.
    package init() {}

    package struct Listen: Sendable, Equatable {
        package var `public` = Address(host: "127.0.0.1", port: 8000)
        package var `internal` = Address(host: "127.0.0.1", port: 9000)
        package var tls = TLS()
        package var allowedOrigins: [String] = []
        package var internalHosts: [String] = []
        package var internalPasswordFile: String?
        /// Requests of the public listener that are no upgrades.
        package var httpConnections = 1_000

        package struct TLS: Sendable, Equatable {
            package var certificate: String?
            package var key: String?
        }
    }

    package struct Auth: Sendable, Equatable {
        package var mode = Mode.open
        package var jwt = JWT()
        package var apiKeyFile: String?
        package var allowInsecure = false

        package enum Mode: String, Sendable, CaseIterable { case open, jwt }

        package struct JWT: Sendable, Equatable {
            package var algorithms: [SignatureAlgorithm] = []
            package var secretFile: String?
            package var publicKeyFile: String?
            package var jwksFile: String?
            package var issuer: String?
            package var audience: String?
            package var leeway: Milliseconds = 30_000
        }
    }

    package struct Clients: Sendable, Equatable {
        /// nil: the default that `auth.mode` implies.
        package var create: ClientPolicy.Creation?
        package var send = Permission.yes
        package var edit = Permission.yes
        package var react = Permission.yes
        package var presence = Permission.yes
        package var mentionAll = ClientPolicy.MentioningAll.admins

        package enum Permission: String, Sendable, CaseIterable { case yes, no }
    }

    package struct Cache: Sendable, Equatable {
        package var path = "gapless.db"
        package var retainMessages = 0
        package var retainAge: Milliseconds = 0

        /// Whether messages are kept for ever.
        package var keepsAll: Bool { retainMessages == 0 && retainAge == 0 }
    }

    package struct Upstream: Sendable, Equatable {
        package var kind = Kind.embedded
        package var redis = Redis()
        package var postgres = Postgres()

        package enum Kind: String, Sendable, CaseIterable { case embedded, redis, postgres }

        package struct Postgres: Sendable, Equatable {
            package var url = "postgres://127.0.0.1:5432/gapless"
            package var urlFile: String?
            package var schema = "gapless"
            package var roles = Roles()
            package var connections = 4
            package var lockTimeout: Milliseconds = 2_000
            package var retain = 0
            package var retainIds: Milliseconds = 7 * 24 * 3_600_000
            package var retainMarks: Milliseconds = 0

            package struct Roles: Sendable, Equatable {
                package var gateway = "gapless_gateway"
                package var writer = "gapless_writer"
            }
        }

        package struct Redis: Sendable, Equatable {
            package var url = "redis://127.0.0.1:6379/0"
            package var sentinels: [Address] = []
            package var master: String?
            package var cluster = false
            package var prefix = "gapless:"
            package var retain = 0
            package var retainIds: Milliseconds = 7 * 24 * 3_600_000
            package var passwordFile: String?
            package var tls = TLS()

            package struct TLS: Sendable, Equatable {
                package var caFile: String?
                package var certificate: String?
                package var key: String?
                package var serverName: String?
            }
        }
    }

    package struct Fanout: Sendable, Equatable {
        package var loops = 0
        package var pacing = 1.0
        package var gather: Milliseconds = 1
    }

    package struct Drain: Sendable, Equatable {
        package var window: Milliseconds = 10_000
        package var deadline: Milliseconds = 30_000
    }

    package struct Health: Sendable, Equatable {
        package var readyGrace: Milliseconds = 0
    }

    package struct Log: Sendable, Hashable {
        package var level = Level.info
        package var format = Format.logfmt

        package typealias Level = LogEvent.Level
        package enum Format: String, Sendable, CaseIterable { case logfmt, json }
    }

    package struct Page: Sendable, Equatable {
        package var enabled = true
    }

    package struct Demo: Sendable, Equatable {
        package var enabled = false
        package var supervisor: Address?
    }
}
