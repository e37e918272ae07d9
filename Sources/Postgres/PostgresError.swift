/// Why a connection to Postgres is not there or not of use. Shown in the log and in health; the
/// message names what was done, where, and what was seen, and never carries a password or anything
/// that a user wrote.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong, as far as somebody can act on it.
    package enum Code: String, Sendable, Hashable {
        /// The URL is none that libpq takes, or its file can't be read.
        case url
        /// No server answers, or it refuses us: libpq's own words say which.
        case unreachable
        /// What was asked for did not come in time.
        case deadline
        /// The connection was closed or broke.
        case broken
        /// The server refused a statement.
        case refused
        /// There is something between us and the server that takes notifications away.
        case pooler
        /// The server only follows another one.
        case standby
        /// It is another server than the one that the feed comes from.
        case stranger
        /// The schema is not there, or another version than this program works with.
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

/// What a statement came to.
package struct PostgresResult: Sendable {
    /// Why the server refused a statement.
    package struct Refusal: Sendable, Hashable {
        /// Five characters, SQLSTATE.
        package var state: String
        /// The server's own words; nil where they may quote a value.
        package var text: String?

        package init(state: String, text: String?) {
            self.state = state
            self.text = text
        }
    }

    /// The rows, each with its columns as text; nil is NULL.
    package var rows: [[[UInt8]?]] = []
    package var refusal: Refusal?

    package init() {}

    /// The text of a column; nil if there is none.
    package func text(_ row: Int, _ column: Int) -> String? {
        guard rows.indices.contains(row), rows[row].indices.contains(column) else { return nil }
        return rows[row][column].map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Somebody's `NOTIFY`.
package struct PostgresNotification: Sendable, Hashable {
    package var channel: String
    package var payload: String
}
