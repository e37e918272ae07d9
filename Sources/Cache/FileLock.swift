import Glibc

/// The claim of one process to a database file: a lock on `<file>.lock`, held for as long as this
/// object lives. The kernel lets go of it when the process ends, however it ends. SQLite's own
/// locks would not do: they let a second process in between two transactions.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock, or waits for it at most `wait`.
    /// - Throws: `CacheError`: `inUse` if another process has it, `missingDirectory` or
    ///   `notWritable` if the lock's file can't be made.
    init(guarding path: String, wait: Duration) throws(CacheError) {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileLock.refusal(errno, path) }
        let deadline = ContinuousClock.now + wait
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            if reason == EWOULDBLOCK, ContinuousClock.now < deadline {
                usleep(20_000)
                continue
            }
            close(descriptor)
            throw FileLock.refusal(reason, path)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    private static func refusal(_ reason: Int32, _ path: String) -> CacheError {
        let (code, seen): (CacheError.Code, String) =
            switch reason {
            case EWOULDBLOCK: (.inUse, "another process has it open")
            case ENOENT, ENOTDIR: (.missingDirectory, "its directory is not there")
            case EACCES, EPERM, EROFS: (.notWritable, "its directory can't be written")
            case ENOSPC, EDQUOT: (.full, "the disk is full")
            default: (.disk, "the lock beside it can't be taken")
            }
        return CacheError(
            code, doing: "open cache", on: path, seen: seen,
            detail: String(cString: strerror(reason)))
    }
}
