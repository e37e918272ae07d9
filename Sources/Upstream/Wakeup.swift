import Glibc

/// Wakes a thread out of `poll`, from any other thread. The descriptors live as long as the object;
/// several wakes before the thread looks count as one.
final class Wakeup: Sendable {
    /// The ends of a non-blocking pipe. Negative if the process has no descriptor left: then the
    /// waiting thread looks at intervals.
    private let ends: (read: Int32, write: Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends where end >= 0 {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        self.ends = (ends[0], ends[1])
    }

    deinit {
        for end in [ends.read, ends.write] where end >= 0 { close(end) }
    }

    /// The interval of a thread that can't be woken.
    private static let blindWait = Duration.milliseconds(10)

    func wake() {
        var byte: UInt8 = 0
        // A full pipe wakes as well as one byte.
        _ = write(ends.write, &byte, 1)
    }

    private func clear() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(ends.read, &bytes, bytes.count) == bytes.count {}
    }

    /// Waits until there is something to do or the time has come.
    /// - Parameter wakeup: nil if nobody wakes the thread.
    static func poll(
        _ connection: Int32?, writing: Bool, _ wakeup: Wakeup?,
        until moment: ContinuousClock.Instant
    ) -> (isReadable: Bool, isWritable: Bool, isWoken: Bool) {
        // `poll` ignores a negative descriptor.
        let interest = Int16(POLLIN) | (writing ? Int16(POLLOUT) : 0)
        var watched = [
            pollfd(fd: connection ?? -1, events: interest, revents: 0),
            pollfd(fd: wakeup?.ends.read ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let isBlind = wakeup.map { $0.ends.read < 0 } ?? false
        let wait = moment - ContinuousClock.now
        let left = isBlind ? min(wait, blindWait) : wait
        let (seconds, attoseconds) = left.components
        // Rounded up, so that a thread that waits for a deadline wakes after it.
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        _ = Glibc.poll(&watched, 2, left > .zero ? Int32(clamping: milliseconds) : 0)
        let isWoken = isBlind || watched[1].revents != 0
        if isWoken, !isBlind { wakeup?.clear() }
        let isReadable = watched[0].revents & ~Int16(POLLOUT) != 0
        return (isReadable, watched[0].revents & Int16(POLLOUT) != 0, isWoken)
    }
}
