import Chat
import Ports
import SQLite
import Wire

/// What catch-ups have read of the file, kept until the file changes. When a gateway restarts, the
/// clients of a conversation come back with the same position, and the file is read once for all of
/// them. How far back each one holds messages does not matter: what is kept are the rows, of which
/// each client's answer is made.
///
/// It is exact, because it is asked inside the reader's snapshot and kept for one version of the
/// file, as SQLite counts them for its own page cache. Owned by a reader.
final class CatchUpMemo {
    /// What was read of one conversation.
    final class Notes {
        /// Which messages above a seq: `MessageRows.below`.
        struct Tail: Hashable {
            let above: Int
            let limit: Int
            let bytes: Int
        }

        let log: LogRow
        /// The result of `CacheCoverage.standing`.
        let standing: (places: Coverage, changesFrom: Int, highest: Int)
        fileprivate var confirmations: [Head: Bool?] = [:]
        fileprivate var changes: [Int: [Int]] = [:]
        fileprivate var messages: [Int: EncodedMessage?] = [:]
        fileprivate var tails: [Tail: [EncodedMessage]] = [:]
        fileprivate var ids: [Int: String?] = [:]

        fileprivate init(
            _ log: LogRow, _ standing: (places: Coverage, changesFrom: Int, highest: Int)
        ) {
            self.log = log
            self.standing = standing
        }
    }

    /// The estimated bytes at which nothing more is kept: what some hundred conversations missed.
    static let limit = 4 << 20

    private let rows: Rows
    private let coverage: CacheCoverage
    private let version: Statement
    private var known: Int?
    private var notes: [ID: Notes] = [:]
    private(set) var bytes = 0

    /// - Throws: `CacheError`, if the file can't be read.
    init(
        _ connection: Connection, _ rows: Rows, _ coverage: CacheCoverage
    ) throws(CacheError) {
        self.rows = rows
        self.coverage = coverage
        // Changes with each commit of another connection, and a reader's own makes none.
        version = try connection.prepare("PRAGMA data_version")
    }

    /// What is known of a conversation, and is read if need be.
    /// - Throws: `RequestError`, if there is no such conversation; `CacheError`.
    func notes(of id: String) throws -> Notes {
        let version = try version.first { $0.int(0) }
        if version == nil || version != known || bytes > Self.limit {
            notes = [:]
            bytes = 0
            known = version
        }
        if let notes = notes[id.id] { return notes }
        guard let log = try rows.conversations.log(id) else { throw RequestError.noConversation }
        let notes = Notes(log, try coverage.standing(log))
        self.notes[id.id] = notes
        bytes += 512 + 32 * notes.standing.places.runs.count
        return notes
    }

    /// Whether the log has this head's mark; nil if unknown: `CacheCoverage.confirmation`.
    func confirmation(_ notes: Notes, of head: Head) throws(CacheError) -> Bool? {
        try kept(&notes.confirmations, head, { _ in 128 }) { () throws(CacheError) in
            try coverage.confirmation(notes.log, of: head)
        }
    }

    /// The seqs of the newest changes after a rev, newest first.
    func changes(_ notes: Notes, since rev: Int, limit: Int) throws(CacheError) -> [Int] {
        try kept(&notes.changes, rev, { 64 + 8 * $0.count }) { () throws(CacheError) in
            try rows.messages.newestChanges(notes.log.cid, since: rev, limit: limit)
        }
    }

    /// The message at a place.
    func message(_ notes: Notes, at seq: Int) throws(CacheError) -> EncodedMessage? {
        try kept(&notes.messages, seq, { $0?.size ?? 64 }) { () throws(CacheError) in
            try rows.messages.message(notes.log.cid, at: seq)
        }
    }

    /// The newest messages above a place, newest first.
    func tail(_ notes: Notes, _ tail: Notes.Tail) throws(CacheError) -> [EncodedMessage] {
        try kept(&notes.tails, tail, { $0.reduce(96) { $0 + $1.size } }) {
            () throws(CacheError) in
            try rows.messages.below(
                notes.log.cid, notes.standing.highest + 1, above: tail.above, limit: tail.limit,
                bytes: tail.bytes)
        }
    }

    /// The ids of the messages at these places, as far as there are messages.
    func ids(_ notes: Notes, at places: [Int]) throws(CacheError) -> [Int: String] {
        // Of many runs few are another holder's too.
        guard places.count <= 4 else { return try rows.messages.ids(notes.log.cid, at: places) }
        var ids: [Int: String] = [:]
        for place in places {
            ids[place] = try kept(&notes.ids, place, { _ in 96 }) { () throws(CacheError) in
                try rows.messages.ids(notes.log.cid, at: [place])[place]
            }
        }
        return ids
    }

    private func kept<Key: Hashable, Value>(
        _ known: inout [Key: Value], _ key: Key, _ size: (Value) -> Int,
        _ read: () throws(CacheError) -> Value
    ) throws(CacheError) -> Value {
        if let value = known[key] { return value }
        let value = try read()
        known[key] = value
        bytes += size(value)
        return value
    }
}

extension EncodedMessage {
    /// Estimated bytes in memory, with strings.
    fileprivate var size: Int { 256 + json.count }
}
