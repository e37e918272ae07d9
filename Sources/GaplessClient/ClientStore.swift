import ClientCore
import ClientSystem
import JSON
import SQLite

/// What one user's client keeps on disk: what it holds of each conversation, what is not sent yet,
/// the list, and what it was answered last. Owns one SQLite file; belongs to the client's thread.
/// Rows and the coverage that they prove are written in one transaction, so that after a crash
/// `have` is as true as before.
final class ClientStore {
    /// What changed of one conversation.
    struct Change {
        var conversation: String
        var changes: HolderChanges
        var holder: Holder
        var drafts: [Draft]
        /// Edits and deletions, and up to where was read, that the gateway does not know.
        var unsent: [ClientCore.Change]
        var read: Int?
    }

    /// "GPLC": marks the file as a client's.
    private static let applicationID = 0x4750_4C43
    private static let version = 2

    private static let schema = """
        CREATE TABLE conversation (
            id TEXT PRIMARY KEY, epoch TEXT NOT NULL, seq INTEGER NOT NULL, rev INTEGER NOT NULL,
            mark TEXT NOT NULL, floor INTEGER NOT NULL, as_of INTEGER NOT NULL,
            runs BLOB NOT NULL, record BLOB
        ) WITHOUT ROWID;
        CREATE TABLE message (
            conversation TEXT NOT NULL, seq INTEGER NOT NULL, json BLOB NOT NULL,
            PRIMARY KEY (conversation, seq)
        ) WITHOUT ROWID;
        CREATE TABLE draft (
            conversation TEXT NOT NULL, place INTEGER NOT NULL, json BLOB NOT NULL,
            PRIMARY KEY (conversation, place)
        ) WITHOUT ROWID;
        CREATE TABLE list (id TEXT PRIMARY KEY, json BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE answer (
            key TEXT PRIMARY KEY, conversation TEXT, epoch TEXT, number INTEGER NOT NULL,
            json BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), token TEXT);
        INSERT INTO state VALUES (0, NULL);
        """

    private let path: String
    private let lock: FileLock
    private(set) var connection: Connection?

    /// Opens the file, or makes it. One that can't be used, or that another version wrote, is
    /// replaced: it holds nothing that the gateway does not have, but for what was not sent. One
    /// that another client has is left alone.
    /// - Throws: `CacheError`, if the file can't be made.
    init(path: String) throws(CacheError) {
        self.path = path
        lock = try Self.lock(path)
        do {
            connection = try Self.open(path)
        } catch {
            guard error.code != .missingDirectory, error.code != .notWritable else { throw error }
            Self.remove(path)
            connection = try Self.open(path)
        }
    }

    /// Two clients on one file would each tell the gateway what the other holds. One that is just
    /// going, as where an app makes its client anew, is waited for.
    private static func lock(_ path: String) throws(CacheError) -> FileLock {
        do {
            return try FileLock(path + "-lock", patience: .seconds(2))
        } catch {
            let code: CacheError.Code =
                switch error.reason {
                case .missingDirectory: .missingDirectory
                case .notWritable: .notWritable
                case .inUse: .inUse
                }
            throw CacheError(
                code, doing: "lock the store", on: path, seen: error.seen, detail: error.detail)
        }
    }

    private static func open(_ path: String) throws(CacheError) -> Connection {
        let connection = try Connection(path: path, access: .readWrite)
        // A phone's power may go; a client can ask again for what the last moment brought.
        try connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;")
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        if version == 0, application == 0 {
            try connection.execute(
                """
                BEGIN IMMEDIATE; \(schema)
                PRAGMA application_id = \(applicationID); PRAGMA user_version = \(Self.version);
                COMMIT;
                """)
        } else if version != Self.version || application != applicationID {
            throw CacheError(
                .newerVersion, doing: "open the client's store", on: path,
                seen: "version \(version)", detail: "version \(Self.version)")
        }
        // An older version of this program does not know the table, and leaves it as it is.
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS unsent (
                conversation TEXT NOT NULL, place INTEGER NOT NULL, json BLOB, read INTEGER,
                PRIMARY KEY (conversation, place)
            ) WITHOUT ROWID
            """)
        return connection
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { SystemFiles.remove(path + suffix) }
    }

    /// Erases everything, the file with it.
    func erase() {
        connection = nil
        Self.remove(path)
    }

    // MARK: Reading

    /// What is stored of a conversation; what can't be read counts as not there.
    func conversation(_ id: String) -> (Holder?, [Draft]) {
        ((try? holder(id)) ?? nil, (try? drafts(id)) ?? [])
    }

    private func holder(_ id: String) throws -> Holder? {
        guard let connection else { return nil }
        let row = try connection.prepare(
            """
            SELECT epoch, seq, rev, mark, floor, as_of, runs, record FROM conversation
            WHERE id = ?
            """)
        row.bind(1, id)
        guard try row.step() else { return nil }
        let head = Head(
            epoch: row.text(0), seq: row.int(1), rev: row.int(2), mark: row.text(3),
            floor: row.int(4))
        let runs = Coverage(json: row.blob(6))
        let record = try row.optionalBlob(7).map { try Conversation($0) }
        let messages = try connection.prepare("SELECT json FROM message WHERE conversation = ?")
        messages.bind(1, id)
        let values = try messages.all { $0.blob(0) }.map { try Message($0) }
        return Holder(
            Have(head: head, asOf: row.int(5), runs: runs), values: values, record: record)
    }

    private func drafts(_ id: String) throws -> [Draft] {
        guard let connection else { return [] }
        let rows = try connection.prepare(
            "SELECT json FROM draft WHERE conversation = ? ORDER BY place")
        rows.bind(1, id)
        return try rows.all { $0.blob(0) }.compactMap { Draft(json: $0) }
    }

    /// What was changed in a conversation and up to where it was read, as far as the gateway does
    /// not know it; what can't be read counts as not there.
    func unsent(_ id: String) -> (changes: [ClientCore.Change], read: Int?) {
        guard let connection,
            let rows = try? connection.prepare(
                "SELECT json, read FROM unsent WHERE conversation = ? ORDER BY place")
        else { return ([], nil) }
        rows.bind(1, id)
        let all = (try? rows.all { ($0.optionalBlob(0), $0.int(1)) }) ?? []
        let read = all.map(\.1).max() ?? 0
        return (
            all.compactMap { $0.0.flatMap { ClientCore.Change(json: $0) } }, read > 0 ? read : nil
        )
    }

    /// The stored list; nil if none was stored.
    func list() -> ConversationList? {
        guard let connection,
            let token = try? connection.text("SELECT token FROM state"),
            let rows = try? connection.prepare("SELECT json FROM list"),
            let texts = try? rows.all({ $0.blob(0) })
        else { return nil }
        // Without a token only a part of it was walked.
        let list = texts.compactMap { try? Conversation($0) }
        return token.isEmpty && list.isEmpty
            ? nil : ConversationList(token: token.isEmpty ? nil : token, list)
    }

    // MARK: Writing

    /// Writes everything in one transaction.
    /// - Returns: false if that failed; then the store is erased.
    func write(_ changes: [Change], _ list: ConversationList?) -> Bool {
        writing { connection in
            for change in changes { try write(change, connection) }
            if let list { try write(list, connection) }
        }
    }

    /// Does all of it in one transaction.
    /// - Returns: false if that failed; then the store is erased.
    func writing(_ body: (Connection) throws -> Void) -> Bool {
        guard let connection else { return false }
        do {
            try connection.execute("BEGIN IMMEDIATE")
            try body(connection)
            try connection.execute("COMMIT")
            return true
        } catch {
            erase()
            return false
        }
    }

    private func write(_ change: Change, _ connection: Connection) throws {
        let id = change.conversation
        if change.changes.isForgotten {
            try run("DELETE FROM message WHERE conversation = ?", connection) { $0.bind(1, id) }
            try forgetAnswers(of: id, exceptEpoch: change.holder.head?.epoch, connection)
        }
        try writeMessages(of: change, connection)
        if let have = change.holder.have {
            try run(
                "INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", connection
            ) {
                $0.bind(1, id)
                $0.bind(2, have.head.epoch)
                $0.bind(3, have.head.seq)
                $0.bind(4, have.head.rev)
                $0.bind(5, have.head.mark)
                $0.bind(6, have.head.floor)
                $0.bind(7, have.asOf)
                $0.bind(8, have.runs.json)
                $0.bind(9, change.holder.record?.json)
            }
        } else {
            try run("DELETE FROM conversation WHERE id = ?", connection) { $0.bind(1, id) }
        }
        try run("DELETE FROM draft WHERE conversation = ?", connection) { $0.bind(1, id) }
        for (place, draft) in change.drafts.enumerated() {
            try run("INSERT INTO draft VALUES (?, ?, ?)", connection) {
                $0.bind(1, id)
                $0.bind(2, place)
                $0.bind(3, draft.json)
            }
        }
        try writeUnsent(of: change, connection)
    }

    private func writeUnsent(of change: Change, _ connection: Connection) throws {
        let id = change.conversation
        try run("DELETE FROM unsent WHERE conversation = ?", connection) { $0.bind(1, id) }
        var rows: [[UInt8]?] = change.unsent.map(\.json)
        if rows.isEmpty, change.read != nil { rows = [nil] }
        for (place, json) in rows.enumerated() {
            try run("INSERT INTO unsent VALUES (?, ?, ?, ?)", connection) {
                $0.bind(1, id)
                $0.bind(2, place)
                $0.bind(3, json)
                $0.bind(4, change.read ?? 0)
            }
        }
    }

    /// Of a log that is gone nothing is shown again; of one that ended, nothing at all.
    private func forgetAnswers(
        of id: String, exceptEpoch epoch: String?, _ connection: Connection
    ) throws {
        let other = epoch == nil ? "" : "AND epoch IS NOT NULL AND epoch <> ?"
        try run("DELETE FROM answer WHERE conversation = ? \(other)", connection) {
            $0.bind(1, id)
            if let epoch { $0.bind(2, epoch) }
        }
    }

    private func writeMessages(of change: Change, _ connection: Connection) throws {
        guard !change.changes.places.isEmpty else { return }
        let insert = try connection.prepare("INSERT OR REPLACE INTO message VALUES (?, ?, ?)")
        let delete = try connection.prepare(
            "DELETE FROM message WHERE conversation = ? AND seq = ?")
        for seq in change.changes.places {
            if let message = change.holder.held[seq] {
                insert.bind(1, change.conversation)
                insert.bind(2, seq)
                insert.bind(3, message.json)
                try insert.run()
            } else {
                delete.bind(1, change.conversation)
                delete.bind(2, seq)
                try delete.run()
            }
        }
    }

    private func write(_ list: ConversationList, _ connection: Connection) throws {
        try connection.execute(
            "DELETE FROM list; DELETE FROM answer WHERE conversation IS NULL")
        for conversation in list.conversations {
            try run("INSERT INTO list VALUES (?, ?)", connection) {
                $0.bind(1, conversation.id)
                $0.bind(2, conversation.json)
            }
        }
        // With a token the next start asks only for what changed, not for what is left to walk.
        let token = list.hasMore ? "" : list.token
        try run("UPDATE state SET token = ?", connection) { $0.bind(1, token) }
    }

    func run(
        _ sql: String, _ connection: Connection, _ bind: (borrowing Statement) -> Void
    ) throws {
        let statement = try connection.prepare(sql)
        bind(statement)
        try statement.run()
    }
}

extension Coverage {
    /// `[[low, high], …]`
    fileprivate var json: [UInt8] { Array(description.utf8) }

    /// What `json` wrote; nothing if it is something else.
    fileprivate init(json: [UInt8]) {
        let pairs = (try? RawJSON(json))?.array ?? []
        self.init(
            pairs.compactMap { pair in
                guard let ends = pair.array, ends.count == 2, let low = ends[0].int,
                    let high = ends[1].int
                else { return nil }
                return Run(checking: low, high)
            })
    }
}
