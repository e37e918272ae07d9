import Chat
import ClientCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system's clocks, for a core that has none.
package enum SystemClock {
    /// The current time.
    package static func now() -> Instant {
        let time = read(CLOCK_REALTIME)
        return Instant(monotonic: read(CLOCK_MONOTONIC), clock: Timestamp(milliseconds: time))
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// An exclusive lock on a file, held for the lifetime of this object.
package final class FileLock: Sendable {
    /// Why the lock was not taken.
    package struct Failure: Error {
        /// The system's reason.
        package enum Reason { case missingDirectory, notWritable, inUse }
        package let reason: Reason
        package let seen: String
        package let detail: String
    }

    private let descriptor: Int32

    /// Takes the lock; waits at most `patience` for an owner that is about to exit.
    package init(_ path: String, patience: Duration) throws(Failure) {
        let lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw Failure(
                reason: errno == ENOENT ? .missingDirectory : .notWritable,
                seen: String(cString: strerror(errno)), detail: "code \(errno)")
        }
        let pause: Duration = .milliseconds(10)
        var pauses = Int(patience / pause)
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            guard pauses > 0 else {
                close(lock)
                throw Failure(
                    reason: .inUse, seen: "another client has it", detail: "waited \(patience)")
            }
            pauses -= 1
            usleep(10_000)
        }
        descriptor = lock
    }

    deinit { close(descriptor) }
}

/// Operations on files by path.
package enum SystemFiles {
    /// Whether this process may read a file.
    package static func canRead(_ path: String) -> Bool { access(path, R_OK) == 0 }

    /// Gives a file another name, if it exists.
    package static func move(_ path: String, to other: String) { _ = rename(path, other) }

    /// Removes a file, if it exists.
    package static func remove(_ path: String) { _ = unlink(path) }
}
