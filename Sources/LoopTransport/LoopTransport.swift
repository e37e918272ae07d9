import ClientCore
import ClientSystem
import Dispatch
import SocketLoop
import Synchronization

// Safety: `start` sets everything before it begins the thread and before anybody else has this;
// from then on `parts` is read only, and what it holds is touched on the loop.
/// The transport for Linux: libwebsockets, on an event loop with a thread of its own. It leaves the
/// process alone: signals, limits and the working of other threads are the program's.
public final class LoopTransport: ClientTransport, @unchecked Sendable {
    private struct Parts {
        let loop: ServiceLoop
        let socket: SocketClient
        let alarm: Alarm
        let bridge: Bridge
    }

    private var parts: Parts?
    /// A transport that is not started yet.
    public init() {}

    /// The clocks of the system.
    public var now: Instant { SystemClock.now() }

    /// Begins the loop, and its thread.
    public func start(
        _ client: any ClientTransportDelegate, to endpoint: ClientEndpoint
    ) throws {
        precondition(parts == nil, "a transport is started once")
        // The library would only log it, and then trust nobody.
        if let roots = endpoint.trustedRoots, !SystemFiles.canRead(roots) {
            throw WebSocketError(.certificate, "reading the trusted roots \(roots): can't be read")
        }
        let loop = try ServiceLoop(ownsProcess: false)
        let socket = try SocketClient(loop: loop, endpoint: endpoint)
        let bridge = Bridge(client)
        socket.delegate = bridge
        // The turn that ends it as well: what was posted before the end may have left work to it.
        loop.onTurnEnd = { client.turnEnded() }
        parts = Parts(
            loop: loop, socket: socket, alarm: loop.alarm { bridge.alarmRang() }, bridge: bridge)
        DispatchQueue(label: "gapless.client").async {
            loop.run()
            // Until here the loop has held all of it: what the library still said was answered.
            withExtendedLifetime(bridge) {}
        }
    }

    /// As `ClientTransport` has it.
    public func post(_ job: @escaping @Sendable () -> Void) {
        if !started.bridge.isStopped { started.loop.post(job) }
    }
    /// As `ClientTransport` has it.
    public func stop() {
        started.bridge.stop()
        started.loop.stop()
    }

    /// As `ClientTransport` has it.
    public func preconditionOnLoop() { started.loop.preconditionOnLoop() }
    /// As `ClientTransport` has it.
    public func setAlarm(milliseconds: Int?) { started.alarm.set(milliseconds: milliseconds) }
    /// As `ClientTransport` has it.
    public func connect() -> UInt { started.socket.connect() }
    /// As `ClientTransport` has it.
    public func send(_ text: [UInt8]) { started.socket.send(text) }
    /// As `ClientTransport` has it.
    public func abandon() { started.socket.abandon() }
    /// As `ClientTransport` has it.
    public func pauseReading(_ isPaused: Bool) { started.socket.pauseReading(isPaused) }

    private var started: Parts {
        guard let parts else { preconditionFailure("a transport is started before it is used") }
        return parts
    }
}

/// The way from the loop to the client, until it is told to stop: the loop still does what was
/// posted before, and hears its sockets meanwhile.
private final class Bridge: SocketClientDelegate, Sendable {
    private let client: any ClientTransportDelegate
    private let stopped = Atomic<Bool>(false)

    init(_ client: any ClientTransportDelegate) { self.client = client }

    var isStopped: Bool { stopped.load(ordering: .acquiring) }

    func stop() { stopped.store(true, ordering: .releasing) }

    func opened(_ socket: UInt) { if !isStopped { client.opened(socket) } }
    func received(_ socket: UInt, _ text: [UInt8]) {
        if !isStopped { client.received(socket, text) }
    }
    func closed(_ socket: UInt, code: UInt16?) {
        if !isStopped { client.closed(socket, code: code) }
    }
    func alarmRang() { if !isStopped { client.alarmRang() } }
}
