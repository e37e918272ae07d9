import ClientCore
import ClientSystem
import Dispatch
import SocketLoop
import Synchronization

// Safety: `start` sets everything before it starts the thread and before anything else has a
// reference; from then on `parts` is only read, and its contents are used on the loop.
/// The transport for Linux: libwebsockets, on an event loop with a thread of its own. It changes no
/// process-wide state: signals, limits and other threads belong to the program.
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

    /// The system's clocks.
    public var now: Instant { SystemClock.now() }

    /// Starts the loop, and its thread.
    public func start(
        _ client: any ClientTransportDelegate, to endpoint: ClientEndpoint
    ) throws {
        precondition(parts == nil, "a transport is started once")
        // The library would only log the failure, and then trust no certificate.
        if let roots = endpoint.trustedRoots, !SystemFiles.canRead(roots) {
            throw WebSocketError(.certificate, "reading the trusted roots \(roots): can't be read")
        }
        let loop = try ServiceLoop(ownsProcess: false)
        let socket = try SocketClient(loop: loop, endpoint: endpoint)
        let bridge = Bridge(client)
        socket.delegate = bridge
        // Also called in the last turn: jobs posted before the end may have left work for it.
        loop.onTurnEnd = { client.turnEnded() }
        parts = Parts(
            loop: loop, socket: socket, alarm: loop.alarm { bridge.alarmRang() }, bridge: bridge)
        DispatchQueue(label: "gapless.client").async {
            loop.run()
            // The loop needs the bridge until here, since the library may still call back.
            withExtendedLifetime(bridge) {}
        }
    }

    /// See `ClientTransport`.
    public func post(_ job: @escaping @Sendable () -> Void) {
        if !started.bridge.isStopped { started.loop.post(job) }
    }
    /// See `ClientTransport`.
    public func stop() {
        started.bridge.stop()
        started.loop.stop()
    }

    /// See `ClientTransport`.
    public func preconditionOnLoop() { started.loop.preconditionOnLoop() }
    /// See `ClientTransport`.
    public func setAlarm(milliseconds: Int?) { started.alarm.set(milliseconds: milliseconds) }
    /// See `ClientTransport`.
    public func connect() -> UInt { started.socket.connect() }
    /// See `ClientTransport`.
    public func send(_ text: [UInt8]) { started.socket.send(text) }
    /// See `ClientTransport`.
    public func abandon() { started.socket.abandon() }

    private var started: Parts {
        guard let parts else { preconditionFailure("a transport is started before it is used") }
        return parts
    }
}

/// Forwards calls from the loop to the client until `stop`: afterwards the loop still runs the jobs
/// that were posted before, and its sockets still call back.
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
