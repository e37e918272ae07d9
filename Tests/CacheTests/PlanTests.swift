import Cache
import SQLite
import Testing

/// How SQLite goes about the statements. What costs the same for a short and a long conversation
/// with ten rows in a test may cost a thousand times more with a million, and no figure shows it.
@Suite struct PlanTests {
    private let scratch: Scratch
    private let store: Store
    private let connection: Connection

    init() throws {
        scratch = try Scratch()
        store = try scratch.store()
        connection = try Connection(path: scratch.file(), access: .readWrite)
    }

    private func plan(of sql: String) throws -> [String] {
        try connection.prepare("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
    }

    /// The statements in which SQLite may look at all rows: `state` has one.
    private func isAllowed(_ step: String) -> Bool { step.hasSuffix("state") }

    @Test func noStatementLooksAtAWholeTable() throws {
        let rows = try Rows(connection)
        let writes = try LogWrites(connection)
        let purge = try Purge(connection)
        let coverage = try CoverageRows(connection)
        let trim = try Trim(connection)
        let replica = try ReplicaStatements(connection)
        let statements = connection.statements
        #expect(statements.count > 50)
        for sql in statements {
            for step in try plan(of: sql) where step.contains("SCAN") && !isAllowed(step) {
                Issue.record("\(step): \(sql)")
            }
        }
        withExtendedLifetime((rows, writes, purge, coverage, trim, replica)) {}
    }

    @Test func onlyListsByActivityAreSorted() throws {
        let rows = try Rows(connection)
        for sql in connection.statements where !sql.contains("activity DESC") {
            for step in try plan(of: sql) where step.contains("TEMP B-TREE") {
                Issue.record("\(step): \(sql)")
            }
        }
        withExtendedLifetime(rows) {}
    }

    /// A count over the conversation instead of its few tombstones takes milliseconds per reply.
    @Test func deletedMessagesAreCountedByThemselves() throws {
        let rows = try Rows(connection)
        let counts = connection.statements.filter { $0.contains("deleted = 1") }
        #expect(counts.count == 1)
        for sql in counts {
            let plan = try plan(of: sql)
            #expect(plan.allSatisfy { $0.contains("message_deleted") }, "\(plan)")
        }
        withExtendedLifetime(rows) {}
    }

    @Test func changesAreFoundByTheirIndex() throws {
        let rows = try Rows(connection)
        let changes = connection.statements.filter {
            $0.contains("rev > ?") && !$0.contains("FROM reaction")
        }
        let trees = ["USING COVERING INDEX message_rev (", "place_by_rev USING PRIMARY KEY ("]
        for sql in changes where sql.contains("UNION ALL") {
            let plan = try plan(of: sql)
            for tree in trees { #expect(plan.contains { $0.contains(tree) }, "\(plan)") }
        }
        // Of a tail all are looked at.
        let others = changes.filter { !$0.contains("UNION ALL") }
        #expect(changes.count == 4 && others.count == 2)
        #expect(others.allSatisfy { $0.contains("FROM tail") })
        withExtendedLifetime(rows) {}
    }
}
