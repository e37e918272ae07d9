import Glibc
import Postgres

/// Where Postgres is, and how it is used: what the configuration says under `upstream.postgres` and
/// `sync`. A value that is made once at start.
package struct PostgresOptions: Sendable {
    /// The server as libpq takes it: a URL, or `key=value` words.
    package var url: String
    /// The file that holds the URL, read with each connection; nil: `url` has it.
    package var urlFile: String?
    /// The schema of the database in which the logs are.
    package var schema = "gapless"
    /// How many connections there are for questions and writes; one more listens.
    package var connections = 4
    /// How long a write waits for a conversation that another transaction has locked.
    package var lockTimeout = Duration.seconds(2)
    /// How many messages of a conversation are kept; 0: all.
    package var retain = 0
    /// For how many milliseconds the id of a message is known that is kept no longer.
    package var retainIds: Int64 = 7 * 24 * 3_600_000
    /// For how many milliseconds the marks of changes are kept; 0: for ever.
    package var retainMarks: Int64 = 0
    /// What the messages of one answer may take; `limits.reply`.
    package var bytes = 1 << 20
    /// The first wait before a new try to connect; it doubles up to `Backoff.longest`.
    package var backoffBase = Duration.milliseconds(100)
    /// The longest wait before a new try to connect; at most `Backoff.longest` counts.
    package var backoffMax = Duration.seconds(30)
    /// Within this time a dead link is noticed, and a question is answered or refused.
    package var deadline = Duration.seconds(2)
    /// How often the URL is resolved anew, to see whether another server has taken over.
    package var verifyInterval = Duration.seconds(60)

    package init(url: String) { self.url = url }

    /// The URL, as it is now.
    /// - Throws: `PostgresError.url`, if its file can't be read.
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

    /// Whether libpq takes the URL.
    package var isAccepted: Bool { (try? PostgresHosts(url)) != nil }

    /// Whether libpq takes the URL, where it comes from a file too.
    /// - Throws: `PostgresError`, which names what is wrong, never the URL.
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
