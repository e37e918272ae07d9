import SQLite

/// The statements around the writes of one connection.
struct Transactions: ~Copyable {
    private let connection: Connection
    private let begin: Statement
    private let commit: Statement
    private let rollback: Statement

    /// - Throws: `CacheError`, if the statements can't be prepared.
    init(_ connection: Connection) throws(CacheError) {
        // Takes the write lock before the snapshot, so that a checkpoint and a transaction can't
        // wait for each other.
        let begin = try connection.prepare("BEGIN IMMEDIATE")
        let commit = try connection.prepare("COMMIT")
        let rollback = try connection.prepare("ROLLBACK")
        self.connection = connection
        self.begin = begin
        self.commit = commit
        self.rollback = rollback
    }

    /// Writes in one transaction: all of it or, after an error, nothing.
    /// - Throws: `CacheError`, of `body` or of the file.
    func perform(_ body: () throws(CacheError) -> Void) throws(CacheError) {
        do throws(CacheError) {
            try begin.run()
            try body()
            try commit.run()
        } catch {
            // After some failures SQLite has ended the transaction itself.
            if connection.isInTransaction { try? rollback.run() }
            throw error
        }
    }
}
