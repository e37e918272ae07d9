import Chat
import Configuration
import Glibc

/// The environment, streams and clocks of a command. Tests replace them. Used on the main thread.
package struct Console: Sendable {
    package var environment: [String: String]
    /// Writes to standard output; no line end is added.
    package var write: @Sendable (String) -> Void
    /// Writes to standard error.
    package var complain: @Sendable (String) -> Void
    /// Whether standard error is a terminal that somebody looks at.
    package var isTerminal: Bool
    /// The time of day.
    package var now: @Sendable () -> Timestamp
    /// Milliseconds of a monotonic clock.
    package var uptime: @Sendable () -> Milliseconds
    package var sleep: @Sendable (Milliseconds) -> Void

    package init(
        environment: [String: String], write: @escaping @Sendable (String) -> Void,
        complain: @escaping @Sendable (String) -> Void, isTerminal: Bool,
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Milliseconds,
        sleep: @escaping @Sendable (Milliseconds) -> Void
    ) {
        self.environment = environment
        self.write = write
        self.complain = complain
        self.isTerminal = isTerminal
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
    }

    /// The console of this process.
    package static func process() -> Console {
        Console(
            environment: processEnvironment(),
            write: { Self.write($0, to: STDOUT_FILENO) },
            complain: { Self.write($0, to: STDERR_FILENO) },
            isTerminal: isatty(STDERR_FILENO) == 1,
            now: { Timestamp(milliseconds: milliseconds(of: CLOCK_REALTIME)) },
            uptime: { milliseconds(of: CLOCK_MONOTONIC) },
            sleep: { duration in
                // A signal may wake it early; callers check the clock and sleep again.
                var time = timespec(
                    tv_sec: Int(duration / 1000), tv_nsec: Int(duration % 1000) * 1_000_000)
                nanosleep(&time, nil)
            })
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            let count = Glibc.write(descriptor, bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            // The reader is gone (or the disk full), and there is nowhere left to report it.
            guard count > 0 else { return }
            bytes.removeFirst(count)
        }
    }

    private static func milliseconds(of clock: clockid_t) -> Milliseconds {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private static func processEnvironment() -> [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1)
            if let name = parts.first {
                result[String(name)] = parts.count == 2 ? String(parts[1]) : ""
            }
            entry += 1
        }
        return result
    }
}
