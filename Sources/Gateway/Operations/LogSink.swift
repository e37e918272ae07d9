import Dispatch
import Glibc
import Synchronization

/// Writes the lines of the log on a thread of its own, so that a log reader or a disk that stands
/// still stops no other thread. It drops and counts the lines for which its buffer has no room.
/// From any thread.
final class LogSink: Sendable {
    private struct State {
        var bytes = 0
        var dropped = 0
        var untold = 0
    }

    /// The most bytes that wait for the reader of the log.
    static let limit = 1 << 20

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "gapless.log")
    private let state = Mutex(State())

    init(_ descriptor: Int32 = STDERR_FILENO) { self.descriptor = descriptor }

    /// Writes a line soon, after those before it; returns at once.
    func put(_ line: [UInt8]) {
        let isTaken = state.withLock { state in
            guard state.bytes + line.count <= Self.limit else {
                state.dropped += 1
                state.untold += 1
                return false
            }
            state.bytes += line.count
            return true
        }
        guard isTaken else { return }
        queue.async { [self] in
            write(line)
            state.withLock { $0.bytes -= line.count }
        }
    }

    /// Lines dropped since the start.
    var dropped: Int { state.withLock(\.dropped) }

    /// Lines dropped since the last call.
    func takeDropped() -> Int {
        state.withLock { state in
            defer { state.untold = 0 }
            return state.untold
        }
    }

    /// Waits until all lines are written, for a second at most. For the end of the process.
    func flush() {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + .seconds(1))
    }

    /// On the queue. One call of the kernel writes a whole line, unless its reader is slow.
    private func write(_ line: [UInt8]) {
        var rest = line
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest, rest.count)
            if count > 0 {
                rest.removeFirst(count)
            } else if errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if errno != EINTR {
                // The reader has closed its end.
                return
            }
        }
    }
}
