import CLinux
import Glibc

/// The epoll descriptor of one swarm: finds the ready ones among many sockets.
final class Poll {
    /// A socket that is ready; `token` identifies it as in `add`.
    struct Ready {
        let token: Int
        let isWritable: Bool
    }

    private let descriptor: Int32
    /// Few at a time, so that scheduled work never waits behind a thousand reads.
    private var events = [epoll_event](repeating: epoll_event(), count: 128)

    /// Whether it polls instead of sleeping, as readers on other machines appear to a sender.
    /// Waking a sleeping reader is a third of the cost of a send here, and the faster the reader
    /// is, the more often it sleeps. Also, the kernel of a reader that answers at once acknowledges
    /// in the middle of the send, at the sender's expense; so it polls only after a pause.
    var isAwake = false
    /// The pause: at least what a network would take.
    private static let rest = Clock.millisecond / 10
    private var next: Nanoseconds = 0
    /// The CPU time that it spent waiting while it was awake.
    private(set) var idle: Nanoseconds = 0

    /// - Throws: `BenchError.failure`
    init() throws(BenchError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .failure("making an epoll: errno \(errno)") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Throws: `BenchError.failure`
    func add(_ socket: Socket, token: Int) throws(BenchError) {
        try control(EPOLL_CTL_ADD, socket, token, reads: true, writes: false)
    }

    /// Sets whether to wait until the socket is readable, and until it is writable.
    /// - Throws: `BenchError.failure`
    func watch(
        _ socket: Socket, token: Int, reads: Bool, writes: Bool
    ) throws(BenchError) {
        try control(EPOLL_CTL_MOD, socket, token, reads: reads, writes: writes)
    }

    private func control(
        _ operation: Int32, _ socket: Socket, _ token: Int, reads: Bool, writes: Bool
    ) throws(BenchError) {
        var event = epoll_event()
        event.events = (reads ? EPOLLIN.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
        event.data.u64 = UInt64(token)
        guard epoll_ctl(descriptor, operation, socket.descriptor, &event) == 0 else {
            throw .failure("watching a socket: errno \(errno)")
        }
    }

    /// Waits until a socket is ready or the time has come.
    /// - Returns: the number of ready sockets; `ready(at:)` returns each.
    /// - Throws: `BenchError.failure` once the generator is interrupted.
    func wait(until moment: Nanoseconds) throws(BenchError) -> Int {
        let start = Clock.now()
        guard isAwake else {
            let count = wait(max(0, moment - start))
            try Interruption.check()
            return count
        }
        let used = Clock.used()
        defer { idle += Clock.used() - used }
        var now = start
        while true {
            try Interruption.check()
            if now >= next {
                next = now + Self.rest
                let count = wait(0)
                if count > 0 { return count }
            }
            guard now < moment else { return 0 }
            gapless_relax()
            now = Clock.now()
        }
    }

    private func wait(_ left: Nanoseconds) -> Int {
        var span = timespec(tv_sec: left / Clock.second, tv_nsec: left % Clock.second)
        // Timeouts in milliseconds would blur the schedule of an open loop.
        return Int(max(0, epoll_pwait2(descriptor, &events, Int32(events.count), &span, nil)))
    }

    func ready(at index: Int) -> Ready {
        let event = events[index]
        return Ready(
            token: Int(event.data.u64), isWritable: event.events & EPOLLOUT.rawValue != 0)
    }
}
