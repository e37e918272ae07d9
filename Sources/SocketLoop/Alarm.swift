/// One timer of a `ServiceLoop` that can be set repeatedly. Owned by the code that requested it,
/// and used on the loop thread; it ends with the loop.
package final class Alarm {
    private var timer: TimerWatcher?

    init(loop: ServiceLoop, handler: @escaping () -> Void) {
        // The first `set` replaces this interval; until then the timer does not run.
        timer = TimerWatcher(loop: loop, milliseconds: 1) { [unowned self] in
            timer?.stop()
            handler()
        }
    }

    /// Sets the alarm to fire once after this many milliseconds, at least one, and replaces an
    /// earlier setting; nil cancels it.
    package func set(milliseconds: Int?) {
        set(after: milliseconds.map { .milliseconds(max(1, $0)) })
    }

    /// The same in microseconds, as far as the kernel supports it: it rounds up to the next
    /// millisecond.
    package func set(after delay: Duration?) {
        if let delay {
            timer?.start(seconds: max(1e-6, delay / .seconds(1)))
        } else {
            timer?.stop()
        }
    }

    func end() { timer = nil }
}
