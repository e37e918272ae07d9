import Chat
import ClientCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The clocks of the system, for a core that has none.
package enum SystemClock {
    /// The present.
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

/// A file that one process at a time has: whoever made it, for as long as this lives.
package final class FileLock: Sendable {
    /// Why a lock could not be had.
    package struct Failure: Error {
        /// What the system said.
        package enum Reason { case missingDirectory, notWritable, inUse }
        package let reason: Reason
        package let seen: String
        package let detail: String
    }

    private let descriptor: Int32

    /// Takes the lock, or waits so long for whoever is just going.
    package init(_ path: String, patience: Duration) throws(Failure) {
        let lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw Failure(
                reason: errno == ENOENT ? .missingDirectory : .notWritable,
                seen: String(cString: strerror(errno)), detail: "code \(errno)")
        }
        let pause: Duration = .milliseconds(10)
        for _ in 0..<Int(patience / pause) {
            if flock(lock, LOCK_EX | LOCK_NB) == 0 {
                descriptor = lock
                return
            }
            usleep(10_000)
        }
        close(lock)
        throw Failure(
            reason: .inUse, seen: "another client has it", detail: "waited \(patience)")
    }

    deinit { close(descriptor) }
}

/// What is done to files by their names.
package enum SystemFiles {
    /// Whether this process may read a file.
    package static func canRead(_ path: String) -> Bool { access(path, R_OK) == 0 }

    /// Removes a file, if it is there.
    package static func remove(_ path: String) { _ = unlink(path) }
}
