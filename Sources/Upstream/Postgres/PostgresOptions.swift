import Glibc
import Postgres

/// Where Postgres is, and how it is used: `upstream.postgres` and `sync` of the configuration. A
/// value, made once at start.
package struct PostgresOptions: Sendable {
    /// The server as libpq takes it: a URL, or `key=value` words.
    package var url: String
    /// The file with the URL, read for each connection; nil: `url` is used.
    package var urlFile: String?
    /// The database schema with the logs.
    package var schema = "gapless"
    /// The connections for questions and writes; one more listens.
    package var connections = 4
    /// How long a write waits for a lock that another transaction holds.
    package var lockTimeout = Duration.seconds(2)
    /// The messages to keep per conversation; 0: all.
    package var retain = 0
    /// How long (ms) the id of a trimmed message stays known.
    package var retainIds: Int64 = 7 * 24 * 3_600_000
    /// How long (ms) the marks of changes are kept; 0: for ever.
    package var retainMarks: Int64 = 0
    /// The most bytes of the messages in one answer; `limits.reply`.
    package var bytes = 1 << 20
    /// The first backoff before reconnecting; it doubles up to `Backoff.longest`.
    package var backoffBase = Duration.milliseconds(100)
    /// The longest backoff before reconnecting; at most `Backoff.longest`.
    package var backoffMax = Duration.seconds(30)
    /// The deadline in which a dead link is noticed, and a question is answered or refused.
    package var deadline = Duration.seconds(2)
    /// How often the URL is resolved again, to see whether another server has taken over.
    package var verifyInterval = Duration.seconds(60)

    package init(url: String) { self.url = url }

    /// The present URL.
    package func address() throws(PostgresError) -> String {
        guard let urlFile else { return url }
        func failure(_ seen: String) -> PostgresError {
            PostgresError(
                .url, doing: "read", on: urlFile, seen: seen, detail: "upstream.postgres.url_file")
        }
        let descriptor = open(urlFile, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("errno \(errno)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(descriptor, &bytes, bytes.count)
        let line = bytes.prefix(max(0, count)).prefix { $0 != 0x0A && $0 != 0x0D }
        guard !line.isEmpty, count < bytes.count else { throw failure("no line with a URL") }
        return String(decoding: line, as: UTF8.self)
    }

    /// Whether libpq accepts the URL.
    package var isAccepted: Bool { (try? PostgresHosts(url)) != nil }

    /// Checks that libpq accepts the URL, including one from a file.
    /// - Throws: `PostgresError` that names what is wrong, never the URL.
    package func check() throws(PostgresError) {
        _ = try PostgresHosts(try address())
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
