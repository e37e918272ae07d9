import CSQLite
import Foundation
import TestSupport

/// The file that a killed gateway left, read row by row in a copy of it, and by itself: nothing of
/// the gateway's own reading is used.
final class CacheFile {
    struct Row {
        fileprivate let values: [Value]

        func int(_ column: Int) -> Int {
            if case .int(let value) = values[column] { value } else { 0 }
        }

        func bytes(_ column: Int) -> [UInt8] {
            if case .bytes(let value) = values[column] { value } else { [] }
        }

        func text(_ column: Int) -> String { String(decoding: bytes(column), as: UTF8.self) }
    }

    fileprivate enum Value {
        case int(Int)
        case bytes([UInt8])
        case null
    }

    private let directory: URL
    private var connection: OpaquePointer?

    /// Copies the file that a gateway has where it is put unless told otherwise.
    ///
    /// - Throws: as below.
    convenience init(of gateway: GatewayProcess) throws {
        try self.init(at: gateway.directory.appendingPathComponent("gapless.db").path)
    }

    /// Copies the file and what is beside it.
    ///
    /// - Throws: Foundation's error, or `TestFailure` where it is no database.
    init(at original: String) throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-copy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.appendingPathComponent("gapless.db").path
        for ending in ["", "-wal"] {
            let source = original + ending
            guard FileManager.default.fileExists(atPath: source) else { continue }
            try FileManager.default.copyItem(atPath: source, toPath: path + ending)
        }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            throw TestFailure("the copy of the cache can't be opened")
        }
    }

    deinit {
        sqlite3_close(connection)
        try? FileManager.default.removeItem(at: directory)
    }

    /// - Throws: `TestFailure` where SQLite refuses it.
    func rows(_ sql: String) throws -> [Row] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            throw TestFailure("\(sql): \(String(cString: sqlite3_errmsg(connection)))")
        }
        defer { sqlite3_finalize(statement) }
        var rows: [Row] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            let columns = 0..<sqlite3_column_count(statement)
            rows.append(Row(values: columns.map { Self.value(statement, $0) }))
        }
        return rows
    }

    private static func value(_ statement: OpaquePointer?, _ column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .int(Int(sqlite3_column_int64(statement, column)))
        case SQLITE_NULL: return .null
        default:
            guard let start = sqlite3_column_blob(statement, column) else { return .bytes([]) }
            let count = Int(sqlite3_column_bytes(statement, column))
            return .bytes([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
        }
    }
}

extension CacheFile {
    /// What one look found.
    struct Findings {
        var faults: [String] = []
        /// Places that the file says it holds, each of which was looked up.
        var claimed = 0
    }

    /// Compares each claim with the row that it is about, and the row with the log: a run that is
    /// as old as `changes_from` or younger stands at the conversation's `rev`, an older one at its
    /// own `as_of`; each place in it has a row, with a value that the log had, not older than the
    /// last change of the place up to there.
    ///
    /// - Throws: `TestFailure` where the file can't be read.
    func check(_ truths: [String: Truth]) throws -> Findings {
        var findings = Findings()
        if try rows("PRAGMA integrity_check").first?.text(0) != "ok" {
            findings.faults.append("SQLite finds the file damaged")
        }
        let conversations = try rows(
            """
            SELECT cid, id, epoch, rev, changes_from, record_rev, held FROM conversation
            WHERE removed = 0
            """)
        for row in conversations {
            let id = row.text(1)
            guard let log = truths[id]?.logs[row.text(2)] else {
                findings.faults.append("\(id): an epoch that never was")
                continue
            }
            try check(row, log, &findings)
        }
        let counted = try rows("SELECT count(*) FROM message").first?.int(0)
        if try rows("SELECT messages FROM state").first?.int(0) != counted {
            findings.faults.append("the number of messages in the file is not what it says")
        }
        return findings
    }

    private func check(_ row: Row, _ log: Truth.Log, _ findings: inout Findings) throws {
        let (cid, id, rev) = (row.int(0), row.text(1), row.int(3))
        let changesFrom = row.int(4)
        if rev > log.headRev { findings.faults.append("\(id): stands at \(rev), which never was") }
        if row.int(5) < log.lastChange(of: 0, atMost: rev) ?? 0 {
            findings.faults.append("\(id): the record is older than rev \(rev)")
        }
        var held: [Int: (rev: Int, json: [UInt8])] = [:]
        for message in try rows("SELECT seq, rev, json FROM message WHERE cid = \(cid)") {
            held[message.int(0)] = (message.int(1), message.bytes(2))
        }
        if held.count != row.int(6) { findings.faults.append("\(id): held is \(row.int(6))") }
        let runs = try rows(
            "SELECT low, high, as_of FROM coverage WHERE cid = \(cid) ORDER BY low")
        for run in runs {
            let stand = run.int(2) >= changesFrom ? rev : run.int(2)
            for seq in run.int(0)...run.int(1) {
                findings.claimed += 1
                let fault = fault(of: seq, held[seq], stand, log)
                if let fault { findings.faults.append("\(id): \(fault)") }
            }
        }
    }

    private func fault(
        of seq: Int, _ value: (rev: Int, json: [UInt8])?, _ stand: Int, _ log: Truth.Log
    ) -> String? {
        guard let value else { return "place \(seq) is claimed and not there" }
        if let last = log.lastChange(of: seq, atMost: stand), value.rev < last {
            return "place \(seq) has the value of \(value.rev), but changed in \(last) (\(stand))"
        }
        guard let known = log.changes[value.rev], known.slot == seq,
            (try? JSONValue(parsing: value.json)) == known.value
        else { return "place \(seq) has a value that change \(value.rev) did not give it" }
        return nil
    }
}
