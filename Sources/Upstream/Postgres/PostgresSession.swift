import JSON
import Postgres

/// A connection that is ready for use: the schema has a supported version, the server is a primary,
/// and its identity is known. Made and used on the thread of its link.
struct PostgresSession {
    let connection: PostgresConnection
    let identity: PostgresIdentity
    /// The channels of the installation: for changes of logs, and for other events.
    let channel: String
    let signals: String
    /// The server's process for this connection.
    let process: Int
    /// The oldest transaction that may become visible from now on.
    let place: Int

    /// The schema version that this program works with; it also works with the next one.
    static let version = Schema.version

    /// - Parameters:
    ///   - host: the host to connect to, of several; nil: libpq chooses.
    ///   - isCancelled: polled until the server answers; true ends the attempt.
    /// - Throws: `PostgresError`, if the server can't be used.
    init(
        _ options: PostgresOptions, at host: PostgresHosts.Host? = nil,
        isCancelled: () -> Bool = { false }
    ) throws(PostgresError) {
        let deadline = ContinuousClock.now + options.deadline
        var settings = [("client_encoding", "UTF8")]
        if let host {
            settings += [("host", host.name), ("port", host.port)]
            if let address = host.address { settings.append(("hostaddr", address)) }
        }
        let connection = try PostgresConnection(
            try options.address(), settings, until: deadline, isCancelled: isCancelled)
        self.connection = connection
        let limit = options.lockTimeout + options.deadline
        let setting = PostgresConnection.Statement(
            """
            select set_config('lock_timeout', $1, false), \
            set_config('statement_timeout', $2, false), set_config('jit', 'off', false), \
            set_config('default_transaction_isolation', 'read committed', false), \
            set_config('synchronous_commit', case current_setting('synchronous_commit') \
            when 'off' then 'on' when 'local' then 'on' \
            else current_setting('synchronous_commit') end, false)
            """,
            ["\(options.lockTimeout.milliseconds)ms", "\(limit.milliseconds)ms"]
                .map { Array($0.utf8) })
        let statement = "select \(Schema.quoted(options.schema)).gateway_hello()"
        let results: [PostgresResult]
        do throws(PostgresError) {
            results = try connection.exchange([setting, .init(statement)], until: deadline)
        } catch {
            throw Self.explained(error, options, connection)
        }
        guard let text = results.last?.rows.first?.first ?? nil,
            let hello = try? JSONObject(text)
        else {
            throw Self.otherSchema(
                connection, seen: "no answer of gateway_hello", "gapless postgres check --url URL")
        }
        guard hello["recovery"]?.bool != true else {
            throw PostgresError(
                .standby, doing: "use", on: connection.server, seen: "a standby",
                detail: "needed: the primary")
        }
        let version = hello["version"]?.int ?? 0
        let minimum = hello["minimum"]?.int ?? version
        guard version == Self.version || version == Self.version + 1, minimum <= Self.version else {
            throw Self.otherSchema(
                connection, seen: "schema \(options.schema) is of version \(version)",
                version < Self.version
                    ? "gapless postgres upgrade --url URL, as its owner"
                    : "gapless version, and install a newer one")
        }
        guard let system = hello["system"]?.string, let started = hello["started"]?.int,
            let channel = hello["channel"]?.string, let signals = hello["signals"]?.string
        else {
            throw Self.otherSchema(
                connection, seen: "gateway_hello without a name",
                "gapless postgres check --url URL")
        }
        identity = PostgresIdentity(
            system: system, timeline: hello["timeline"]?.int ?? 0, started: started)
        self.channel = channel
        self.signals = signals
        process = hello["pid"]?.int ?? 0
        place = hello["place"]?.int ?? 0
    }

    /// The newest of the servers that the URL names and that answer, and where it is; nil: the URL
    /// names one, and libpq finds it.
    /// - Throws: `PostgresError` of the first that would not do, if none does.
    static func newest(
        _ options: PostgresOptions, isCancelled: () -> Bool
    ) throws(PostgresError) -> (session: PostgresSession, host: PostgresHosts.Host?) {
        let hosts = try PostgresHosts(try options.address()).all
        guard hosts.count > 1 else {
            return (try PostgresSession(options, isCancelled: isCancelled), nil)
        }
        var best: (session: PostgresSession, host: PostgresHosts.Host?)?
        var failure: PostgresError?
        for host in hosts {
            do throws(PostgresError) {
                let session = try PostgresSession(options, at: host, isCancelled: isCancelled)
                if let known = best?.session.identity, !session.identity.follows(known) { continue }
                best = (session, host)
            } catch {
                failure = failure ?? error
            }
        }
        guard let best else {
            throw failure
                ?? PostgresError(
                    .unreachable, doing: "connect to", on: "Postgres", seen: "no server",
                    detail: "upstream.postgres.url")
        }
        return best
    }

    private static func explained(
        _ error: PostgresError, _ options: PostgresOptions, _ connection: PostgresConnection
    ) -> PostgresError {
        // A prepared statement of ours exists already, or is missing: another process of the server
        // answered.
        let names = ["42P05", "26000"]
        if error.code == .refused, names.contains(where: error.description.contains) {
            return .pooler(connection.server)
        }
        guard error.code == .refused else { return error }
        // Undefined function or schema.
        if ["42883", "3F000"].contains(where: error.description.contains) {
            return otherSchema(
                connection, seen: "there is no schema \(options.schema)",
                "gapless postgres install --url URL, as the database's owner")
        }
        guard error.description.contains("42501") else { return error }
        return PostgresError(
            .refused, doing: "use", on: connection.server, seen: error.description,
            detail: "needed: the rights of a gateway on schema \(options.schema); type: gapless"
                + " postgres check --url URL")
    }

    /// - Parameter line: the command for an administrator.
    private static func otherSchema(
        _ connection: PostgresConnection, seen: String, _ line: String
    ) -> PostgresError {
        PostgresError(
            .schema, doing: "use", on: connection.server, seen: seen,
            detail: "needed: version \(version) or \(version + 1); type: \(line)")
    }
}

extension PostgresOptions {
    /// Checks once that the database has a schema that this program works with. If the server is
    /// away nothing is checked: a gateway starts without its origin.
    /// - Throws: `PostgresError.schema` with the command to type.
    package func checkSchema() throws(PostgresError) {
        do throws(PostgresError) {
            _ = try PostgresSession(self)
        } catch {
            if error.code == .schema { throw error }
        }
    }
}
