import Glibc
import Synchronization

/// Receives a server's events. Every call is made on the loop thread, and may call back into the
/// server at once.
package protocol ServerDelegate: AnyObject {
    /// A WebSocket handshake. It is valid; the delegate judges origin, path and limits.
    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision

    /// The 101 was sent or queued; frames may be sent.
    func connected(_ socket: SocketID, _ request: UpgradeRequest)

    /// A complete message; a text is valid UTF-8.
    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool)

    func pong(_ socket: SocketID)

    /// A blocked socket has taken all its bytes.
    func writable(_ socket: SocketID)

    /// The connection is closed. Called once for each `connected`, whichever end closed it.
    func closed(_ socket: SocketID)

    /// Decides whether to accept a request, after its head and before its body.
    func admit(_ request: RequestHead) -> Admission

    /// An HTTP request, to be answered through `responder`, now or later.
    func request(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension ServerDelegate {
    package func admit(_ request: RequestHead) -> Admission {
        .accept(bodyLimit: nil, isFree: false)
    }
}

/// The result of `Server.send`.
package enum SendResult: Sendable, Hashable {
    /// The kernel took all of them.
    case sent
    /// All bytes were accepted, but the kernel has not taken all yet: the caller should keep
    /// further bytes until `writable`. (Otherwise they are not lost, but use memory here.)
    case blocked
    /// There is no such open socket; nothing was sent.
    case gone
}

/// The HTTP and WebSocket server: listeners, connections, limits. Lives on a `ServiceLoop` and ends
/// with it. All calls are made on the loop thread, except `take` and `connectionCount`; calls with
/// the id of a closed connection are ignored.
// Safety: used on the loop thread only, which each entry checks with `preconditionOnLoop`. `take`
// posts to it, and `held` is an atomic; `sharers` is set before the loop runs.
package final class Server: @unchecked Sendable {
    let loop: ServiceLoop
    let limits: ServerLimits
    /// Receives the events; set before the loop runs.
    package weak var delegate: (any ServerDelegate)?
    @exclusivity(unchecked) var connections: ConnectionTable
    /// For bytes of the server's own (responses, control frames) and for remainders.
    var scratch = SendBuffer(capacity: VirtualHost.chunk)
    /// For `send` to many sockets.
    @exclusivity(unchecked) var gathered: [LibrarySocket?] = []
    private var listening = Listening()
    var turn = TurnWork()
    private var time = Time()
    private var date = DateField()
    private var tls = TLS()
    private var sharing = Sharing()
    /// Open connections, and those handed over but not adopted yet.
    let held = Atomic<Int>(0)
    /// One counter for all servers that share their connections.
    private(set) var requests = RequestCount()

    /// The sockets that listen.
    private struct Listening {
        var acceptors: [Acceptor] = []
        /// Refusals of acceptors that are gone.
        var earlierRefusals = 0
    }

    /// What the end of a turn of the loop attends to.
    struct TurnWork {
        /// To be closed when no function of the library is on the stack.
        var doomed: [SocketID] = []
        var reading = ReadTurn()
    }

    /// The deadlines of all connections, and the timer that looks at them.
    private struct Time {
        var deadlines = Deadlines(now: Server.now())
        var timer: TimerWatcher?
        /// The next turn goes on with deadlines that have passed.
        var isCheckingOn = false
    }

    private struct TLS {
        var host: (files: TLSFiles, host: VirtualHost)?
        /// Set between the callback that names it and the creation of its host.
        var context: TLSContext?
    }

    /// How connections are shared between the servers of several loops.
    private struct Sharing {
        /// Takes a connection here that another server has accepted, by the listener's name.
        var adopters: [String: (Int32) -> Void] = [:]
        /// The servers that get a share of the connections to a listener of this one.
        var servers: [Server] = []
        var listener: String?
    }

    var sharers: [Server] { sharing.servers }

    /// Binds every listener, and serves them once the loop runs.
    ///
    /// - Parameter number: the number of this server among those that share their connections. Only
    ///   server 0 binds; the others get connections from it, by `share`.
    /// - Throws: `WebSocketError`; then nothing is bound.
    package init(
        loop: ServiceLoop, listeners: [Listener], limits: ServerLimits = ServerLimits(),
        number: Int = 0, delegate: (any ServerDelegate)? = nil
    ) throws(WebSocketError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.limits = limits
        self.delegate = delegate
        connections = ConnectionTable(server: number)
        if number == 0 {
            for listener in listeners { listening.acceptors.append(try Acceptor(listener)) }
        }
        try openHosts(for: listeners)
        time.timer = TimerWatcher(loop: loop, milliseconds: Deadlines.millisecondsPerTick) {
            [unowned self] in checkDeadlines()
        }
        loop.add(self)
    }

    /// Creates the virtual host that adopts the connections of each listener.
    private func openHosts(for listeners: [Listener]) throws(WebSocketError) {
        // Listeners with the same files share a host. With two certificates on one loop, the
        // library would choose by the client's server name (SNI), not by the port.
        var hosts: [TLSFiles?: VirtualHost] = [:]
        guard Set(listeners.compactMap(\.tls)).count <= 1 else {
            throw WebSocketError(
                .certificate, "loading TLS for several listeners: different files (one pair)")
        }
        for (index, listener) in listeners.enumerated() {
            let tls = listener.tls
            let host: VirtualHost
            if let known = hosts[tls] {
                host = known
            } else {
                host = try VirtualHost(loop: loop, server: self, tls: tls)
                hosts[tls] = host
                if let tls { self.tls.host = (tls, host) }
                loop.retain(host)
            }
            let adopt = { [unowned self] in self.adopt($0, from: listener, by: host) }
            guard index < listening.acceptors.count else {
                sharing.adopters[listener.name] = adopt
                continue
            }
            listening.acceptors[index].start(on: loop) { [unowned self] descriptor in
                if let other = sharer(for: listener) { return other.take(descriptor, listener) }
                held.add(1, ordering: .relaxed)
                adopt(descriptor)
            }
        }
    }

    // MARK: Sharing

    /// Shares a listener's connections with the other servers, from the first connection on; they
    /// need a listener of the same name. Must be called before the loops run. One socket listens,
    /// and each connection goes to the server with the fewest: the kernel would choose between
    /// several sockets on one port by a hash, and a second process could not be told from a further
    /// loop.
    package func share(_ listener: String, with others: [Server]) {
        loop.preconditionOnLoop()
        sharing.listener = listener
        sharing.servers = others
        for other in others { other.requests = requests }
    }

    /// The server that takes the next connection; nil for this one.
    private func sharer(for listener: Listener) -> Server? {
        guard !sharers.isEmpty, listener.name == sharing.listener else { return nil }
        var least: (server: Server?, count: Int) = (nil, connections.count)
        for other in sharers {
            let count = other.held.load(ordering: .relaxed)
            if count < least.count { least = (other, count) }
        }
        return least.server
    }

    /// Takes over a connected socket, on any thread. After the end of the loop the socket is
    /// dropped, and closed when the process exits.
    private func take(_ descriptor: Int32, _ listener: Listener) {
        held.add(1, ordering: .relaxed)
        loop.post { [weak self] in self?.sharing.adopters[listener.name]?(descriptor) }
    }

    /// Hands the listener over to another process that listens at the same place, if there is one:
    /// accepts the waiting connections; all later ones go to the other process.
    /// - Returns: whether it was handed over.
    package func leave(_ listener: String) -> Bool {
        loop.preconditionOnLoop()
        guard let at = listening.acceptors.firstIndex(where: { $0.listener.name == listener }),
            listening.acceptors[at].hasSuccessor
        else { return false }
        listening.acceptors[at].finish()
        listening.earlierRefusals += listening.acceptors.remove(at: at).refused
        return true
    }

    /// Reloads the certificate and its key from their files, for new connections. Open connections
    /// are not affected.
    /// - Returns: whether the certificate has changed; false without TLS.
    /// - Throws: `WebSocketError` `certificate` if the files are invalid; the current one stays.
    package func reloadCertificate() throws(WebSocketError) -> Bool {
        loop.preconditionOnLoop()
        guard let secureHost = tls.host,
            let certificate = try secureHost.host.reload(secureHost.files)
        else {
            return false
        }
        // All servers share one loaded certificate.
        for other in sharers {
            other.loop.post { [weak other] in other?.tls.host?.host.show(certificate) }
        }
        return true
    }

    /// Days until the certificate expires, less than 0 once it has; nil without TLS.
    package var certificateDaysLeft: Int? { tls.host?.host.certificateDaysLeft }

    func madeTLSContext(_ context: TLSContext) {
        tls.context = context
    }

    func takeTLSContext() -> TLSContext? {
        defer { tls.context = nil }
        return tls.context
    }

    /// The port in use by a listener.
    package func port(of listener: String) -> UInt16? {
        listening.acceptors.first { $0.listener.name == listener }?.port
    }

    /// Open sockets of both kinds, including those in their handshake, here and on the servers that
    /// share them. May be called on any thread.
    package var connectionCount: Int {
        sharers.reduce(held.load(ordering: .relaxed)) { $0 + $1.held.load(ordering: .relaxed) }
    }

    /// Connections that were closed at once because the process has no descriptor for them.
    package var refusedConnections: Int {
        listening.acceptors.reduce(listening.earlierRefusals) { $0 + $1.refused }
    }

    /// Stops accepting; open connections stay.
    package func stopListening() {
        loop.preconditionOnLoop()
        listening.acceptors.removeAll()
    }

    // MARK: Connections

    private func adopt(_ descriptor: Int32, from listener: Listener, by host: VirtualHost) {
        let remote = SocketAddress(of: descriptor, peer: true)?.host ?? ""
        let made = connections.insert { id in
            PeerConnection(id: id, server: self, listener: listener, remoteAddress: remote)
        }
        guard let connection = made else {
            held.subtract(1, ordering: .relaxed)
            Glibc.close(descriptor)
            return
        }
        connection.setDeadline(limits.handshakeTimeout)
        if let socket = host.adopt(descriptor, as: connection.id) {
            connection.socket = socket
        } else {
            forget(connection.id)
        }
    }

    @discardableResult
    private func forget(_ id: SocketID) -> PeerConnection? {
        guard let connection = connections.remove(id) else { return nil }
        connection.leaveCount()
        held.subtract(1, ordering: .relaxed)
        return connection
    }

    func socketReceived(_ id: SocketID, _ bytes: borrowing Span<UInt8>) {
        loop.noteWork()
        connections[id]?.receive(bytes)
    }

    func socketDrained(_ id: SocketID) {
        loop.noteWork()
        connections[id]?.drain()
    }

    func socketDestroyed(_ id: SocketID) {
        guard let connection = forget(id) else { return }
        connection.socket = nil
        guard connection.wasConnected else { return }
        loop.noteWork()
        delegate?.closed(id)
    }

    /// Schedules the connection to be closed before the turn ends.
    func doom(_ connection: PeerConnection) {
        turn.doomed.append(connection.id)
    }

    func dateField() -> String {
        date.value(at: Glibc.time(nil))
    }

    // MARK: Deadlines

    /// The monotonic clock, in milliseconds.
    static func milliseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
    }

    /// The monotonic clock in ticks.
    static func now() -> Deadlines.Tick { milliseconds() / UInt64(Deadlines.millisecondsPerTick) }

    /// Schedules a call of the connection's `deadlineCame` at `tick`, or earlier.
    func schedule(_ connection: PeerConnection, at tick: Deadlines.Tick) -> Deadlines.Tick {
        if time.deadlines.count == 0 {
            _ = time.deadlines.advance(to: Self.now())
            time.timer?.start()
        }
        return time.deadlines.insert(connection.id, at: tick)
    }

    private func checkDeadlines() {
        let now = Self.now()
        for (id, tick) in time.deadlines.advance(to: now, limit: Self.deadlinesPerTurn) {
            connections[id]?.deadlineCame(entry: tick, now: now)
        }
        if time.deadlines.count == 0 { time.timer?.stop() }
        // One timer may come while the rest of another's waits.
        guard time.deadlines.isBehind(now), !time.isCheckingOn else { return }
        time.isCheckingOn = true
        loop.post { [weak self] in
            self?.time.isCheckingOn = false
            self?.checkDeadlines()
        }
    }

    /// Thousands of connections that came together expire together; a turn ends only a few, so that
    /// others don't wait for all of them. Ending one costs some 25 µs.
    private static let deadlinesPerTurn = 8
}

extension Server: ServiceLoop.Participant {
    package func settle() -> Bool {
        turn.reading.begin()
        guard !turn.doomed.isEmpty else { return false }
        let batch = turn.doomed
        turn.doomed.removeAll(keepingCapacity: true)
        for id in batch { connections[id]?.socket?.close() }
        return true
    }

    package func loopDidEnd() {
        // The context destroys the connections one by one; while their `closed` is called, nobody
        // may write to those that remain.
        connections.forEach { $0.phase = .dead }
        listening.acceptors.removeAll()
        time.timer = nil
    }
}
