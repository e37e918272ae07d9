import ClientCore
import JSON
import SQLite
import Wire

/// What the users of this device have written and the gateway has not confirmed.
///
/// It lies in a file of its own, since nobody else has it: no version of the client drops its
/// table, a file that can't be read is put aside, and what a later version wrote there stays. Each
/// row belongs to a user, so that nobody sends what another has written.
final class UnsentStore {
    /// What is not sent yet of a conversation.
    struct Unsent: Hashable {
        var drafts: [Draft] = []
        /// Edits and deletions.
        var changes: [Change] = []
        /// Up to where was read.
        var read: Int?

        fileprivate var rows: [Row: [UInt8]] {
            var rows: [Row: [UInt8]] = [:]
            for (place, draft) in drafts.enumerated() {
                rows[Row(kind: "draft", id: draft.id, place: place)] = draft.json
            }
            for (place, change) in changes.enumerated() {
                rows[Row(kind: "change", id: change.id, place: place)] = change.json
            }
            if let read { rows[Row(kind: "read", id: "", place: 0)] = Array("\(read)".utf8) }
            return rows
        }
    }

    fileprivate struct Row: Hashable {
        var kind: String
        var id: String
        var place: Int
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS unsent (
            user TEXT NOT NULL, conversation TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
            place INTEGER NOT NULL, json BLOB NOT NULL,
            PRIMARY KEY (user, conversation, kind, id)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS owner (
            one INTEGER PRIMARY KEY CHECK (one = 0), user TEXT NOT NULL
        );
        """

    let connection: Connection
    /// The user whose rows are read and written; nil before the gateway named one.
    private(set) var owner: String?
    /// What the rows of each conversation say, as far as they were read or written here.
    private var written: [String: Unsent] = [:]

    /// - Parameter path: nil for the memory.
    /// - Throws: `CacheError`.
    init(path: String?) throws(CacheError) {
        connection = try Connection(path: path ?? ":memory:", access: .readWrite)
        // It is written when somebody has written something, and must be there after a power cut.
        try connection.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
            PRAGMA busy_timeout = 500;
            \(Self.schema)
            """)
        owner = try connection.text("SELECT user FROM owner")
    }

    // MARK: Reading

    /// The conversations of which the user has something unsent.
    func conversations() -> [String] {
        guard
            let rows = try? connection.prepare(
                "SELECT DISTINCT conversation FROM unsent WHERE user = ?")
        else { return [] }
        rows.bind(1, owner ?? "")
        return (try? rows.all { $0.text(0) }) ?? []
    }

    /// What is not sent yet of a conversation.
    func unsent(_ conversation: String) -> Unsent {
        var unsent = Unsent()
        guard
            let rows = try? connection.prepare(
                """
                SELECT kind, json FROM unsent WHERE user = ? AND conversation = ? ORDER BY place
                """)
        else { return unsent }
        rows.bind(1, owner ?? "")
        rows.bind(2, conversation)
        for (kind, json) in (try? rows.all { ($0.text(0), $0.blob(1)) }) ?? [] {
            switch kind {
            case "draft": if let draft = Draft(json: json) { unsent.drafts.append(draft) }
            case "change": if let change = Change(json: json) { unsent.changes.append(change) }
            case "read": unsent.read = Int(String(decoding: json, as: UTF8.self))
            default: break
            }
        }
        written[conversation] = unsent
        return unsent
    }

    // MARK: Writing

    /// Writes what is not sent yet of some conversations; rows that were not read here stay.
    /// - Throws: `CacheError`; then nothing was written.
    func write(_ all: [(conversation: String, unsent: Unsent)]) throws(CacheError) {
        let changed = all.filter { $0.unsent != written[$0.conversation] ?? Unsent() }
        guard !changed.isEmpty else { return }
        try transaction { connection throws(CacheError) in
            for (conversation, unsent) in changed {
                try write(conversation, unsent, connection)
            }
        }
        for (conversation, unsent) in changed { written[conversation] = unsent }
    }

    private func write(
        _ conversation: String, _ unsent: Unsent, _ connection: Connection
    ) throws(CacheError) {
        let old = (written[conversation] ?? Unsent()).rows
        let new = unsent.rows
        let kept = Set(new.keys.map { [$0.kind, $0.id] })
        let delete = try connection.prepare(
            "DELETE FROM unsent WHERE user = ? AND conversation = ? AND kind = ? AND id = ?")
        for row in old.keys where !kept.contains([row.kind, row.id]) {
            delete.bind(1, owner ?? "")
            delete.bind(2, conversation)
            delete.bind(3, row.kind)
            delete.bind(4, row.id)
            try delete.run()
        }
        let insert = try connection.prepare(
            """
            INSERT OR REPLACE INTO unsent (user, conversation, kind, id, place, json)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        for (row, json) in new where old[row] != json {
            insert.bind(1, owner ?? "")
            insert.bind(2, conversation)
            insert.bind(3, row.kind)
            insert.bind(4, row.id)
            insert.bind(5, row.place)
            insert.bind(6, json)
            try insert.run()
        }
    }

    /// The gateway named the user. What was written before it had named any is theirs.
    /// - Throws: `CacheError` if the file can't be written. The store keeps the name in memory.
    func belongs(to user: String) throws(CacheError) {
        guard owner.map({ !$0.isSameID(user) }) ?? true else { return }
        let isFirst = owner == nil
        owner = user
        if !isFirst { written = [:] }
        try transaction { connection throws(CacheError) in
            let named = try connection.prepare("INSERT OR REPLACE INTO owner VALUES (0, ?)")
            named.bind(1, user)
            try named.run()
            guard isFirst else { return }
            let theirs = try connection.prepare(
                "UPDATE OR IGNORE unsent SET user = ? WHERE user = ''")
            theirs.bind(1, user)
            try theirs.run()
        }
    }

    /// Takes over what an earlier version kept beside what can be fetched again: its tables are
    /// `draft`, and `unsent` with places for ids.
    func takeOver(_ earlier: Connection) throws(CacheError) {
        let tables = try earlier.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('draft', 'unsent')"
        ).all { $0.text(0) }
        try transaction { connection throws(CacheError) in
            let insert = try connection.prepare(
                """
                INSERT OR IGNORE INTO unsent (user, conversation, kind, id, place, json)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
            func put(
                _ conversation: String, _ kind: String, _ place: Int, _ json: [UInt8]
            ) throws(CacheError) {
                let id = (try? JSONObject(json))?["id"]?.string ?? "\(place)"
                insert.bind(1, owner ?? "")
                insert.bind(2, conversation)
                insert.bind(3, kind)
                insert.bind(4, kind == "read" ? "" : id)
                insert.bind(5, place)
                insert.bind(6, json)
                try insert.run()
            }
            if tables.contains("draft") {
                let rows = try earlier.prepare("SELECT conversation, place, json FROM draft")
                    .all { ($0.text(0), $0.int(1), $0.blob(2)) }
                for (conversation, place, json) in rows {
                    try put(conversation, "draft", place, json)
                }
            }
            guard tables.contains("unsent") else { return }
            let rows = try earlier.prepare("SELECT conversation, place, json, read FROM unsent")
                .all { ($0.text(0), $0.int(1), $0.optionalBlob(2), $0.int(3)) }
            for (conversation, place, json, read) in rows {
                if let json { try put(conversation, "change", place, json) }
                if read > 0 { try put(conversation, "read", 0, Array("\(read)".utf8)) }
            }
        }
    }

    /// Erases what the user has written.
    /// - Returns: whether nothing of another user is left.
    func erase() -> Bool {
        written = [:]
        let rows = try? connection.prepare("DELETE FROM unsent WHERE user IN (?, '')")
        rows?.bind(1, owner ?? "")
        try? rows?.run()
        try? connection.execute("DELETE FROM owner")
        return (try? connection.integer("SELECT COUNT(*) FROM unsent")) ?? 0 == 0
    }

    private func transaction(
        _ body: (Connection) throws(CacheError) -> Void
    ) throws(CacheError) {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(CacheError) {
            try body(connection)
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }
}
