/// Why a connection to Postgres is missing or can't be used. Shown in the log and in health; the
/// message names the action, the server and what was seen, and never holds a password or anything
/// that a user wrote.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, as far as an operator can act on it.
    package enum Code: String, Sendable, Hashable {
        /// libpq does not accept the URL, or its file can't be read.
        case url
        /// No server answers, or it refuses us; libpq's text says which.
        case unreachable
        /// The server does not accept the user or the password.
        case credentials
        /// The server has no connection left.
        case full
        /// An answer did not come within the deadline.
        case deadline
        /// The connection was closed or broke.
        case broken
        /// The server refused a statement.
        case refused
        /// A pooler between us and the server drops notifications.
        case pooler
        /// The server is a standby.
        case standby
        /// It is another server than the feed's.
        case stranger
        /// The schema is missing, or of a version that this program does not support.
        case schema
    }

    package let code: Code
    /// `<doing what> <on what>: <what was seen> (<limit or code>)`
    package let description: String

    package init(
        _ code: Code, doing: String, on server: String, seen: String, detail: String
    ) {
        self.code = code
        description = "\(doing) \(server): \(seen) (\(detail))"
    }
}

/// The result of a statement.
package struct PostgresResult: Sendable {
    /// Why the server refused a statement, or can't vouch for its transaction.
    package struct Refusal: Sendable, Hashable {
        /// The SQLSTATE, five characters.
        package var state: String
        /// The server's text; nil if it may quote a value.
        package var text: String?
        /// Whether the transaction is committed nevertheless, and perhaps only here.
        package var isCommitted: Bool

        package init(state: String, text: String?, isCommitted: Bool = false) {
            self.state = state
            self.text = text
            self.isCommitted = isCommitted
        }
    }

    /// The rows, each with its columns as text; nil for NULL.
    package var rows: [[[UInt8]?]] = []
    package var refusal: Refusal?

    package init() {}

    /// The text of a column; nil if there is none.
    package func text(_ row: Int, _ column: Int) -> String? {
        guard rows.indices.contains(row), rows[row].indices.contains(column) else { return nil }
        return rows[row][column].map { String(decoding: $0, as: UTF8.self) }
    }
}

/// A notification (`NOTIFY`).
package struct PostgresNotification: Sendable, Hashable {
    package var channel: String
    package var payload: String
}
