import CWebSockets
import Glibc

/// A timer that ends with its loop.
protocol LoopAlarm: AnyObject {
    func end()
}

/// One timer of a `ServiceLoop` that can be set repeatedly. Owned by the code that requested it,
/// and used on the loop thread; it ends with the loop.
package final class Alarm: LoopAlarm {
    private var timer: TimerWatcher?

    init(loop: ServiceLoop, handler: @escaping () -> Void) {
        // The first `set` replaces this interval; until then the timer does not run.
        timer = TimerWatcher(loop: loop, milliseconds: 1) { [unowned self] in
            timer?.stop()
            handler()
        }
    }

    /// Sets the alarm to fire once after this many milliseconds, at least one, and replaces an
    /// earlier setting; nil cancels it. libev waits in whole milliseconds, and rounds up.
    package func set(milliseconds: Int?) {
        if let milliseconds {
            timer?.start(seconds: Double(max(1, milliseconds)) / 1000)
        } else {
            timer?.stop()
        }
    }

    func end() { timer = nil }
}

/// A timer as `Alarm`, to some ten microseconds instead of the next millisecond, with a descriptor
/// of its own (a timerfd).
package final class ExactAlarm: LoopAlarm {
    private let descriptor: Int32
    private var watcher: ReadWatcher?

    /// - Throws: `WebSocketError` `loop` if the process has no descriptor left.
    init(loop: ServiceLoop, handler: @escaping () -> Void) throws(WebSocketError) {
        descriptor = gapless_timer(CLOCK_MONOTONIC, O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw WebSocketError(.loop, "creating a timer: \(String(cString: strerror(errno)))")
        }
        watcher = ReadWatcher(loop: loop, descriptor: descriptor) { [descriptor] in
            var elapsed: UInt64 = 0
            // Nothing to read: it was set anew after the loop had seen that it was due.
            guard read(descriptor, &elapsed, 8) == 8 else { return }
            handler()
        }
    }

    deinit { close(descriptor) }

    /// Sets the alarm to fire once after this time, and replaces an earlier setting; nil cancels
    /// it.
    package func set(after delay: Duration?) {
        let (seconds, attoseconds) = max(.zero, delay ?? .zero).components
        var nanoseconds = Int(attoseconds / 1_000_000_000)
        // Zero would cancel it.
        if delay != nil, seconds == 0 { nanoseconds = max(1, nanoseconds) }
        _ = gapless_set_timer(descriptor, Int(seconds), nanoseconds)
    }

    func end() { watcher = nil }
}
