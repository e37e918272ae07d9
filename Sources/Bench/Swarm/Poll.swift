import CLinux
import Glibc

/// The epoll descriptor of one swarm: which of many sockets have something to say.
final class Poll {
    /// A socket that is ready; `token` is what it was added with.
    struct Ready {
        let token: Int
        let isWritable: Bool
    }

    private let descriptor: Int32
    /// Few at a time, so that what is due by the clock never waits behind a thousand reads.
    private var events = [epoll_event](repeating: epoll_event(), count: 128)

    /// Whether it looks again and again instead of sleeping. Who sends to a reader that sleeps also
    /// pays for waking it, and the faster the reader is, the more often: a third of a send here,
    /// and nothing where the reader is another machine.
    var isAwake = false
    /// How long it looked and found nothing, while it was awake.
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

    /// Says whether the socket is waited for to have bytes, and to take some.
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

    /// Waits until a socket is ready or the moment has come.
    /// - Returns: how many are ready; `ready(at:)` tells which.
    /// - Throws: `BenchError.failure` once the generator is interrupted.
    func wait(until moment: Nanoseconds) throws(BenchError) -> Int {
        let start = Clock.now()
        var count = wait(isAwake ? 0 : max(0, moment - start))
        var last = start
        while isAwake, count == 0 {
            last = Clock.now()
            guard last < moment else { break }
            try Interruption.check()
            count = wait(0)
        }
        idle += last - start
        try Interruption.check()
        return count
    }

    private func wait(_ left: Nanoseconds) -> Int {
        var span = timespec(tv_sec: left / Clock.second, tv_nsec: left % Clock.second)
        // Millisecond timeouts would blur the schedule of an open loop.
        return Int(max(0, epoll_pwait2(descriptor, &events, Int32(events.count), &span, nil)))
    }

    func ready(at index: Int) -> Ready {
        let event = events[index]
        return Ready(
            token: Int(event.data.u64), isWritable: event.events & EPOLLOUT.rawValue != 0)
    }
}
