/// One timer of a `ServiceLoop` that is set again and again to another moment. Owned by whoever
/// asked the loop for it, and touched on the loop thread; the end of the loop ends it.
package final class Alarm {
    private var timer: TimerWatcher?

    init(loop: ServiceLoop, handler: @escaping () -> Void) {
        // The width is that of the first `set`; until then it does not run.
        timer = TimerWatcher(loop: loop, milliseconds: 1) { [unowned self] in
            timer?.stop()
            handler()
        }
    }

    /// Has it ring once after so many milliseconds, at least one, instead of what was set before;
    /// nil for not at all.
    package func set(milliseconds: Int?) {
        set(after: milliseconds.map { .milliseconds(max(1, $0)) })
    }

    /// The same to the microsecond, as far as the kernel wakes that exactly: it rounds up to the
    /// next millisecond.
    package func set(after delay: Duration?) {
        if let delay {
            timer?.start(seconds: max(1e-6, delay / .seconds(1)))
        } else {
            timer?.stop()
        }
    }

    func end() { timer = nil }
}
