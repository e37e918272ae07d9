import Glibc
import SQLite

/// The claim of one process to a database file: a lock on `<file>.lock`, held for as long as this
/// object lives. The kernel lets go of it when the process ends, however it ends. SQLite's own
/// locks would not do: they let a second process in between two transactions. The file beside it
/// says, while it has something to say, that its owner is about to leave.
final class FileLock: Sendable {
    private let descriptor: Int32
    /// Whether the lock's file was there before: then the file beside it was this program's.
    let wasThere: Bool

    /// What an owner writes that is about to leave.
    private static let leaving = Array("leaving\n".utf8)

    /// Takes the lock, or waits for it at most `wait`; for an owner that is about to leave, at most
    /// `succession`.
    /// - Throws: `CacheError`: `inUse` if another process has it, `missingDirectory` or
    ///   `notWritable` if the lock's file can't be made.
    init(guarding path: String, wait: Duration, succession: Duration) throws(CacheError) {
        wasThere = access(path + ".lock", F_OK) == 0
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileLock.refusal(errno, path) }
        let began = ContinuousClock.now
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            let waited = ContinuousClock.now - began
            if reason == EWOULDBLOCK,
                waited < wait || waited < succession && Self.isLeft(descriptor)
            {
                usleep(20_000)
                continue
            }
            close(descriptor)
            throw FileLock.refusal(reason, path)
        }
        self.descriptor = descriptor
        ftruncate(descriptor, 0)
    }

    /// Whoever asks for the file from now on waits until this process has ended.
    func leave() {
        // Should it fail, a successor is refused and has to be started again.
        _ = pwrite(descriptor, Self.leaving, Self.leaving.count, 0)
    }

    private static func isLeft(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: leaving.count)
        return pread(descriptor, &bytes, bytes.count, 0) == bytes.count && bytes == leaving
    }

    deinit { close(descriptor) }

    /// Whether another process holds the lock; nothing is changed by asking.
    /// - Throws: `CacheError`, if the lock could not be taken for another reason.
    static func isTaken(guarding path: String) throws(CacheError) -> Bool {
        let name = path + ".lock"
        guard access(name, F_OK) == 0 else {
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            guard access(folder, W_OK | X_OK) == 0 else { throw refusal(errno, path) }
            return false
        }
        let descriptor = open(name, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(errno, path) }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    private static func refusal(_ reason: Int32, _ path: String) -> CacheError {
        let isLock = access(path + ".lock", F_OK) == 0
        let (code, seen): (CacheError.Code, String) =
            switch reason {
            case EACCES where isLock, EPERM where isLock:
                (.notWritable, "the lock beside it (.lock) is another user's")
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
