import Dispatch
import Ports
import WebSockets
import Wire

/// A worker loop: serves sockets on a thread of its own. It knows nothing of sessions: socket
/// events go to the engine's loop as one report a turn, already decoded, and decisions come back as
/// commands. Neither loop ever waits for the other.
///
/// Backpressure: a socket is not read while the engine's loop has more than one read's worth of its
/// input unprocessed; the rest stays with the client. So a busy engine has at most that much
/// waiting per socket.
// Safety: touched on its own thread, or before that begins; `post` and `end` may be called by the
// engine's thread, which goes by way of the loop's mailbox.
final class WorkerLoop: @unchecked Sendable {
    /// A socket that the engine knows.
    private struct Peer {
        /// Bytes reported to the engine and not processed yet.
        var unheard = 0
        /// Whether the engine has throttled it.
        var isUnwanted = false
        var isThrottled = false
    }

    /// The input of a report, per socket.
    private typealias Said = [(socket: SocketID, bytes: Int)]

    /// The most that one turn reads from a socket.
    private static let unheardLimit = 16 * 1024
    /// The cost of an empty message.
    private static let overhead = 64

    let server: Server
    private let loop: ServiceLoop
    private var door: Door
    /// Posts a report to the engine's loop.
    private let deliver: @Sendable (LoopEvents) -> Void
    private let ended = DispatchSemaphore(value: 0)

    private var report = LoopEvents()
    private var said: Said = []
    /// The input of reports that the engine has not processed yet, oldest first.
    private var unheard: [Said] = []
    private var peers: [SocketID: Peer] = [:]
    private var buffer = SendBuffer()

    /// - Throws: `WebSocketError`, if a loop can't be made.
    init(
        number: Int, listener: Listener, limits: ServerLimits, door: Door, log: Logger,
        deliver: @escaping @Sendable (LoopEvents) -> Void
    ) throws(WebSocketError) {
        self.door = door
        self.deliver = deliver
        loop = try ServiceLoop { message in log.say(.libraryWarning, ["said": message]) }
        server = try Server(loop: loop, listeners: [listener], limits: limits, number: number)
        server.delegate = self
        loop.onTurnEnd = { [unowned self] in endTurn() }
    }

    /// Starts the thread.
    func begin() {
        DispatchQueue(label: "gapless.sockets", qos: .userInitiated).async { [self] in
            loop.run()
            ended.signal()
        }
    }

    /// Stops after the commands posted so far; all sockets are closed when this returns.
    func end() {
        loop.stop()
        ended.wait()
    }

    /// Posts commands of the engine. From any thread.
    func post(_ commands: LoopCommands) {
        loop.post { [unowned self] in perform(commands) }
    }

    private func endTurn() {
        guard !report.events.isEmpty else { return }
        report.isAwaited = !said.isEmpty
        if report.isAwaited {
            unheard.append(said)
            said.removeAll(keepingCapacity: true)
        }
        let full = report
        report = LoopEvents()
        deliver(full)
    }

    // MARK: - LoopCommands

    private func perform(_ commands: LoopCommands) {
        if let door = commands.door { self.door = door }
        for owner in commands.owners { server.own(owner.socket, by: owner.user) }
        if !commands.writes.isEmpty { write(commands) }
        for answer in commands.answers { answer.responder.respond(answer.response) }
        for throttle in commands.throttles {
            peers[throttle.socket]?.isUnwanted = throttle.isThrottled
            settle(throttle.socket)
        }
        hear(commands.heard)
        for close in commands.closes {
            server.close(close.socket, code: close.code.rawValue, reason: close.code.reason)
        }
        if !commands.probes.isEmpty {
            let progress = commands.probes.map { socket in
                LoopEvents.Progress(
                    socket: socket, acknowledged: server.acknowledgedBytes(socket),
                    unsent: server.unsentBytes(socket))
            }
            report.events.append(.progress(progress))
        }
    }

    private func write(_ commands: LoopCommands) {
        let began = ContinuousClock.now
        let unsent = commands.writes.send(by: server, &buffer)
        report.events.append(.landed(unsent, took: ContinuousClock.now - began))
    }

    // MARK: - What clients say

    private func note(_ socket: SocketID, bytes: Int) {
        let bytes = bytes + Self.overhead
        guard (peers[socket]?.unheard += bytes) != nil else { return }
        said.append((socket, bytes))
        settle(socket)
    }

    /// The engine has processed the oldest reports.
    private func hear(_ reports: Int) {
        guard reports > 0 else { return }
        let heard = unheard.prefix(reports)
        unheard.removeFirst(heard.count)
        for said in heard {
            for (socket, bytes) in said {
                peers[socket]?.unheard -= bytes
                settle(socket)
            }
        }
    }

    /// Throttles a socket, or reads it again.
    private func settle(_ socket: SocketID) {
        guard let peer = peers[socket] else { return }
        let isThrottled = peer.isUnwanted || peer.unheard > Self.unheardLimit
        guard isThrottled != peer.isThrottled else { return }
        peers[socket]?.isThrottled = isThrottled
        server.throttle(socket, isThrottled)
    }
}

extension WorkerLoop: ServerDelegate {
    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision { door.decide(request) }

    func connected(_ socket: SocketID, _ request: UpgradeRequest) {
        peers[socket] = Peer()
        let bearer = Bearer.token(request.headers, query: request.query)
        report.events.append(
            .connected(socket, bearer: bearer, address: request.remoteAddress))
    }

    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool) {
        // Decoded here, whatever becomes of it: the engine's thread is the one that all wait for.
        report.events.append(.received(socket, RequestFrame.decode(bytes, isBinary: isBinary)))
        note(socket, bytes: bytes.count)
    }

    func pong(_ socket: SocketID) {
        report.events.append(.pong(socket))
        note(socket, bytes: 0)
    }

    func writable(_ socket: SocketID) { report.events.append(.writable(socket)) }

    func closed(_ socket: SocketID) {
        peers[socket] = nil
        report.events.append(.closed(socket))
    }

    func admit(_ request: RequestHead) -> Admission { door.admit(request) }

    func request(_ request: HTTPRequest, _ responder: HTTPResponder) {
        report.events.append(.requested(request, responder))
    }
}
