#if canImport(SQLite3)
import SQLite3
#else
import CSQLite
#endif

/// One prepared statement, the only owner of its `sqlite3_stmt*`. Parameters count from 1, columns
/// from 0, as in SQLite. It belongs to one connection and so to one thread; it must be reset
/// between two uses, or it keeps its read transaction open.
@usableFromInline package struct Statement: ~Copyable {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    // MARK: parameters

    // A bind fails only for an index that the text does not have, for a statement that was not
    // reset, or for a value above SQLite's limit of a gigabyte: all three are errors of this
    // program.
    private func check(_ result: Int32) {
        precondition(result == SQLITE_OK, "a statement was given a parameter that it can't take")
    }

    package func bind(_ index: Int32, _ value: Int) {
        check(sqlite3_bind_int64(handle, index, Int64(value)))
    }

    package func bind(_ index: Int32, _ value: Int?) {
        guard let value else { return check(sqlite3_bind_null(handle, index)) }
        bind(index, value)
    }

    package func bind(_ index: Int32, _ value: Int64) {
        check(sqlite3_bind_int64(handle, index, value))
    }

    package func bind(_ index: Int32, _ value: Bool) {
        check(sqlite3_bind_int64(handle, index, value ? 1 : 0))
    }

    package func bind(_ index: Int32, _ value: String?) {
        guard var value else { return check(sqlite3_bind_null(handle, index)) }
        check(
            value.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    gapless_sqlite_bind_text(
                        handle, index, characters.baseAddress, Int32(characters.count))
                }
            })
    }

    package func bind(_ index: Int32, _ value: [UInt8]?) {
        guard let value else { return check(sqlite3_bind_null(handle, index)) }
        check(
            value.withUnsafeBytes { bytes in
                gapless_sqlite_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count))
            })
    }

    /// Gives a parameter bytes that SQLite reads where they lie while `body` runs, which is to run
    /// the statement: `bind` has them copied.
    package func lending(
        _ index: Int32, _ value: [UInt8], _ body: () throws(CacheError) -> Void
    ) throws(CacheError) {
        try value.withUnsafeBufferPointer { bytes throws(CacheError) in
            check(gapless_sqlite_lend_blob(handle, index, bytes.baseAddress, Int32(bytes.count)))
            // SQLite must not keep an address that is no longer valid.
            defer { check(sqlite3_bind_null(handle, index)) }
            try body()
        }
    }

    /// The same with a text.
    package func lending(
        _ index: Int32, _ value: String, _ body: () throws(CacheError) -> Void
    ) throws(CacheError) {
        var value = value
        let result = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                Result { () throws(CacheError) in
                    check(
                        gapless_sqlite_lend_text(handle, index, text.baseAddress, Int32(text.count))
                    )
                    defer { check(sqlite3_bind_null(handle, index)) }
                    try body()
                }
            }
        }
        try result.get()
    }

    // MARK: running

    /// Steps to the next row; false at the end.
    /// - Throws: `CacheError`, if the file can't be read or written.
    @usableFromInline package func step() throws(CacheError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let doing = sqlite3_stmt_readonly(handle) != 0 ? "read cache" : "write cache"
            throw CacheError(doing: doing, stepping: handle)
        }
    }

    /// Makes the statement ready for another use. Parameters keep their values.
    @usableFromInline package func reset() {
        // The result repeats the failure of the last step, which that step threw.
        sqlite3_reset(handle)
    }

    /// Runs a statement that returns no rows.
    /// - Throws: `CacheError`, if the file can't be written.
    package func run() throws(CacheError) {
        defer { reset() }
        while try step() {}
    }

    /// Whether the statement returns a row.
    /// - Throws: `CacheError`, if the file can't be read.
    package func exists() throws(CacheError) -> Bool {
        defer { reset() }
        return try step()
    }

    /// `read` applied to the first row; nil if there is none.
    /// - Throws: `CacheError`, if the file can't be read.
    @inlinable package func first<Value>(
        _ read: (borrowing Statement) -> Value
    ) throws(CacheError) -> Value? {
        defer { reset() }
        return try step() ? read(self) : nil
    }

    /// `read` applied to each row.
    /// - Throws: `CacheError`, if the file can't be read.
    @inlinable package func all<Value>(
        _ read: (borrowing Statement) -> Value
    ) throws(CacheError) -> [Value] {
        defer { reset() }
        var values: [Value] = []
        while try step() { values.append(read(self)) }
        return values
    }

    // MARK: columns of the present row

    package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }

    package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func bool(_ column: Int32) -> Bool { sqlite3_column_int64(handle, column) != 0 }

    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The column as text; empty if it is null.
    package func text(_ column: Int32) -> String {
        // Reads a blob: as text, SQLite would first make a zero-terminated copy.
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The column as text; `known` itself where it says the same, so that what rows share is one
    /// string in memory.
    package func text(_ column: Int32, like known: String) -> String {
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        // Bytes of two buffers: an iterator over the text would cost more than another string.
        let isKnown = known.utf8.withContiguousStorageIfAvailable { known in
            known.count == count && known.indices.allSatisfy { known[$0] == bytes[$0] }
        }
        if isKnown == true { return known }
        return String(decoding: bytes, as: UTF8.self)
    }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// The column as bytes; empty if it is null.
    package func blob(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    package func optionalInt(_ column: Int32) -> Int? { isNull(column) ? nil : int(column) }

    package func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}

#if canImport(SQLite3)
// The same as in the shim of `CSQLite`. SQLITE_TRANSIENT is a cast that Swift does not import: it
// makes SQLite copy the value.

private func gapless_sqlite_bind_text(
    _ statement: OpaquePointer, _ index: Int32, _ text: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
    sqlite3_bind_text(
        statement, index, text, count, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
}

private func gapless_sqlite_bind_blob(
    _ statement: OpaquePointer, _ index: Int32, _ bytes: UnsafeRawPointer?, _ count: Int32
) -> Int32 {
    // Binding a null address would bind NULL.
    guard let bytes else { return sqlite3_bind_zeroblob(statement, index, 0) }
    return sqlite3_bind_blob(
        statement, index, bytes, count, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
}

private func gapless_sqlite_lend_text(
    _ statement: OpaquePointer, _ index: Int32, _ text: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
    sqlite3_bind_text(statement, index, text, count, nil)
}

private func gapless_sqlite_lend_blob(
    _ statement: OpaquePointer, _ index: Int32, _ bytes: UnsafeRawPointer?, _ count: Int32
) -> Int32 {
    guard let bytes else { return sqlite3_bind_zeroblob(statement, index, 0) }
    return sqlite3_bind_blob(statement, index, bytes, count, nil)
}
#endif
