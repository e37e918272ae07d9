import CWebSockets

/// The four kinds of libev watcher in use. Each class owns one C watcher, whose memory must not
/// move while it is started, and calls one closure on the loop thread. They are created and
/// destroyed on that thread, before the loop is. libev's callbacks are free functions: a closure
/// that the compiler infers as the main actor's would trap on the loop thread.
package class Watcher {
    /// Retained, because a watcher may be the last object that a loop releases.
    private let eventLoop: EventLoop
    private unowned let loop: ServiceLoop
    private let handler: () -> Void

    fileprivate init(loop: ServiceLoop, handler: @escaping () -> Void) {
        eventLoop = loop.eventLoop
        self.loop = loop
        self.handler = handler
    }

    fileprivate var events: OpaquePointer { eventLoop.events }

    fileprivate func fire() {
        loop.noteWork()
        handler()
    }

    fileprivate static func fire(_ data: UnsafeMutableRawPointer?) {
        guard let data else { return }
        Unmanaged<Watcher>.fromOpaque(data).takeUnretainedValue().fire()
    }

    fileprivate var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

private func ioReady(_: OpaquePointer?, _ watcher: UnsafeMutablePointer<ev_io>?, _: Int32) {
    Watcher.fire(watcher?.pointee.data)
}

private func timeElapsed(_: OpaquePointer?, _ watcher: UnsafeMutablePointer<ev_timer>?, _: Int32) {
    Watcher.fire(watcher?.pointee.data)
}

private func signalCame(_: OpaquePointer?, _ watcher: UnsafeMutablePointer<ev_signal>?, _: Int32) {
    Watcher.fire(watcher?.pointee.data)
}

private func wokenUp(_: OpaquePointer?, _ watcher: UnsafeMutablePointer<ev_async>?, _: Int32) {
    Watcher.fire(watcher?.pointee.data)
}

/// Calls its handler when a descriptor is readable.
package final class ReadWatcher: Watcher {
    private let watcher = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)

    package init(loop: ServiceLoop, descriptor: Int32, handler: @escaping () -> Void) {
        super.init(loop: loop, handler: handler)
        gapless_ev_io_init(watcher, ioReady, descriptor, pointer)
        ev_io_start(events, watcher)
    }

    deinit {
        ev_io_stop(events, watcher)
        watcher.deallocate()
    }
}

/// Calls its handler periodically while it runs.
package final class TimerWatcher: Watcher {
    private let watcher = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)

    package init(loop: ServiceLoop, milliseconds: Int, handler: @escaping () -> Void) {
        super.init(loop: loop, handler: handler)
        gapless_ev_timer_init(watcher, timeElapsed, Double(milliseconds) / 1000, pointer)
    }

    package func start() {
        // The interval starts now, not at the beginning of the turn.
        ev_timer_again(events, watcher)
    }

    /// Restarts it with another interval.
    package func start(seconds: Double) {
        watcher.pointee.repeat = seconds
        start()
    }

    package func stop() {
        ev_timer_stop(events, watcher)
    }

    deinit {
        stop()
        watcher.deallocate()
    }
}

/// Calls its handler when the process gets a signal. Only one loop can watch a signal.
final class SignalWatcher: Watcher {
    private let watcher = UnsafeMutablePointer<ev_signal>.allocate(capacity: 1)

    init(loop: ServiceLoop, number: Int32, handler: @escaping () -> Void) {
        super.init(loop: loop, handler: handler)
        gapless_ev_signal_init(watcher, signalCame, number, pointer)
        ev_signal_start(events, watcher)
    }

    deinit {
        ev_signal_stop(events, watcher)
        watcher.deallocate()
    }
}

/// Calls its handler after any thread has asked for it.
final class WakeWatcher: Watcher {
    private let watcher = UnsafeMutablePointer<ev_async>.allocate(capacity: 1)

    override init(loop: ServiceLoop, handler: @escaping () -> Void) {
        super.init(loop: loop, handler: handler)
        gapless_ev_async_init(watcher, wokenUp, pointer)
        ev_async_start(events, watcher)
    }

    /// Any thread may call it while the watcher lives.
    func wake() {
        ev_async_send(events, watcher)
    }

    deinit {
        ev_async_stop(events, watcher)
        watcher.deallocate()
    }
}
