import ClientCore
import ClientSystem
import JSON
import SQLite

/// What one user's client keeps on disk. What can be fetched again (what it holds of each
/// conversation, the list, what it was answered last) lies in one SQLite file, what was written and
/// not sent in another: see `UnsentStore`. Belongs to the client's thread. Rows and the coverage
/// that they prove are written in one transaction, so that after a crash `have` is as true as
/// before.
final class ClientStore {
    /// What changed of one conversation.
    struct Change {
        var conversation: String
        var changes: HolderChanges
        var holder: Holder
        var unsent: UnsentStore.Unsent
    }

    /// "GPLC": marks the file as a client's.
    private static let applicationID = 0x4750_4C43
    private static let version = 3

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
        CREATE TABLE list (id TEXT PRIMARY KEY, json BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE answer (
            key TEXT PRIMARY KEY, conversation TEXT, epoch TEXT, number INTEGER NOT NULL,
            json BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), token TEXT);
        INSERT INTO state VALUES (0, NULL);
        """

    /// What the list's token stands for, where the list shows something else; without `json` the
    /// conversation was not in it. A file without the table may show what its token does not.
    private static let tokenSchema = """
        CREATE TABLE at_token (
            token TEXT NOT NULL, id TEXT NOT NULL, json BLOB, PRIMARY KEY (token, id)
        ) WITHOUT ROWID;
        """

    /// Nil to keep nothing beyond the life of the client.
    private let path: String?
    private var lock: FileLock?
    /// Of what can be fetched again; nil where nothing is kept.
    private(set) var connection: Connection?
    private(set) var unsent: UnsentStore
    /// The file lacks changes that it should have had: all of it has to be written anew.
    private(set) var isBehind = false

    /// Opens the files, or makes them. One of what can be fetched again that can't be used, or that
    /// another version wrote, is replaced. Files that another client has are left alone.
    /// - Parameter path: nil to keep nothing.
    /// - Throws: `CacheError`, if a file can't be made.
    init(path: String?) throws(CacheError) {
        self.path = path
        guard let path else {
            lock = nil
            unsent = try UnsentStore(path: nil)
            return
        }
        lock = try Self.lock(path)
        unsent = try Self.openUnsent(Self.unsentPath(path))
        connection = try Self.open(path, unsent)
    }

    /// Whether anything is kept for the next start.
    var isKept: Bool { path != nil }

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

    private static func unsentPath(_ path: String) -> String { path + "-unsent" }

    /// The store puts a damaged file aside under another name, so that its drafts can be recovered.
    private static func openUnsent(_ path: String) throws(CacheError) -> UnsentStore {
        do {
            return try UnsentStore(path: path)
        } catch {
            guard error.code == .notADatabase || error.code == .damaged else { throw error }
            let number = (1...).first { !SystemFiles.canRead("\(path)-damaged-\($0)") } ?? 1
            for suffix in suffixes {
                SystemFiles.move(path + suffix, to: "\(path)-damaged-\(number)\(suffix)")
            }
            return try UnsentStore(path: path)
        }
    }

    private static func open(
        _ path: String, _ unsent: UnsentStore
    ) throws(CacheError) -> Connection {
        do {
            if let connection = try openVersion(path, unsent) { return connection }
        } catch {
            guard error.code != .missingDirectory, error.code != .notWritable else { throw error }
        }
        remove(path)
        guard let connection = try openVersion(path, unsent) else {
            throw CacheError(
                .failed, doing: "make the client's store", on: path, seen: "another version",
                detail: "version \(version)")
        }
        return connection
    }

    /// - Returns: nil if another version wrote it; what that had not sent is taken over.
    private static func openVersion(
        _ path: String, _ unsent: UnsentStore
    ) throws(CacheError) -> Connection? {
        let connection = try Connection(path: path, access: .readWrite)
        // A phone's power may go; a client can ask again for what the last moment brought.
        try connection.execute(
            """
            PRAGMA busy_timeout = 500; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
            PRAGMA secure_delete = ON;
            """)
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        if version == 0, application == 0 {
            try connection.execute(
                """
                BEGIN IMMEDIATE; \(schema)
                PRAGMA application_id = \(applicationID); PRAGMA user_version = \(Self.version);
                COMMIT;
                """)
        } else if application != applicationID {
            return nil
        } else if version != Self.version {
            try unsent.takeOver(connection)
            return nil
        }
        if try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'at_token'") == 0
        {
            try connection.execute(
                "BEGIN IMMEDIATE; \(tokenSchema) UPDATE state SET token = ''; COMMIT;")
        }
        return connection
    }

    private static let suffixes = ["", "-wal", "-shm"]

    private static func remove(_ path: String) {
        for suffix in suffixes { SystemFiles.remove(path + suffix) }
    }

    /// The gateway named the user. What was kept of another is erased, but for what that one has
    /// not sent, which waits for them.
    func belongs(to user: String) {
        let isOther = unsent.owner.map { !$0.isSameID(user) } ?? false
        // Where it can't be written, it holds for as long as this client lives.
        try? unsent.belongs(to: user)
        if isOther { eraseHeld() }
    }

    /// Whether what is to be kept can be written now.
    var isOpen: Bool { path == nil || lock != nil }

    /// Closes the files, and holds no lock on them. What was not sent stays in memory.
    /// - Throws: `CacheError`, if there is no memory for that.
    func close() throws(CacheError) {
        guard isKept, isOpen else { return }
        let memory = try UnsentStore(path: nil)
        if let owner = unsent.owner { try memory.belongs(to: owner) }
        unsent = memory
        connection = nil
        lock = nil
    }

    /// Opens the files again. Others may have written to them meanwhile, so that all that is held
    /// has to be written.
    /// - Throws: `CacheError`; then they stay closed.
    func open() throws(CacheError) {
        guard let path, !isOpen else { return }
        let lock = try Self.lock(path)
        let opened = try Self.openUnsent(Self.unsentPath(path))
        let isOther =
            unsent.owner.map { owner in !(opened.owner?.isSameID(owner) ?? true) } ?? false
        if let owner = unsent.owner { try opened.belongs(to: owner) }
        connection = try Self.open(path, opened)
        (self.lock, unsent, isBehind) = (lock, opened, true)
        if isOther { eraseHeld() }
    }

    /// Erases everything of this user, the files with it.
    func erase() {
        connection = nil
        let isEmpty = unsent.erase()
        if let memory = try? UnsentStore(path: nil) { unsent = memory }
        guard let path else { return }
        Self.remove(path)
        if isEmpty { Self.remove(Self.unsentPath(path)) }
    }

    /// Begins the file anew of what can be fetched again.
    func eraseHeld() {
        guard let path, connection != nil else { return }
        connection = nil
        Self.remove(path)
        connection = try? Self.open(path, unsent)
        isBehind = connection != nil
    }

    // MARK: Reading

    /// What is stored of a conversation; what can't be read counts as not there.
    func held(_ id: String) -> Holder? { (try? holder(id)) ?? nil }

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

    /// The stored list; nil if none was stored.
    func list() -> ConversationList? {
        guard let connection,
            let token = try? connection.text("SELECT token FROM state"),
            let rows = try? connection.prepare("SELECT json FROM list"),
            let texts = try? rows.all({ $0.blob(0) })
        else { return nil }
        // Without a token only a part of it was walked.
        let list = texts.compactMap { try? Conversation($0) }
        guard !token.isEmpty else { return list.isEmpty ? nil : ConversationList(token: nil, list) }
        guard let atToken = try? atToken(token, connection) else {
            return ConversationList(token: nil, list)
        }
        return ConversationList(token: token, list, atToken: atToken)
    }

    private func atToken(
        _ token: String, _ connection: Connection
    ) throws -> [ID: ConversationList.AtToken] {
        let rows = try connection.prepare("SELECT id, json FROM at_token WHERE token = ?")
        rows.bind(1, token)
        let known = try rows.all { ($0.text(0), $0.optionalBlob(1)) }
        var atToken: [ID: ConversationList.AtToken] = [:]
        for (id, json) in known {
            atToken[id.id] = ConversationList.AtToken(try json.map { try Conversation($0) })
        }
        return atToken
    }

    // MARK: Writing

    /// Writes what was written and not sent, and the rest in one transaction. Where there is no
    /// room for the first, the second makes way.
    /// - Returns: What kept either from being written; nil if all of it was.
    func write(_ changes: [Change], _ list: ConversationList?) -> CacheError? {
        // Where the file was behind before, all of it is among the changes.
        let wasBehind = isBehind
        let unsent = changes.map { ($0.conversation, $0.unsent) }
        var failure = writeUnsent(unsent)
        if failure?.code == .full, connection != nil {
            eraseHeld()
            failure = writeUnsent(unsent)
        }
        let other = writing { connection throws(CacheError) in
            for change in changes { try write(change, connection) }
            if let list { try write(list, connection) }
        }
        if other == nil, wasBehind { isBehind = false }
        return failure ?? other
    }

    private func writeUnsent(
        _ all: [(conversation: String, unsent: UnsentStore.Unsent)]
    ) -> CacheError? {
        do throws(CacheError) {
            try unsent.write(all)
            return nil
        } catch {
            return error
        }
    }

    /// Does all of it in one transaction. A file that lacks a change would tell lies from then on:
    /// where it fails, the file stays as it was until all of it is written anew.
    /// - Returns: What kept it from being written; nil if it was, or nothing is kept.
    func writing(_ body: (Connection) throws(CacheError) -> Void) -> CacheError? {
        guard let connection else { return nil }
        do throws(CacheError) {
            try connection.execute("BEGIN IMMEDIATE")
            try body(connection)
            try connection.execute("COMMIT")
            return nil
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            isBehind = true
            if error.code == .notADatabase || error.code == .damaged { eraseHeld() }
            return error
        }
    }

    private func write(_ change: Change, _ connection: Connection) throws(CacheError) {
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
    }

    /// Of a log that is gone nothing is shown again; of one that ended, nothing at all.
    private func forgetAnswers(
        of id: String, exceptEpoch epoch: String?, _ connection: Connection
    ) throws(CacheError) {
        let other = epoch == nil ? "" : "AND epoch IS NOT NULL AND epoch <> ?"
        try run("DELETE FROM answer WHERE conversation = ? \(other)", connection) {
            $0.bind(1, id)
            if let epoch { $0.bind(2, epoch) }
        }
    }

    private func writeMessages(of change: Change, _ connection: Connection) throws(CacheError) {
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

    private func write(_ list: ConversationList, _ connection: Connection) throws(CacheError) {
        try connection.execute(
            """
            DELETE FROM list; DELETE FROM at_token;
            DELETE FROM answer WHERE conversation IS NULL
            """)
        for conversation in list.conversations {
            try run("INSERT INTO list VALUES (?, ?)", connection) {
                $0.bind(1, conversation.id)
                $0.bind(2, conversation.json)
            }
        }
        // With a token the next start asks only for what changed, not for what is left to walk.
        let token = list.hasMore ? "" : list.token
        for (id, known) in list.atToken {
            try run("INSERT INTO at_token VALUES (?, ?, ?)", connection) {
                $0.bind(1, token ?? "")
                $0.bind(2, id.text)
                $0.bind(3, known.conversation?.json)
            }
        }
        try run("UPDATE state SET token = ?", connection) { $0.bind(1, token) }
    }

    func run(
        _ sql: String, _ connection: Connection, _ bind: (borrowing Statement) -> Void
    ) throws(CacheError) {
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
