import Chat
import ClientCore
import Dispatch
import Synchronization

// Safety: every property is touched on `queue` only, but the time and the
// number of jobs, which are safe by themselves.
/// A network without wires, and with a time of its own: what clients in a test stand on.
///
/// Nothing happens in it by the clock on the wall. A client that waits before it connects again
/// waits until a test lets that time pass, by `advance`. Everything that its clients and its peer
/// say to each other happens on one queue, one after the other.
///
/// `TestGateway` is a gateway on such a network. To speak for the gateway frame by frame, give a
/// `MemoryPeer`.
public final class MemoryNetwork: @unchecked Sendable {
    private let queue = DispatchQueue(label: "gapless.memory")
    private let key = DispatchSpecificKey<Bool>()
    private let time: Mutex<Instant>
    private let peer: any MemoryPeer
    private var transports: [MemoryTransport] = []
    /// Jobs that are not done yet.
    private let pending = Atomic<Int>(0)
    /// Whether a connection can be made, and what is said comes through.
    public private(set) var isUp = true

    /// A network whose clocks begin at a moment.
    /// - Parameter peer: Who answers those that connect; called on the network's queue.
    public init(
        _ peer: any MemoryPeer, at moment: Timestamp = Timestamp(milliseconds: 1_790_000_000_000)
    ) {
        self.peer = peer
        time = Mutex(Instant(monotonic: 0, clock: moment))
        queue.setSpecific(key: key, value: true)
    }

    /// The present of everybody on this network.
    public var now: Instant { time.withLock { $0 } }

    /// A transport for one client.
    public func transport() -> MemoryTransport { MemoryTransport(self) }

    /// Lets time pass: every alarm rings at its moment, in order, and what it leads to happens
    /// before the next. A client's credentials are part of that: those that wait for a later step
    /// of the test never come. Other tasks of the test are not waited for.
    public func advance(by duration: Duration) async {
        let step = Int64(duration / .milliseconds(1))
        let end = now.monotonic + step
        while await ringNext(until: end) {}
        await settle()
    }

    /// Waits until everything that was said has been heard, and what it led to.
    public func settle() async {
        repeat { await onQueue { _ in } } while pending.load(ordering: .acquiring) > 0
    }

    /// Breaks every connection, without a close frame, or with one of this code.
    public func cut(code: UInt16? = nil) {
        perform { for transport in $0.transports { transport.break(code: code) } }
    }

    /// Lets connections be made, or refuses them and breaks what there is.
    public func setUp(_ isUp: Bool) {
        perform { network in
            network.isUp = isUp
            if !isUp { for transport in network.transports { transport.break(code: nil) } }
        }
    }

    // MARK: The queue

    var isOnQueue: Bool { DispatchQueue.getSpecific(key: key) == true }

    func later(_ job: @escaping @Sendable () -> Void) {
        pending.add(1, ordering: .relaxed)
        queue.async { [self] in
            job()
            pending.subtract(1, ordering: .releasing)
        }
    }

    func begin(_ work: @escaping @Sendable () async -> Void) {
        pending.add(1, ordering: .relaxed)
        Task { [self] in
            await work()
            pending.subtract(1, ordering: .releasing)
        }
    }

    /// Runs on the network's queue and waits for it; at once where this is the queue. Links are
    /// used there.
    public func perform<Value>(_ body: (MemoryNetwork) -> Value) -> Value {
        isOnQueue ? body(self) : queue.sync { body(self) }
    }

    private func onQueue<Value: Sendable>(
        _ body: @escaping @Sendable (MemoryNetwork) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body(self)) }
        }
    }

    /// - Returns: false if no further alarm is due; then the time is `end`.
    private func ringNext(until end: Int64) async -> Bool {
        await settle()
        return await onQueue { network in
            let due = network.transports.compactMap { transport in
                transport.alarm.map { (transport, $0) }
            }.min { $0.1 < $1.1 }
            guard let (transport, moment) = due, moment <= end else {
                network.set(end)
                return false
            }
            network.set(moment)
            transport.ring()
            return true
        }
    }

    private func set(_ moment: Int64) {
        time.withLock { time in
            let step = max(0, moment - time.monotonic)
            time.monotonic += step
            time.clock.milliseconds += step
        }
    }

    // MARK: Of the transports

    func join(_ transport: MemoryTransport) { perform { $0.transports.append(transport) } }
    func leave(_ transport: MemoryTransport) { transports.removeAll { $0 === transport } }

    /// - Returns: whether the peer is told of the link.
    func connected(_ link: MemoryLink) -> Bool { isUp && peer.connected(link) }
    func received(_ text: [UInt8], from link: MemoryLink) { peer.received(text, from: link) }
    func closed(_ link: MemoryLink) { peer.closed(link) }
}

/// Whom the clients of a network speak to: a gateway, as far as a test wants one. Called on the
/// network's queue, where it may speak and close.
public protocol MemoryPeer: AnyObject, Sendable {
    /// Somebody connects.
    /// - Returns: Whether they are let in.
    func connected(_ link: MemoryLink) -> Bool
    /// A client has sent a text.
    func received(_ text: [UInt8], from link: MemoryLink)
    /// A client is gone, or its connection.
    func closed(_ link: MemoryLink)
}

// Safety: touched on the queue of its network only.
/// The peer's end of one connection. To be used on the network's queue, by its peer.
public final class MemoryLink: @unchecked Sendable {
    /// Counts the connections of the network's client.
    public let number: UInt
    weak var transport: MemoryTransport?

    init(_ number: UInt, _ transport: MemoryTransport) {
        self.number = number
        self.transport = transport
    }

    /// Sends a text.
    public func send(_ text: [UInt8]) { transport?.deliver(.text(text), on: self) }

    /// Closes, behind what was sent; nil for no close frame.
    public func close(code: UInt16? = nil) { transport?.deliver(.close(code), on: self) }
}
