import Chat
import Ports
import SQLite
import Wire

/// The writing half of the cache of another origin: it performs the engine's writes, each list in
/// one transaction, and returns once it is committed. So what the file claims and what it holds
/// always agree, whenever the process ends. `Reader` answers from it.
///
/// Owned by the composition root and used on the loop's thread alone, with a connection of its own.
/// A commit is with the kernel, not on the disk: after a power cut the file is as it was some
/// commits ago, but consistent. No call takes longer than its writes: dropped conversations, and
/// messages that a lowered limit no longer keeps, are deleted in pieces (`tidy`), and another
/// thread checkpoints the write-ahead log.
package final class ReplicaCache {
    /// What `.trim` keeps. A new value applies from the next trim of each conversation.
    package var retention: Retention
    let connection: Connection
    private let transactions: Transactions
    private let turn: ReplicaTurn
    private let purge: Purge
    private let checkpoints: Checkpoints
    private let place: FilePlace
    /// Whether rows of dropped conversations may be left; at the start, of an earlier process.
    private var isPurgeDue = true
    private var pages = PagesSinceCheckpoint()

    /// The cache of a store, which may have only one, and then no `Writer`.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(_ store: Store, retention: Retention) throws(CacheError) {
        self.retention = retention
        connection = try store.writingConnection(durability: .normal)
        // By default SQLite would make one commit per thousand pages wait for two disk flushes.
        _ = try connection.integer("PRAGMA wal_autocheckpoint = 0")
        // The loop waits with all its sockets; no other process has reason to write.
        _ = try connection.integer("PRAGMA busy_timeout = 250")
        transactions = try Transactions(connection)
        turn = try ReplicaTurn(
            connection, path: store.options.path,
            mark: String(UInt64.random(in: 0...UInt64.max), radix: 16))
        purge = try Purge(connection)
        checkpoints = try Checkpoints(store)
        place = store.place
        try place.adopt(connection)
    }

    /// Performs the writes in order, all of them or none.
    /// - Throws: `CacheError`; then none of the writes is in the file. After a `contradiction`, the
    ///   caller drops its `conversation` with `.drop` and fills it again; after a failure of the
    ///   disk, the same writes may succeed later.
    package func perform(_ writes: [StoreWrite], at now: Timestamp) throws(CacheError) {
        guard !writes.isEmpty else { return }
        try transaction { () throws(CacheError) in
            for write in writes { try turn.perform(write, keeping: retention, at: now) }
        }
        isPurgeDue = isPurgeDue || writes.contains(where: \.leavesRows)
    }

    /// Whether idle work is left.
    package var isTidyingDue: Bool { isPurgeDue || !turn.untrimmed.isEmpty }

    /// Does a small piece of that work: some milliseconds, for a moment with nothing else to do.
    /// - Returns: the conversation that holds less than before, if there is one.
    /// - Throws: `CacheError`, if the file can't be written; leaving the work undone harms nobody.
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

    /// Why the write-ahead log can't be checkpointed, as far as known; nil if it can. Nothing is
    /// lost by it, but the log grows.
    package var checkpointFailure: CacheError? { checkpoints.failure }

    /// Checks that the file is there, and as this process left it.
    /// - Throws: `CacheError`, if it is not.
    package func look() throws(CacheError) { try place.check() }

    /// Makes any write at all, to learn whether the file is writable again.
    /// - Throws: `CacheError`, if it is not; after a failed checkpoint, until another one succeeds.
    package func probe() throws(CacheError) {
        try transaction { () throws(CacheError) in
            // Sets the value that is already set: unlike an unchanged row, SQLite still writes this
            // one.
            try connection.execute("PRAGMA user_version = \(Schema.migrations.count)")
        }
        guard let failure = checkpoints.failure else { return }
        checkpoints.ask()
        throw failure
    }

    /// Checkpoints all writes, so that the file is complete without its write-ahead log. Must be
    /// called last; it waits for the disk.
    package func stop() {
        connection.releaseLock()
        checkpoints.stop()
    }

    private func transaction(_ body: () throws(CacheError) -> Void) throws(CacheError) {
        var isCommitted = false
        defer { turn.forget(isCommitted: isCommitted) }
        try checkpoints.whileLogIsFree { () throws(CacheError) in
            try place.commit(by: connection) { () throws(CacheError) in
                try transactions.perform { () throws(CacheError) in
                    try body()
                    try turn.finish()
                }
            }
            isCommitted = true
        }
        if pages.isDue(connection) { checkpoints.ask() }
    }
}

extension StoreWrite {
    /// Whether it may leave rows of a conversation to be purged.
    fileprivate var leavesRows: Bool {
        switch self {
        case .begin, .drop: true
        case .message, .record, .stand, .hold, .changesFrom, .jump, .trim: false
        }
    }
}
