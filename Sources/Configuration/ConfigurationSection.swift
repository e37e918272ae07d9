/// A section of the configuration, for `genconfig` and `configdoc`. Keys belong to the section that
/// their name begins with, in the order of the keys.
struct ConfigurationSection: Sendable {
    let name: String
    let documentation: String

    static let all: [ConfigurationSection] = [
        .init(name: "listen", documentation: "Addresses."),
        .init(name: "listen.tls", documentation: "TLS of the public listener; both keys or none."),
        .init(name: "auth", documentation: "Who may connect, and who may call the server API."),
        .init(
            name: "auth.jwt",
            documentation: "Tokens. A key is bound to its algorithm; secrets come from files,"
                + " which are read at the start and at each reload."),
        .init(name: "clients", documentation: "What clients may write at all."),
        .init(name: "cache", documentation: "The SQLite cache."),
        .init(name: "upstream", documentation: "The chat backend."),
        .init(name: "upstream.redis", documentation: "Used by upstream.kind redis."),
        .init(
            name: "upstream.redis.tls",
            documentation: "TLS, where the url begins with rediss://. Certificates are always"
                + " verified; the files are read with each connection."),
        .init(name: "upstream.postgres", documentation: "Used by upstream.kind postgres."),
        .init(
            name: "upstream.postgres.roles",
            documentation: "For gapless postgres install: roles of the database."),
        .init(name: "sync", documentation: "How holes are found and filled."),
        .init(name: "limits", documentation: "Bounds on what clients can ask of the gateway."),
        .init(name: "presence", documentation: "Whether users are there."),
        .init(name: "fanout", documentation: "How events are written to clients."),
        .init(name: "journal", documentation: "What the gateway remembers, to explain it."),
        .init(name: "drain", documentation: "How the gateway stops."),
        .init(name: "health", documentation: "What health tells."),
        .init(name: "log", documentation: "The log, on standard error."),
        .init(name: "page", documentation: "The browser client."),
        .init(name: "demo", documentation: "The demonstration."),
    ]

    /// Its own keys, without those of inner sections.
    var keys: [ConfigurationKey] { ConfigurationKey.all.filter { $0.section == name } }
    /// Its direct subsections.
    var sections: [ConfigurationSection] {
        Self.all.filter { section in
            section.name.hasPrefix(name + ".")
                && !section.name.dropFirst(name.count + 1).contains(".")
        }
    }
    /// Its name within the outer section.
    var shortName: Substring { name.split(separator: ".").last ?? "" }
}
