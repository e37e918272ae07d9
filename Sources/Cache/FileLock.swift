import Glibc
import SQLite

/// One process's exclusive claim to the name of a database file: a lock on `<file>.lock`, held for
/// the lifetime of this object. The kernel releases it when the process ends, however it ends.
/// `FilePlace` has the claim to the file itself. The lock's file also says when its owner is about
/// to exit, and how far the list of the log was told (`ListWitness`).
final class FileLock: Sendable {
    private let descriptor: Int32
    /// Whether the lock's file existed before: then the database file was this program's.
    let wasThere: Bool

    /// The note of an owner that is about to exit, and that of one that is not, of the same length.
    private static let leaving = Array("leaving\n".utf8)
    private static let serving = Array("serving\n".utf8)

    /// How long a lock may be held by somebody who only asks whether it is taken.
    static let glance = Duration.milliseconds(200)

    /// Takes the lock; waits at most `wait` for it, or at most `succession` for an owner that is
    /// about to exit.
    /// - Throws: `CacheError`: `inUse` if another process has it, `missingDirectory` or
    ///   `notWritable` if the lock's file can't be created.
    init(guarding path: String, wait: Duration, succession: Duration) throws(CacheError) {
        let name = path + ".lock"
        var descriptor = open(name, O_RDWR | O_CLOEXEC)
        wasThere = descriptor >= 0
        if descriptor < 0, errno == ENOENT {
            descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            // Whatever the process's mask takes away.
            if descriptor >= 0 { fchmod(descriptor, 0o600) }
        }
        guard descriptor >= 0 else { throw FileLock.refusal(errno, path) }
        let isTaken = FileLock.take(descriptor) { waited in
            waited < max(wait, Self.glance) || waited < succession && Self.isLeft(descriptor)
        }
        guard isTaken else {
            let reason = errno
            close(descriptor)
            throw FileLock.refusal(reason, path)
        }
        self.descriptor = descriptor
        note(Self.serving)
    }

    /// Takes an exclusive lock on an open file.
    /// - Parameter isWaiting: whether to go on waiting for another process, after so long.
    /// - Returns: false, and `errno` says why, if it can't be had.
    static func take(_ descriptor: Int32, waiting isWaiting: (Duration) -> Bool) -> Bool {
        let began = ContinuousClock.now
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            guard reason == EWOULDBLOCK, isWaiting(ContinuousClock.now - began) else {
                errno = reason
                return false
            }
            usleep(20_000)
        }
        return true
    }

    /// Announces that this process is about to exit: from now on a successor waits for it.
    func leave() { note(Self.leaving) }

    private func note(_ note: [UInt8]) {
        // If this fails, a successor is refused and has to be started again.
        _ = pwrite(descriptor, note, note.count, 0)
    }

    private static func isLeft(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: leaving.count)
        return pread(descriptor, &bytes, bytes.count, 0) == bytes.count && bytes == leaving
    }

    // MARK: what stands behind the note

    /// What stands there; at most so many bytes.
    func read(most count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = pread(descriptor, &bytes, count, off_t(Self.serving.count))
        return Array(bytes.prefix(max(0, found)))
    }

    /// Has the kernel write it. Within one sector of the disk, so that it is there whole or not.
    /// - Returns: whether that succeeded.
    func write(_ bytes: [UInt8]) -> Bool {
        pwrite(descriptor, bytes, bytes.count, off_t(Self.serving.count)) == bytes.count
    }

    /// Brings it to the disk.
    /// - Returns: whether that succeeded.
    func flush() -> Bool { fdatasync(descriptor) == 0 }

    deinit { close(descriptor) }

    /// Whether another process holds the lock. The check takes a shared lock for a moment.
    /// - Throws: `CacheError`, if the lock could not be checked for another reason.
    static func isTaken(guarding path: String) throws(CacheError) -> Bool {
        let name = path + ".lock"
        guard access(name, F_OK) == 0 else {
            guard errno == ENOENT else { throw refusal(errno, path) }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            guard access(folder, W_OK | X_OK) == 0 else { throw refusal(errno, path) }
            return false
        }
        let descriptor = open(name, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(errno, path) }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Why the file can't be had.
    static func refusal(_ reason: Int32, _ path: String) -> CacheError {
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
