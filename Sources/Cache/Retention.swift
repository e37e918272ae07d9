import Chat
import SQLite
import Wire

/// How much of each conversation a cache keeps: `cache.retain_messages`, `cache.retain_age`.
/// Trimming shrinks the coverage in the same transaction, so the cache never claims what it
/// deleted. Only for caches of another origin: the embedded log is the only copy and is never
/// trimmed.
package struct Retention: Sendable, Hashable {
    /// The number of newest messages of a conversation to keep; 0 for all.
    package var messages: Int
    /// The age in milliseconds up to which messages are kept; 0 for any age.
    package var age: Int64

    package init(messages: Int = 0, age: Int64 = 0) {
        self.messages = messages
        self.age = age
    }

    /// Whether nothing is ever trimmed.
    package var isEverything: Bool { messages == 0 && age == 0 }
}

/// Deletes the oldest messages of conversations from a cache, and their coverage, through the
/// connection that writes it.
package final class Trim {
    /// The most messages that one trim deletes: some ten milliseconds of work. Steady traffic has
    /// only a few to trim per turn; a lowered limit has many.
    package static let chunk = 1_000

    /// What was trimmed.
    package struct Outcome: Sendable, Hashable {
        /// The cache holds nothing below this place.
        package var floor: Int
        package var messages: Int
        /// The highest rev among the deleted messages: the cache alone can't answer a catch-up from
        /// below it.
        package var highestRev: Int
        /// Whether the retention is now met.
        package var isComplete: Bool

        package init(floor: Int, messages: Int, highestRev: Int, isComplete: Bool = true) {
            self.floor = floor
            self.messages = messages
            self.highestRev = highestRev
            self.isComplete = isComplete
        }
    }

    private let nth: Statement
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
        nth = try connection.prepare(
            "SELECT seq FROM message WHERE cid = ? ORDER BY seq LIMIT 1 OFFSET ?")
        highestRev = try connection.prepare(
            "SELECT max(rev) FROM message WHERE cid = ? AND seq < ?")
        delete = try connection.prepare("DELETE FROM message WHERE cid = ? AND seq < ?")
        uncount = try connection.prepare("UPDATE state SET messages = messages - ?")
    }

    /// Trims one conversation, and its coverage with it; nil if there was nothing to trim.
    /// - Parameters:
    ///   - held: the number of its messages in the file.
    ///   - limit: the most messages to delete, oldest first.
    /// - Complexity: O(messages trimmed); one or two look-ups if there are none.
    /// - Throws: `CacheError`, if the file can't be written.
    package func trim(
        _ log: LogRow, holding held: Int, to retention: Retention, at now: Timestamp,
        limit: Int = Trim.chunk
    ) throws(CacheError) -> Outcome? {
        let excess = retention.messages > 0 ? max(0, held - retention.messages) : 0
        var floor = excess > 0 ? try place(log.cid, of: min(excess, limit)) : 0
        var isComplete = excess <= limit
        if retention.age > 0 {
            let oldest = Timestamp(milliseconds: now.milliseconds - retention.age)
            let byAge =
                if let kept = try messages.place(log.cid, notBefore: oldest) {
                    kept
                } else {
                    try messages.newest(log.cid) + 1
                }
            if byAge > floor, try messages.isAny(log.cid, below: byAge) {
                let most = try place(log.cid, of: limit)
                floor = max(floor, min(byAge, most))
                isComplete = isComplete && byAge <= most
            }
        }
        guard floor > 0 else { return nil }
        var outcome = try drop(log.cid, below: floor)
        outcome.isComplete = isComplete
        return outcome
    }

    /// Drops all messages below a place, and the coverage with them.
    /// - Throws: `CacheError`, if the file can't be written.
    package func drop(_ cid: Int, below floor: Int) throws(CacheError) -> Outcome {
        highestRev.bind(1, cid)
        highestRev.bind(2, floor)
        let rev = try highestRev.first { $0.int(0) } ?? 0
        delete.bind(1, cid)
        delete.bind(2, floor)
        try delete.run()
        let count = connection.changes
        uncount.bind(1, count)
        try uncount.run()
        try coverage.drop(cid, 0, floor - 1)
        return Outcome(floor: floor, messages: count, highestRev: rev)
    }

    /// The lowest place with `count` messages below it, or with all of them if there are fewer.
    private func place(_ cid: Int, of count: Int) throws(CacheError) -> Int {
        nth.bind(1, cid)
        nth.bind(2, count)
        if let place = try nth.first({ $0.int(0) }) { return place }
        return try messages.newest(cid) + 1
    }
}
