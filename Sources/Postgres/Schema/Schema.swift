import CScripts

/// The SQL of a log in Postgres: one readable text that may be applied again and again. Its parts
/// are files by topic, in `Sources/CScripts/sql`; operators print, read and apply one text.
package struct Schema: Sendable, Hashable {
    /// The version that this program installs; it also works with the next one.
    package static let version = 2

    /// The database schema of all objects: `upstream.postgres.schema`.
    package var name: String
    /// The role that gateways sign in as, or inherit from.
    package var gatewayRole: String
    /// The role that may write from an application, only through the functions meant for it.
    package var writerRole: String

    package init(
        name: String = "gapless", gatewayRole: String = "gapless_gateway",
        writerRole: String = "gapless_writer"
    ) {
        self.name = name
        self.gatewayRole = gatewayRole
        self.writerRole = writerRole
    }

    /// The whole file: one transaction, which changes nothing if everything is there already.
    package var text: String { "begin;\n" + statements + "commit;\n" }

    /// The statements of the transaction.
    package var statements: String {
        Self.files.map(Self.file).joined(separator: "\n")
            .replacing("{stable}", with: "stable " + Self.safely)
            .replacing("{volatile}", with: "volatile " + Self.safely)
            .replacing("{schema}", with: Self.quoted(name))
            .replacing("{schema_text}", with: Self.literal(name))
            .replacing("{gateway}", with: Self.literal(gatewayRole))
            .replacing("{writer}", with: Self.literal(writerRole))
            .replacing("{called}", with: Self.namesOfCalled)
            .replacing("{version}", with: String(Self.version))
    }

    /// Two who install, or go up, at a time come one after the other.
    var installationLock: String {
        Self.file("installing").replacing("{schema_text}", with: Self.literal(name))
    }

    /// The parts of the text, in their order.
    private static let files = [
        "opening", "installing", "tables", "values", "objects", "locking", "message_writes",
        "record_writes", "application_records", "application_messages", "pages", "gateway_reads",
        "gateway_lists", "gateway_writes", "gateway_signals", "gateway_presence",
        "gateway_trimming", "closing",
    ]

    private static func file(_ name: String) -> String {
        guard let text = embedded_text("sql/\(name).sql") else {
            preconditionFailure("no file sql/\(name).sql")
        }
        return String(cString: text)
    }

    /// The names of what applications call, as an array.
    private static var namesOfCalled: String {
        let rows = stride(from: 0, to: calledByApplications.count, by: 4).map { start in
            calledByApplications[start...].prefix(4).map(literal).joined(separator: ", ")
        }
        return "array[\n              " + rows.joined(separator: ",\n              ") + "]::name[]"
    }

    /// How each function runs: with the owner's rights, and a search path in which nobody else can
    /// place an object.
    private static let safely = """
        security definer
          set search_path = pg_catalog, {schema}, pg_temp
        """

    /// A quoted SQL identifier, safe for any name.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// A quoted SQL literal, safe for any text.
    package static func literal(_ text: String) -> String {
        let doubled = text.replacing("'", with: "''")
        guard doubled.contains("\\") else { return "'" + doubled + "'" }
        return " E'" + doubled.replacing("\\", with: "\\\\") + "'"
    }
}
