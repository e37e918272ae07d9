import Glibc
import SQLite

/// A copy of an embedded origin's log, taken while a gateway serves from it: one snapshot of the
/// file, by SQLite's online backup, checked before it gets its name. It never blocks the writer;
/// meanwhile the write-ahead log grows by what is written. Any process that may read the file and
/// its directory can take one.
package enum Backup {
    /// What the copy holds.
    package struct Summary: Sendable, Hashable {
        package var messages: Int
        package var conversations: Int
        package var bytes: Int
    }

    /// Pages copied between two calls of `progress`: a few megabytes.
    private static let step: Int32 = 1024

    /// Copies the log at `path` to `target`, which must not exist yet. Until it is checked, the
    /// copy is named `target.partial`; one that an earlier attempt left there is overwritten.
    /// - Parameter progress: gets the number of pages copied so far, and the total.
    /// - Throws: `CacheError`: `otherProgram`, `newerVersion` or `otherOrigin` for a file that is
    ///   not such a log, `notWritable` if `target` exists already, `damaged` if the copy is not
    ///   sound, and every failure of SQLite. Then there is no copy.
    package static func take(
        of path: String, to target: String,
        progress: (_ copied: Int, _ all: Int) -> Void = { _, _ in }
    ) throws(CacheError) -> Summary {
        guard access(target, F_OK) != 0 else {
            throw CacheError(
                .notWritable, doing: "write backup", on: target, seen: "something is there already",
                detail: "a backup overwrites nothing")
        }
        let partial = target + ".partial"
        remove(partial)
        do throws(CacheError) {
            try make(partial)
            try copy(path, partial, progress)
            let summary = try check(partial)
            try publish(partial, as: target)
            return summary
        } catch {
            remove(partial)
            throw error
        }
    }

    /// An empty file that only this user may read, which SQLite takes for a new database.
    private static func make(_ path: String) throws(CacheError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("make backup", path) }
        close(descriptor)
    }

    private static func copy(
        _ path: String, _ target: String, _ progress: (Int, Int) -> Void
    ) throws(CacheError) {
        let source = try Connection(path: path, access: .readOnly)
        // The transaction holds the snapshot: without it each commit of the gateway would restart
        // the copy, which under steady traffic would never end.
        try source.execute("BEGIN")
        try inspect(source, path)
        let copy = try Connection(path: target, access: .readWrite)
        try source.copy(to: copy, path: target, step: step, progress)
        // The copy must be complete without a write-ahead log beside it: people move it elsewhere.
        try copy.execute("PRAGMA journal_mode = DELETE")
    }

    /// Refuses a file that is not an embedded origin's log.
    private static func inspect(_ source: Connection, _ path: String) throws(CacheError) {
        guard try source.integer("PRAGMA application_id") == Schema.applicationID else {
            throw CacheError(
                .otherProgram, doing: "back up", on: path, seen: "it is no file of this program",
                detail: "application_id")
        }
        let version = try source.integer("PRAGMA user_version") ?? 0
        guard version <= Schema.migrations.count else {
            throw CacheError(
                .newerVersion, doing: "back up", on: path,
                seen: "it was written by a newer version of this program, as version \(version)",
                detail: "up to \(Schema.migrations.count) is known here")
        }
        let origin = try source.text("SELECT origin FROM state") ?? ""
        guard origin == "embedded" else {
            throw CacheError(
                .otherOrigin, doing: "back up", on: path,
                seen: "it is the cache of another origin, which can be filled again",
                detail: "upstream.kind \(origin)")
        }
    }

    /// Checks the whole copy.
    private static func check(_ path: String) throws(CacheError) -> Summary {
        let copy = try Connection(path: path, access: .readWrite)
        guard try copy.text("PRAGMA quick_check(1)") == "ok",
            let messages = try copy.integer("SELECT count(*) FROM message"),
            messages == (try copy.integer("SELECT messages FROM state"))
        else {
            throw CacheError(
                .damaged, doing: "check backup", on: path, seen: "its pages contradict each other",
                detail: "so does the original, or a disk fails")
        }
        let conversations = try copy.integer("SELECT count(*) FROM conversation WHERE removed = 0")
        let pages = try copy.integer("PRAGMA page_count") ?? 0
        let size = try copy.integer("PRAGMA page_size") ?? 0
        return Summary(
            messages: messages, conversations: conversations ?? 0, bytes: pages * size)
    }

    /// Flushes the copy to the disk, then renames it.
    private static func publish(_ partial: String, as target: String) throws(CacheError) {
        try flush(partial, O_RDONLY)
        guard rename(partial, target) == 0 else { throw failure("name backup", target) }
        let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
        try flush(folder, O_RDONLY | O_DIRECTORY)
    }

    private static func flush(_ path: String, _ flags: Int32) throws(CacheError) {
        let descriptor = open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("write backup", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("write backup", path) }
    }

    private static func remove(_ partial: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(partial + suffix) }
    }

    private static func failure(_ doing: String, _ path: String) -> CacheError {
        let code = errno
        let kind: CacheError.Code =
            switch code {
            case ENOENT, ENOTDIR: .missingDirectory
            case ENOSPC, EDQUOT: .full
            case EIO: .disk
            default: .notWritable
            }
        return CacheError(
            kind, doing: doing, on: path, seen: String(cString: strerror(code)),
            detail: "errno \(code)")
    }
}
