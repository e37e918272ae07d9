#if canImport(SQLite3)
import SQLite3
#else
import CSQLite
#endif

/// One connection to the database file, the only owner of its `sqlite3*`. It belongs to its creator
/// and is used by one thread at a time, so SQLite's own mutexes are off. Statements keep the handle
/// alive: closing waits for the last of them.
package final class Connection {
    /// The access mode.
    package enum Access { case readWrite, readOnly }

    package let handle: OpaquePointer
    let path: String
    #if !canImport(SQLite3)
    /// The lock that the connection keeps, if it keeps one.
    var kept: ChangingLock?
    #endif

    /// Opens the file; `.readWrite` creates it if it does not exist.
    /// - Throws: `CacheError`, if the file can't be opened at all. That it is not a database shows
    ///   only at the first read.
    package init(path: String, access: Access) throws(CacheError) {
        var opened: OpaquePointer?
        let flags =
            switch access {
            case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        let result = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard result == SQLITE_OK, let opened else {
            let code = opened.map { sqlite3_extended_errcode($0) } ?? result
            sqlite3_close_v2(opened)
            throw CacheError(doing: "open cache", on: path, result: code)
        }
        handle = opened
        self.path = path
        sqlite3_extended_result_codes(handle, 1)
        // A checkpoint of the one writer may block a reader for the time of one page.
        sqlite3_busy_timeout(handle, 5_000)
    }

    deinit {
        #if !canImport(SQLite3)
        releaseLock()
        #endif
        // Unlike sqlite3_close, this accepts statements that are not finalized yet.
        sqlite3_close_v2(handle)
    }

    /// Compiles one statement, to be used many times.
    /// - Throws: `CacheError`, if the file can't be read or the text does not fit the schema.
    package func prepare(_ sql: String) throws(CacheError) -> Statement {
        var prepared: OpaquePointer?
        let result = sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared else {
            throw CacheError(doing: "prepare a statement for cache", on: path, result: result)
        }
        return Statement(owning: prepared)
    }

    /// Runs a script of statements that return no rows.
    /// - Throws: `CacheError` of the first statement that fails; those before it took effect.
    package func execute(_ script: String) throws(CacheError) {
        let result = sqlite3_exec(handle, script, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw CacheError(doing: "change cache", on: path, result: result)
        }
    }

    /// The first column of the first row as a number; nil if there is no row.
    /// - Throws: `CacheError`, if the file can't be read.
    package func integer(_ sql: String) throws(CacheError) -> Int? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int(0) : nil
    }

    /// The first column of the first row as text; nil if there is no row.
    /// - Throws: `CacheError`, if the file can't be read.
    package func text(_ sql: String) throws(CacheError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// The texts of the prepared statements that are not finalized, newest first.
    package var statements: [String] {
        let texts = sequence(first: sqlite3_next_stmt(handle, nil)) {
            sqlite3_next_stmt(self.handle, $0)
        }
        return texts.compactMap { $0.flatMap { sqlite3_sql($0) }.map { String(cString: $0) } }
    }

    /// The virtual machine steps of all prepared statements: a measure of their cost that does not
    /// depend on the machine's load.
    package var steps: Int {
        var (steps, statement) = (0, sqlite3_next_stmt(handle, nil))
        while let next = statement {
            steps += Int(sqlite3_stmt_status(next, SQLITE_STMTSTATUS_VM_STEP, 0))
            statement = sqlite3_next_stmt(handle, next)
        }
        return steps
    }

    /// Rows inserted, updated and deleted since the connection was opened.
    package var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }

    /// Rows that the last statement inserted, updated or deleted.
    package var changes: Int { Int(sqlite3_changes64(handle)) }

    /// Pages written to the write-ahead log since the last call. SQLite counts in 32 bits, which
    /// would overflow after some days under load, so each call resets its counter.
    package func takePagesWritten() -> Int {
        var pages: Int32 = 0
        var unused: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 1)
        return Int(pages)
    }

    /// The rowid of the last row inserted.
    package var lastInsertedRow: Int { Int(sqlite3_last_insert_rowid(handle)) }

    /// Whether a transaction is open. SQLite itself ends one after some disk failures.
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Whether the file can only be read, whatever access was requested.
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
}

extension CacheError {
    /// SQLite's result code as an error of this program.
    init(doing: String, on path: String, result: Int32) {
        let (code, name): (Code, String) =
            switch result & 0xff {
            case SQLITE_NOTADB: (.notADatabase, "SQLITE_NOTADB")
            case SQLITE_CORRUPT: (.damaged, "SQLITE_CORRUPT")
            case SQLITE_FULL: (.full, "SQLITE_FULL")
            case SQLITE_IOERR: (.disk, "SQLITE_IOERR")
            case SQLITE_READONLY: (.notWritable, "SQLITE_READONLY")
            case SQLITE_PERM: (.notWritable, "SQLITE_PERM")
            case SQLITE_CANTOPEN: (.notWritable, "SQLITE_CANTOPEN")
            case SQLITE_BUSY: (.inUse, "SQLITE_BUSY")
            case SQLITE_PROTOCOL: (.inUse, "SQLITE_PROTOCOL")
            case SQLITE_CONSTRAINT: (.contradiction, "SQLITE_CONSTRAINT")
            default: (.failed, "SQLite")
            }
        // Not sqlite3_errmsg, which may quote the values of the statement.
        self.init(
            code, doing: doing, on: path, seen: String(cString: sqlite3_errstr(result)),
            detail: "\(name) \(result)")
    }

    /// The failure of a step of `statement`.
    init(doing: String, stepping statement: OpaquePointer) {
        let database = sqlite3_db_handle(statement)
        let path = sqlite3_db_filename(database, "main").map { String(cString: $0) } ?? ""
        self.init(doing: doing, on: path, result: sqlite3_extended_errcode(database))
    }
}
