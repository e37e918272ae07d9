import Postgres
import TestSupport
import Testing

/// A database of the shared server with the schema in it.
final class Database {
    let name: String
    let server: PostgresProcess

    /// - Parameter isInstalled: whether the schema is in it.
    init(isInstalled: Bool = true) throws {
        server = try PostgresProcess.shared()
        name = try server.makeDatabase()
        if isInstalled { _ = try Installation(Schema(), session()).install() }
    }

    /// A connection of its own.
    func session(as user: String = "postgres") throws -> SchemaSession {
        try SchemaSession(server.url(name, user: user))
    }
}

extension SchemaSession {
    /// The one value that a statement gives.
    func value(_ statement: String) throws -> String? {
        try run(statement).first?.first ?? nil
    }

    /// Whether a condition holds.
    func holds(_ condition: String) throws -> Bool { try value("select \(condition)") == "t" }

    /// How a statement is refused; nil if it is not.
    func refusal(of statement: String) -> Refusal? {
        do throws(Refusal) {
            try run(statement)
            return nil
        } catch {
            return error
        }
    }

    /// Waits until a lock keeps another session of the database waiting.
    func waitForAnother(_ session: SchemaSession) throws {
        let isWaiting = try Deadline.standard.poll {
            try holds("cardinality(pg_blocking_pids(\(session.process))) > 0")
        }
        #expect(isWaiting, "nobody waits")
    }
}
