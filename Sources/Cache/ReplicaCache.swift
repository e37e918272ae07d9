import Chat
import Ports
import SQLite
import Wire

/// The cache of another origin, as far as it is written: it performs what the engine decides, each
/// list of writes in one transaction, and says by returning that it is in the file. What is claimed
/// and what is held are thus never apart, whenever the process ends. `Reader` answers from it.
///
/// Owned by the composition root and used on the loop's thread alone, with a connection of its own.
/// A commit is in the hands of the kernel, not on the disk: after a power cut the file is as it was
/// some commits ago, whole and true. Nothing here takes longer than its writes: conversations that
/// are dropped and what a lowered limit does not keep go piece by piece (`tidy`), and the log of
/// writes is brought into the file by another thread.
package final class ReplicaCache {
    /// What `.trim` keeps. A change counts from the next trim of each conversation on.
    package var retention: Retention
    private let connection: Connection
    private let begin: Statement
    private let commit: Statement
    private let rollback: Statement
    private let turn: ReplicaTurn
    private let purge: Purge
    private let checkpoints: Checkpoints
    private let place: FilePlace?
    /// Something may be left of dropped conversations: at first, of an earlier process.
    private var isPurgeDue = true
    private var pagesAtCheckpoint = 0

    /// The replica of a store; there may be one, and no `Writer`.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(_ store: Store, retention: Retention) throws(CacheError) {
        self.retention = retention
        connection = try store.writingConnection(durability: .normal)
        // Left to SQLite, every thousandth page would make one commit wait for two disk flushes.
        _ = try connection.integer("PRAGMA wal_autocheckpoint = 0")
        // Takes the lock before the snapshot: a checkpoint and a transaction that wait for each
        // other are thereby impossible.
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        turn = try ReplicaTurn(
            connection, path: store.options.path,
            mark: String(UInt64.random(in: 0...UInt64.max), radix: 16))
        purge = try Purge(connection)
        checkpoints = Checkpoints(store)
        place = store.place
    }

    /// Performs the writes in order, all of them or none.
    /// - Throws: `CacheError`, when nothing of them is in the file. Where it is a `contradiction`,
    ///   `.drop` of its `conversation` makes room for the truth; where it is of the disk, the same
    ///   may succeed later.
    package func perform(_ writes: [StoreWrite], at now: Timestamp) throws(CacheError) {
        guard !writes.isEmpty else { return }
        try transaction { () throws(CacheError) in
            for write in writes { try turn.perform(write, keeping: retention, at: now) }
        }
        isPurgeDue = isPurgeDue || writes.contains(where: \.leavesRows)
    }

    /// Whether there is work left that nobody waits for.
    package var isTidyingDue: Bool { isPurgeDue || !turn.untrimmed.isEmpty }

    /// Does a small piece of that work: some milliseconds, for a moment with nothing else to do.
    /// - Returns: the conversation that holds less than before, if one does.
    /// - Throws: `CacheError`, if the file can't be written: what is not tidied harms nobody.
    @discardableResult
    package func tidy(at now: Timestamp) throws(CacheError) -> String? {
        if isPurgeDue {
            var isLeft = true
            try transaction { () throws(CacheError) in isLeft = try purge.step() }
            isPurgeDue = isLeft
        } else if let id = turn.untrimmed.first {
            try transaction { () throws(CacheError) in
                try turn.perform(
                    .trim(conversation: id.text), keeping: retention, at: now)
            }
            return id.text
        }
        return nil
    }

    /// Why what was written can't be brought into the file itself, as far as that is known; nil if
    /// it can. Nothing is lost by it, but the log of writes grows.
    package var checkpointFailure: CacheError? { checkpoints.failure }

    /// Writes anything at all, to learn whether the file can be written again.
    /// - Throws: `CacheError`, if not; of a checkpoint that failed, until another one has not.
    package func probe() throws(CacheError) {
        try transaction { () throws(CacheError) in
            // Sets what is set already: unlike a row that stays as it is, this is written all the
            // same.
            try connection.execute("PRAGMA user_version = \(Schema.migrations.count)")
        }
        guard let failure = checkpoints.failure else { return }
        checkpoints.ask()
        throw failure
    }

    /// Brings all writes into the file itself, so that it is whole without the log beside it. To be
    /// called last; it waits for the disk.
    package func stop() { checkpoints.stop() }

    private func transaction(_ body: () throws(CacheError) -> Void) throws(CacheError) {
        defer { turn.forget() }
        try checkpoints.whileLogIsFree { () throws(CacheError) in
            do throws(CacheError) {
                try place?.check()
                try begin.run()
                try body()
                try turn.finish()
                try commit.run()
            } catch {
                // SQLite has ended the transaction by itself after some failures.
                if connection.isInTransaction { try? rollback.run() }
                throw error
            }
        }
        let pages = connection.pagesWritten
        if pages - pagesAtCheckpoint >= Checkpoints.interval {
            pagesAtCheckpoint = pages
            checkpoints.ask()
        }
    }
}

extension StoreWrite {
    /// Whether it may leave the rows of a conversation behind, to be purged.
    fileprivate var leavesRows: Bool {
        switch self {
        case .begin, .drop: true
        case .message, .record, .stand, .hold, .changesFrom, .jump, .trim: false
        }
    }
}
