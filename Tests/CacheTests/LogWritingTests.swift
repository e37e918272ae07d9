import Cache
import Foundation
import SQLite
import TestSupport
import Testing

/// The write-ahead log is written once for each transaction, and holds what SQLite by itself would
/// have put there.
@Suite struct LogWritingTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func connection(_ name: String = "one.db") throws -> Connection {
        let connection = try Connection(cache: scratch.file(name), access: .readWrite)
        _ = try connection.text("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;")
        return connection
    }

    @Test func aTransactionIsOneCall() throws {
        let connection = try connection()
        try connection.execute("CREATE TABLE a (n INTEGER PRIMARY KEY, t TEXT)")
        try connection.execute("CREATE TABLE b (n INTEGER PRIMARY KEY, t TEXT)")
        try connection.execute("CREATE INDEX c ON b (t)")
        let before = connection.logWrites
        for number in 0..<50 {
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                INSERT INTO a VALUES (\(number), 'x\(number)');
                INSERT INTO b VALUES (\(number), hex(randomblob(300)));
                COMMIT;
                """)
        }
        let after = connection.logWrites
        #expect(after.calls - before.calls == 50)
        // Three trees and more, each page with the head of its frame.
        #expect(after.asked - before.asked >= 300)
    }

    /// One that SQLite's own file would refuse to write at once.
    @Test(arguments: [31, 32, 33, 64, 300])
    func aLongTransactionIsSeveralCalls(_ pages: Int) throws {
        let connection = try connection()
        try connection.execute("CREATE TABLE a (n INTEGER PRIMARY KEY, t TEXT)")
        let before = connection.logWrites
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(pages))
            INSERT INTO a SELECT i, hex(randomblob(2000)) FROM n
            """)
        let after = connection.logWrites
        #expect(after.calls - before.calls <= 2 + pages / 20)
        #expect(try connection.integer("SELECT count(*) FROM a") == pages)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }

    /// Random transactions, some rolled back, most larger than the page cache, so that frames are
    /// read again and written over before their transaction ends.
    @Test(arguments: 0..<12)
    func theFileIsAsSQLiteWouldWriteIt(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let connection = try connection()
        try connection.execute(
            "PRAGMA cache_size = \(Int.random(in: 1...12, using: &random)); PRAGMA cache_spill = 1;"
                + "PRAGMA synchronous = \(seed % 3 == 0 ? "NORMAL" : "FULL");"
                + "CREATE TABLE a (n INTEGER PRIMARY KEY, t TEXT); CREATE INDEX i ON a (t);")
        let reader = try Connection(cache: scratch.file("one.db"), access: .readOnly)
        var model: [Int: String] = [:]
        for _ in 0..<60 {
            let kept = model
            try connection.execute("BEGIN IMMEDIATE")
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                try change(&model, connection, &random)
            }
            #expect(try rows(reader) == kept, "seed \(seed): seen before its commit")
            if Int.random(in: 0..<5, using: &random) == 0 {
                try connection.execute("ROLLBACK")
                model = kept
            } else {
                try connection.execute("COMMIT")
            }
            #expect(try rows(reader) == model, "seed \(seed)")
            if Int.random(in: 0..<8, using: &random) == 0 {
                _ = try connection.integer("PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
        #expect(try connection.text("PRAGMA integrity_check") == "ok", "seed \(seed)")
        // What lies in the files now is what a crash would leave: another program reads it.
        #expect(try copied("one.db") == model, "seed \(seed)")
    }

    private func change(
        _ model: inout [Int: String], _ connection: Connection, _ random: inout SplitMix64
    ) throws {
        let number = Int.random(in: 0..<200, using: &random)
        if Int.random(in: 0..<4, using: &random) == 0 {
            try connection.execute("DELETE FROM a WHERE n = \(number)")
            model[number] = nil
        } else {
            let letter = ["x", "y", "z"].randomElement(using: &random) ?? "x"
            let text = String(repeating: letter, count: Int.random(in: 1...3000, using: &random))
            try connection.execute("INSERT OR REPLACE INTO a VALUES (\(number), '\(text)')")
            model[number] = text
        }
    }

    private func rows(_ connection: Connection) throws -> [Int: String] {
        let statement = try connection.prepare("SELECT n, t FROM a")
        var rows: [Int: String] = [:]
        while try statement.step() { rows[statement.int(0)] = statement.text(1) }
        return rows
    }

    /// What another program reads, by SQLite alone, in a copy of the files.
    private func copied(_ name: String) throws -> [Int: String] {
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: scratch.file(name) + end, toPath: scratch.file("copy") + end)
        }
        let program = """
            import sqlite3, sys
            connection = sqlite3.connect(sys.argv[1])
            print(connection.execute("PRAGMA integrity_check").fetchone()[0])
            for row in connection.execute("SELECT n, t FROM a"):
                print(*row, sep="|")
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", program, scratch.file("copy")]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "ok")
        return Dictionary(
            uniqueKeysWithValues: lines.dropFirst().compactMap { line in
                let parts = line.split(separator: "|")
                return Int(parts[0]).map { ($0, String(parts[1])) }
            })
    }
}
