/// A schema in a database, for `gapless postgres install`, `check` and `upgrade`. The session is
/// that of its owner.
package struct Installation {
    package let schema: Schema
    package let session: SchemaSession

    package init(_ schema: Schema, _ session: SchemaSession) {
        self.schema = schema
        self.session = session
    }

    /// Why an installation or an upgrade was refused.
    package struct Refused: Error, Sendable, Hashable {
        package var text: String
    }

    /// The installed version; nil: none.
    /// - Throws: `SchemaSession.Refusal`
    package func version() throws(SchemaSession.Refusal) -> Int? {
        let name = Schema.quoted(schema.name)
        let found = try session.run("select to_regclass($1)", ["\(name).installation"])
        guard found.first?.first ?? nil != nil else { return nil }
        let rows = try session.run("select version from \(name).installation")
        return rows.first?.first?.flatMap { Int($0) } ?? nil
    }

    /// Applies the file; existing objects stay.
    /// - Returns: The server's warnings.
    /// - Throws: `Refused`, or the server's error.
    package func install() throws -> [String] {
        if let version = try version(), version != Schema.version {
            throw Refused(
                text: "schema \(schema.name) is at version \(version), this program installs"
                    + " \(Schema.version): "
                    + (version < Schema.version
                        ? "gapless postgres upgrade goes up" : "use a later gapless"))
        }
        _ = session.notices()
        try steadily { () throws(SchemaSession.Refusal) in
            try makeIndexes()
            try session.run(schema.text)
        }
        return session.notices()
    }

    /// How long to try again where others hold what an installation needs.
    private static let patience = Duration.seconds(60)

    /// Repeats a step that met the locks of others. Each try waits for a lock for a second at most,
    /// since meanwhile nobody else gets it, and lets go of all that it has.
    private func steadily<Failure: Error>(_ step: () throws(Failure) -> Void) throws {
        let limit = ContinuousClock.now + Self.patience
        while true {
            do {
                return try step()
            } catch let refusal as SchemaSession.Refusal {
                _ = try? session.run("rollback")
                guard ["55P03", "40P01"].contains(refusal.state) else { throw refusal }
                guard ContinuousClock.now < limit else {
                    throw Refused(
                        text: "others held the locks that this needs for \(Self.patience):"
                            + " \(refusal); try again when no long transaction is open")
                }
                try session.run("select pg_sleep(0.3)")
            }
        }
    }

    /// Makes the indexes that tables which are there already lack, one at a time.
    private func makeIndexes() throws(SchemaSession.Refusal) {
        guard try version() != nil else { return }
        let present = Set(try session.run(Self.indexes, [schema.name]).compactMap { $0[0] })
        for name in schema.indexes.keys.sorted() where !present.contains(name) {
            do throws(SchemaSession.Refusal) {
                try session.run(schema.makingIndex(name))
            } catch {
                // What it is for, a table or a column, comes with the rest.
                guard ["42P01", "42703"].contains(error.state) else { throw error }
                try session.run("rollback")
            }
        }
    }

    /// Writes the limits for values that applications write in SQL, by their names in `settings`.
    /// - Throws: The server's error.
    package func hold(_ limits: [String: Int]) throws(SchemaSession.Refusal) {
        for (name, value) in limits {
            try session.run(
                "update \(Schema.quoted(schema.name)).settings set value = $2 where name = $1",
                [name, String(value)])
        }
    }

    /// Upgrades to this version, or replaces functions of this version that differ. Functions that
    /// must be dropped for that are dropped, unless something depends on one: then nothing is done.
    /// - Returns: What was done, a line each.
    /// - Throws: `Refused`, or the server's error.
    package func upgrade() throws -> [String] {
        guard let version = try version() else {
            throw Refused(
                text: "schema \(schema.name) is not installed: gapless postgres install does that")
        }
        guard version <= Schema.version else {
            throw Refused(
                text: "schema \(schema.name) is at version \(version), this program goes up to"
                    + " \(Schema.version): use a later gapless")
        }
        var dropped: [String] = []
        do {
            try steadily {
                try makeIndexes()
                try session.run("begin; set local lock_timeout = '1s'")
                // Two who do so at a time come one after the other.
                try session.run(schema.installationLock)
                dropped = try dropSuperseded()
                try session.run(schema.statements)
                try session.run("commit")
            }
        } catch {
            _ = try? session.run("rollback")
            throw error
        }
        return dropped.map { "dropped \($0)" } + session.notices()
            + ["schema \(schema.name) is at version \(Schema.version)"]
    }

    /// What of the schema's functions is compared.
    private func presentFunctions() throws(SchemaSession.Refusal) -> [[String?]] {
        func array(_ names: [String]) -> String { "{\(names.joined(separator: ","))}" }
        return try session.run(
            Self.functions,
            [
                schema.name, schema.gatewayRole, array(Schema.calledByGateways),
                schema.writerRole, array(Schema.calledByApplications),
            ])
    }

    /// Drops the functions that this version does not have, or has with other arguments or another
    /// result: a new one beside them would make calls ambiguous, or can't take their place.
    private func dropSuperseded() throws -> [String] {
        let wanted = schema.functions
        var dropped: [String] = []
        for row in try presentFunctions() {
            guard let name = row[0], let signature = row[1], row[2] != wanted[name]?.signature
            else { continue }
            let dependents = try session.run(Self.dependents, [signature])
                .compactMap { $0.first ?? nil }
            guard dependents.isEmpty else {
                throw Refused(
                    text: "\(signature) has to be dropped, and these depend on it: "
                        + dependents.joined(separator: ", ")
                        + "; drop them, and make them again afterwards")
            }
            try session.run("drop function \(signature)")
            dropped.append(signature)
        }
        return dropped
    }

    // MARK: - Checking

    /// What is missing, differs or is dangerous, a line each; empty if there is nothing.
    /// - Throws: The server's error.
    package func faults() throws(SchemaSession.Refusal) -> [String] {
        let dangers = try session.run(Self.dangers).compactMap { $0.first ?? nil }
        guard let version = try version() else {
            return ["missing: schema \(schema.name) (gapless postgres install makes it)"] + dangers
        }
        var faults: [String] = []
        if version != Schema.version {
            faults.append(
                "differs: version \(version), this program has \(Schema.version)"
                    + " (gapless postgres upgrade goes up)")
        }
        faults += try functionFaults()
        faults += try tableFaults()
        faults += try rightFaults()
        return faults + dangers
    }

    private func functionFaults() throws(SchemaSession.Refusal) -> [String] {
        let wanted = schema.functions
        var missing = Set(wanted.keys)
        var faults: [String] = []
        for row in try presentFunctions() {
            guard let name = row[0], let signature = row[1] else { continue }
            guard let function = wanted[name] else {
                faults.append("differs: function \(signature) is none of this version")
                continue
            }
            if let found = row[2], found != function.signature {
                faults.append(
                    "differs: function \(signature) is \(found), not \(function.signature)")
            } else {
                missing.remove(name)
                if row[3] != function.body {
                    faults.append("differs: body of function \(signature)")
                }
            }
            if row[4] != "t" { faults.append("differs: \(signature) is not security definer") }
            if let settings = row[5] {
                faults.append(
                    settings.hasSuffix(", pg_temp")
                        ? "dangerous: \(signature) runs with \(settings)"
                        : "dangerous: search_path of \(signature) does not end with pg_temp")
            }
            if row[6] == "t" {
                faults.append("dangerous: everybody may execute \(signature)")
            }
            if (row[7] == "s") != function.isStable || row[8] == "t" {
                faults.append("differs: volatility of \(signature)")
            }
            if let owner = row[9] {
                faults.append(
                    "dangerous: \(signature) belongs to \(owner), not to the owner of the schema")
            }
            if let others = row[10] {
                faults.append("dangerous: \(others) may execute \(signature)")
            }
        }
        return missing.sorted().map { "missing: function \($0)" } + faults
    }

    private func tableFaults() throws(SchemaSession.Refusal) -> [String] {
        let keys = schema.primaryKeys.mapValues { $0.joined(separator: ", ") }
        return try differences("column", Self.columns, schema.columns)
            + differences("primary key of table", Self.primaryKeys, keys)
            + differences("index", Self.indexes, schema.indexes)
    }

    /// What is missing or differs of things of one kind.
    private func differences(
        _ kind: String, _ question: String, _ wanted: [String: String]
    ) throws(SchemaSession.Refusal) -> [String] {
        var present: [String: String] = [:]
        for row in try session.run(question, [schema.name]) {
            guard let name = row[0], let value = row[1] else { continue }
            present[name] = value
        }
        return wanted.sorted { $0.key < $1.key }.compactMap { name, value in
            guard let found = present[name] else { return "missing: \(kind) \(name)" }
            return found == value ? nil : "differs: \(kind) \(name) is \(found), not \(value)"
        }
    }

    private func rightFaults() throws(SchemaSession.Refusal) -> [String] {
        let strangers = try session.run(Self.strangers, [schema.name])
            .compactMap { $0.first ?? nil }
        var faults = strangers.map { "dangerous: \($0)" }
        for (role, called) in [
            (schema.gatewayRole, Schema.calledByGateways),
            (schema.writerRole, Schema.calledByApplications),
        ] {
            let rows = try session.run(
                Self.rights, [schema.name, role, "{\(called.joined(separator: ","))}"])
            faults += rows.compactMap { $0.first ?? nil }.map { "missing: \($0)" }
        }
        return faults
    }
}
