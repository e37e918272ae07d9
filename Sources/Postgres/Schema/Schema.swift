/// The SQL of a log in Postgres: one readable file that may be applied again and again. It is cut
/// into topics here; what an operator prints, reads and applies is one text.
package struct Schema: Sendable, Hashable {
    /// The version that this program installs, and works with; it works with the next one too.
    package static let version = 1

    /// The schema of the database that everything lies in: `upstream.postgres.schema`.
    package var name: String
    /// Who gateways sign in as, or inherit from.
    package var gatewayRole: String
    /// Who may write from an application: only by the functions that are meant for it.
    package var writerRole: String

    package init(
        name: String = "gapless", gatewayRole: String = "gapless_gateway",
        writerRole: String = "gapless_writer"
    ) {
        self.name = name
        self.gatewayRole = gatewayRole
        self.writerRole = writerRole
    }

    /// The whole file: a transaction, which changes nothing where all of it is there already.
    package var text: String { "begin;\n" + statements + "commit;\n" }

    /// What is in the transaction.
    package var statements: String {
        let parts = [
            Self.opening, Self.tables, Self.values, Self.limits, Self.objects, Self.locking,
            Self.messageWrites, Self.recordWrites, Self.applicationRecords,
            Self.applicationMessages, Self.pages, Self.gatewayReads, Self.gatewayLists,
            Self.gatewayWrites, Self.gatewaySignals, Self.gatewayTrimming, Self.closing,
        ]
        return (parts.joined(separator: "\n\n") + "\n")
            .replacing("{stable}", with: "stable " + Self.safely)
            .replacing("{volatile}", with: "volatile " + Self.safely)
            .replacing("{schema}", with: Self.quoted(name))
            .replacing("{schema_text}", with: Self.literal(name))
            .replacing("{gateway}", with: Self.literal(gatewayRole))
            .replacing("{writer}", with: Self.literal(writerRole))
            .replacing("{version}", with: String(Self.version))
    }

    /// How each function runs: with the owner's rights, and with no name looked up where somebody
    /// else could have put another.
    private static let safely = """
        security definer
          set search_path = pg_catalog, {schema}, pg_temp
        """

    /// A name as SQL takes it, whatever is in it.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// A text as SQL takes it, whatever is in it.
    package static func literal(_ text: String) -> String {
        let doubled = text.replacing("'", with: "''")
        guard doubled.contains("\\") else { return "'" + doubled + "'" }
        return " E'" + doubled.replacing("\\", with: "\\\\") + "'"
    }
}
