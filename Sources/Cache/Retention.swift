import Chat
import Wire

/// How much of each conversation a cache keeps: `cache.retain_messages`, `cache.retain_age`. What
/// is trimmed leaves the coverage in the same transaction, so the cache never claims what it threw
/// away. It is for caches of another origin: the embedded log is the only copy and is never
/// trimmed.
package struct Retention: Sendable, Hashable {
    /// The newest messages of a conversation that are kept, 0 for all.
    package var messages: Int
    /// The age in milliseconds up to which messages are kept, 0 for any.
    package var age: Int64

    package init(messages: Int = 0, age: Int64 = 0) {
        self.messages = messages
        self.age = age
    }

    /// Whether nothing is ever trimmed.
    package var isEverything: Bool { messages == 0 && age == 0 }
}

/// Trims conversations by a `Retention`, through the connection of the writer.
package final class Trim {
    /// What was trimmed.
    package struct Outcome: Sendable, Hashable {
        /// The oldest place that is left to hold.
        package var floor: Int
        package var messages: Int
        /// The newest change among what went: from here on a catch-up can't be answered from the
        /// cache alone.
        package var highestRev: Int

        package init(floor: Int, messages: Int, highestRev: Int) {
            self.floor = floor
            self.messages = messages
            self.highestRev = highestRev
        }
    }

    private let outermost: Statement
    private let highestRev: Statement
    private let delete: Statement
    private let uncount: Statement
    private let messages: MessageRows
    private let coverage: CoverageRows
    private let connection: Connection

    package init(_ connection: Connection) throws(CacheError) {
        self.connection = connection
        messages = try MessageRows(connection)
        coverage = try CoverageRows(connection)
        outermost = try connection.prepare(
            "SELECT seq FROM message WHERE cid = ? ORDER BY seq DESC LIMIT 1 OFFSET ?")
        highestRev = try connection.prepare(
            "SELECT max(rev) FROM message WHERE cid = ? AND seq < ?")
        delete = try connection.prepare("DELETE FROM message WHERE cid = ? AND seq < ?")
        uncount = try connection.prepare("UPDATE state SET messages = messages - ?")
    }

    /// Trims one conversation, and its coverage with it. Nil if there was nothing to trim.
    /// - Complexity: O(messages kept by number + messages trimmed)
    /// - Throws: `CacheError`, if the file can't be written.
    package func trim(
        _ log: LogRow, to retention: Retention, at now: Timestamp
    ) throws(CacheError) -> Outcome? {
        var floor = 0
        if retention.messages > 0 {
            outermost.bind(1, log.cid)
            outermost.bind(2, retention.messages - 1)
            floor = try outermost.first { $0.int(0) } ?? 0
        }
        if retention.age > 0 {
            let oldest = Timestamp(milliseconds: now.milliseconds - retention.age)
            let newest = log.head.seq
            floor = max(
                floor,
                try messages.place(log.cid, notBefore: oldest, newest: newest) ?? newest + 1)
        }
        guard floor > 1, try messages.isAny(log.cid, below: floor) else { return nil }
        highestRev.bind(1, log.cid)
        highestRev.bind(2, floor)
        let rev = try highestRev.first { $0.int(0) } ?? 0
        delete.bind(1, log.cid)
        delete.bind(2, floor)
        try delete.run()
        let count = connection.changes
        uncount.bind(1, count)
        try uncount.run()
        try coverage.drop(log.cid, 0, floor - 1)
        return Outcome(floor: floor, messages: count, highestRev: rev)
    }
}
