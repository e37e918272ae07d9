import Configuration
import WebSockets

/// Bounds of HTTP requests on both listeners, and of files that are read.
extension Bound {
    init(_ route: APIRoute) {
        let body: String
        let rows: String
        switch route {
        case .messages: (body, rows) = ("1,000 × (`limits.message` + 1 KiB), 4 MiB", "1,000")
        case .message: (body, rows) = ("64 KiB + 6 × `limits.message`", "3")
        case .reaction: (body, rows) = (Self.small, "4, and what the message shows of reactions")
        case .conversation: (body, rows) = ("4 MiB", "those who are named")
        case .participant: (body, rows) = ("256 KiB", "3")
        case .heads: (body, rows) = ("2 MiB", "1,000")
        case .conversations, .changes: (body, rows) = (Self.small, "1,000 a page; `limits.reply`")
        case .participants: (body, rows) = (Self.small, "those who take part")
        case .boundaries: (body, rows) = (Self.small, "the runs that are held")
        case .presences, .presence: (body, rows) = (Self.small, "`limits.presence`")
        case .gaps: (body, rows) = (Self.small, "the gaps that are open")
        case .disconnect: (body, rows) = (Self.small, "that user's connections")
        }
        self.init(
            "`\(route.rawValue)`", size: body, rows: rows, memory: "body and answer",
            payer: "the caller with the key; `limits.http_connections`",
            beyond: "401 before the body is read; 413; 503")
    }

    private static let small = "64 KiB"

    /// Bounds of input that is neither a method nor the server API.
    static let listeners: [Bound] = [
        Bound(
            "a connection", size: "none", memory: "a descriptor, some KiB",
            payer: "`limits.connections`, `_per_user`, `_per_address`",
            beyond: "3004; closed at once where descriptors run out"),
        Bound(
            "a request's head", size: "16 KiB, 100 fields, 4 empty lines before it",
            payer: "the connection, for 10 s", beyond: "400, 431; closed"),
        Bound(
            "`/v1/ws`", size: "no body", payer: "the connection",
            beyond: "426 without an upgrade; 403 by `Origin`; 503 while it drains"),
        Bound(
            "`/` and the page's files", size: "no body", memory: "the file, read at the start",
            payer: "the toll; `limits.http_connections`", beyond: slowedRequests),
        Bound(
            "any request without a key", size: "no body", memory: "its answer",
            payer: "the toll; `limits.http_connections`", beyond: slowedRequests),
        Bound(
            "internal: `/health*`, `/livez`, `/readyz`, `/metrics`", size: "no body",
            memory: "its answer", payer: "nobody: keep the listener inside", beyond: "405, 413"),
        Bound(
            "internal: `/books`, `/`, `/explain`, `/events`", size: "no body",
            rows: "the conversations in memory", memory: "its answer",
            payer: "the caller (Host, password)",
            beyond: "403, 401, 404; `/events`: 8 at once, 503"),
    ]

    private static let slowedRequests = "401, 404, 503; 200 at once, 50 a second"

    init(_ file: IncomingFile) {
        let size =
            switch file {
            case .configuration: "\(JSON5Reader.largestFile >> 10) KiB"
            case .apiKeys, .internalPassword: "1 MiB, 64 lines"
            case .jwks: "1 MiB, 64 keys"
            case .jwtSecret, .publicKey, .redisPassword: "1 MiB"
            case .postgresURL: "8 KiB, its first line"
            case .certificate, .certificateKey, .redisAuthorities, .redisCertificate, .redisKey:
                "as OpenSSL reads it"
            case .cache: "the disk; read through at the start up to 256 MiB"
            case .replay: "1 GiB"
            }
        self.init(
            "file: \(file.rawValue)", size: size, memory: "its content",
            payer: "the operator, at the start and at SIGHUP",
            beyond: file == .cache
                ? "a cache is put aside, a log stops the start"
                : "the start stops with its name; at SIGHUP the old one stays")
    }
}

/// The files that a gateway reads but did not write, and its cache.
package enum IncomingFile: String, Sendable, CaseIterable {
    case configuration = "`--config`"
    case apiKeys = "`auth.api_key_file`"
    case jwtSecret = "`auth.jwt.secret_file`"
    case publicKey = "`auth.jwt.public_key_file`"
    case jwks = "`auth.jwt.jwks_file`"
    case internalPassword = "`listen.internal_password_file`"
    case certificate = "`listen.tls.certificate`"
    case certificateKey = "`listen.tls.key`"
    case redisPassword = "`upstream.redis.password_file`"
    case redisAuthorities = "`upstream.redis.tls.ca_file`"
    case redisCertificate = "`upstream.redis.tls.certificate`"
    case redisKey = "`upstream.redis.tls.key`"
    case postgresURL = "`upstream.postgres.url_file`"
    case cache = "`cache.path`"
    case replay = "`gapless replay FILE`"
}
