import Glibc
import Synchronization

/// What a server tells the one who runs it. Every call comes on the loop thread, and may call back
/// into the server at once.
package protocol ServerDelegate: AnyObject {
    /// Somebody asks for a WebSocket. The handshake itself is sound; origin, path and limits are
    /// the delegate's to judge.
    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision

    /// The 101 is on its way, and frames may be sent.
    func connected(_ socket: SocketID, _ request: UpgradeRequest)

    /// A whole message came; a text is valid UTF-8.
    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool)

    func pong(_ socket: SocketID)

    /// A socket that was blocked has taken everything.
    func writable(_ socket: SocketID)

    /// The connection is gone. Called once for each `connected`, whoever closed it.
    func closed(_ socket: SocketID)

    /// Whether a request is let in, asked when its head is there and nothing of its body was read.
    func admit(_ request: RequestHead) -> Admission

    /// A request of the HTTP side. It is answered by `responder`, now or later.
    func request(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension ServerDelegate {
    package func admit(_ request: RequestHead) -> Admission {
        .accept(bodyLimit: nil, isFree: false)
    }
}

/// What became of bytes that were given to `Server.send`.
package enum SendResult: Sendable, Hashable {
    /// The kernel took all of them.
    case sent
    /// All were taken, but not yet by the kernel: keep what comes next until `writable`. (What is
    /// sent nevertheless is not lost; it only costs memory here.)
    case blocked
    /// There is no such open socket. Nothing was sent.
    case gone
}

/// The HTTP and WebSocket server: listeners, connections, limits. Lives on a `ServiceLoop`, whose
/// end ends it. All calls are made on the loop thread, but for `take` and `connectionCount`; an id
/// of a connection that is gone is ignored everywhere.
// Safety: touched on the loop thread only, which each entry checks with `preconditionOnLoop`.
// `take` posts to it, and `held` is an atomic; `sharers` is set before the loop runs.
package final class Server: @unchecked Sendable {
    let loop: ServiceLoop
    let limits: ServerLimits
    /// Who is told; set before the loop runs.
    package weak var delegate: (any ServerDelegate)?
    @exclusivity(unchecked) var connections: ConnectionTable
    /// For everything that is sent but by `send`: responses, control frames, remainders.
    var scratch = SendBuffer(capacity: VirtualHost.chunk)
    /// For `send` to many.
    @exclusivity(unchecked) var handles: [LibrarySocket?] = []
    private var acceptors: [Acceptor] = []
    private var doomed: [SocketID] = []
    /// What acceptors that are gone had refused.
    private var leftRefusals = 0
    private var deadlines = Deadlines(now: Server.now())
    private var deadlineTimer: TimerWatcher?
    /// The rest of the deadlines that came up is looked at in the next turn.
    private var isCheckingOn = false
    private var date = DateField()
    private var secureHost: (files: TLSFiles, host: VirtualHost)?
    /// Listeners whose connections are accepted by another server, and who takes them here.
    private var adopters: [String: (Int32) -> Void] = [:]
    /// The servers that take a share of what comes to a listener of this one.
    private(set) var sharers: [Server] = []
    private var sharedListener: String?
    /// Connections that are here, and those that are on their way.
    let held = Atomic<Int>(0)
    /// One for all that share their connections.
    private(set) var requests = RequestCount()
    /// Between the callback that names it and the host that it belongs to.
    private var tlsContext: TLSContext?

    /// Binds every listener, and serves them once the loop runs.
    ///
    /// - Parameter number: of this server among those that share their connections. All but 0 bind
    ///   nothing: what comes to their listeners they get from the first, by `share`.
    /// - Throws: `WebSocketError`, and nothing is bound then.
    package init(
        loop: ServiceLoop, listeners: [Listener], limits: ServerLimits = ServerLimits(),
        number: Int = 0, delegate: (any ServerDelegate)? = nil
    ) throws(WebSocketError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.limits = limits
        self.delegate = delegate
        connections = ConnectionTable(server: number)
        if number == 0 { for listener in listeners { acceptors.append(try Acceptor(listener)) } }
        try openHosts(for: listeners)
        deadlineTimer = TimerWatcher(loop: loop, milliseconds: Deadlines.millisecondsPerTick) {
            [unowned self] in checkDeadlines()
        }
        loop.add(self)
    }

    /// Makes what takes the connections of each listener.
    private func openHosts(for listeners: [Listener]) throws(WebSocketError) {
        // Listeners with the same files share a host. Two certificates on one loop would be chosen
        // between by the name that the client asks for, and not by the port it came to.
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
                if let tls { secureHost = (tls, host) }
                loop.retain(host)
            }
            let adopt = { [unowned self] in self.adopt($0, from: listener, by: host) }
            guard index < acceptors.count else {
                adopters[listener.name] = adopt
                continue
            }
            acceptors[index].start(on: loop) { [unowned self] descriptor in
                if let other = sharer(for: listener) { return other.take(descriptor, listener) }
                held.add(1, ordering: .relaxed)
                adopt(descriptor)
            }
        }
    }

    // MARK: Sharing

    /// Has the others take their share of who comes to the listener, from its first connection on;
    /// they have a listener of that name. To be called before the loops run. One socket listens,
    /// and its connections go in turn to whoever has fewest: several sockets at one port would be
    /// chosen between by a hash, and a second process could not be told from a further loop.
    package func share(_ listener: String, with others: [Server]) {
        loop.preconditionOnLoop()
        sharedListener = listener
        sharers = others
        for other in others { other.requests = requests }
    }

    /// Who takes the next connection, nil for this server itself.
    private func sharer(for listener: Listener) -> Server? {
        guard !sharers.isEmpty, listener.name == sharedListener else { return nil }
        var least: (server: Server?, count: Int) = (nil, connections.count)
        for other in sharers {
            let count = other.held.load(ordering: .relaxed)
            if count < least.count { least = (other, count) }
        }
        return least.server
    }

    /// Takes a connected socket, on any thread. After the end of the loop it is dropped, and the
    /// end of the process closes it.
    private func take(_ descriptor: Int32, _ listener: Listener) {
        held.add(1, ordering: .relaxed)
        loop.post { [weak self] in self?.adopters[listener.name]?(descriptor) }
    }

    /// Leaves a place to the process that listens there too, if there is one: who waits at this
    /// one's door is let in, and from then on everybody comes to the other.
    /// - Returns: whether the place was left.
    package func leave(_ listener: String) -> Bool {
        loop.preconditionOnLoop()
        guard let at = acceptors.firstIndex(where: { $0.listener.name == listener }),
            acceptors[at].hasSuccessor
        else { return false }
        acceptors[at].finish()
        leftRefusals += acceptors.remove(at: at).refused
        return true
    }

    /// Reads the certificate and its key from their files again, for those who come from now on.
    /// Nobody who is connected notices.
    /// - Returns: whether it is another certificate than before; false without TLS.
    /// - Throws: `WebSocketError` `certificate` if the files don't give one; the one in use stays.
    package func reloadCertificate() throws(WebSocketError) -> Bool {
        loop.preconditionOnLoop()
        guard let secureHost, let certificate = try secureHost.host.reload(secureHost.files) else {
            return false
        }
        // What was read once is the same for all.
        for other in sharers {
            other.loop.post { [weak other] in other?.secureHost?.host.show(certificate) }
        }
        return true
    }

    /// Days until the certificate expires, less than 0 once it has; nil without TLS.
    package var certificateDaysLeft: Int? { secureHost?.host.certificateDaysLeft }

    func madeTLSContext(_ context: TLSContext) {
        tlsContext = context
    }

    func takeTLSContext() -> TLSContext? {
        defer { tlsContext = nil }
        return tlsContext
    }

    /// The port in use by a listener.
    package func port(of listener: String) -> UInt16? {
        acceptors.first { $0.listener.name == listener }?.port
    }

    /// Open sockets of both kinds, also those still in their handshake, here and at those that
    /// share them. May be asked on any thread.
    package var connectionCount: Int {
        sharers.reduce(held.load(ordering: .relaxed)) { $0 + $1.held.load(ordering: .relaxed) }
    }

    /// Connections that were closed at once because the process has no descriptor for them.
    package var refusedConnections: Int { acceptors.reduce(leftRefusals) { $0 + $1.refused } }

    // MARK: WebSockets

    /// Sends whole frames, headers included. The buffer is left as it is: the same one may go to
    /// many sockets.
    package func send(_ socket: SocketID, _ buffer: inout SendBuffer) -> SendResult {
        loop.preconditionOnLoop()
        guard let connection = connections[socket], connection.phase == .open else { return .gone }
        return connection.send(&buffer)
    }

    /// Whether frames can be sent.
    package func isOpen(_ socket: SocketID) -> Bool { connections[socket]?.phase == .open }

    /// Whether bytes wait here for the socket to take them.
    package func isBlocked(_ socket: SocketID) -> Bool {
        connections[socket]?.isBlocked ?? false
    }

    /// Bytes that this server still holds for the socket. What the library holds of a write that
    /// the kernel took in part (at most 64 KiB) counts in full until it is gone.
    package func unsentBytes(_ socket: SocketID) -> Int {
        connections[socket]?.unsentBytes ?? 0
    }

    /// Bytes that the peer's kernel has acknowledged since the connection began. It rises while a
    /// slow peer still takes what was sent long ago, and stands still when it has stopped.
    package func acknowledgedBytes(_ socket: SocketID) -> UInt64 {
        loop.preconditionOnLoop()
        return connections[socket]?.socket?.acknowledgedBytes ?? 0
    }

    /// Leaves what the peer sends with the peer, or takes it again; a close ends that. From now on
    /// nothing is handed over: what has been read already waits, and comes before this returns when
    /// it is taken again.
    package func throttle(_ socket: SocketID, _ isThrottled: Bool) {
        loop.preconditionOnLoop()
        guard let connection = connections[socket], connection.phase == .open else { return }
        loop.noteWork()
        connection.throttle(isThrottled)
    }

    /// Sends what is buffered, then a close frame, and ends the connection when the peer has
    /// answered, or after `ServerLimits.closeTimeout`. From now on only `closed` is called for it.
    package func close(_ socket: SocketID, code: UInt16, reason: String) {
        loop.preconditionOnLoop()
        connections[socket]?.close(code: code, reason: reason)
    }

    /// Ends the connection without a word; `closed` follows between turns.
    package func terminate(_ socket: SocketID) {
        loop.preconditionOnLoop()
        connections[socket]?.abandon()
    }

    /// From now on nobody new is accepted; who is connected stays.
    package func stopListening() {
        loop.preconditionOnLoop()
        acceptors.removeAll()
    }

    // MARK: Connections

    private func adopt(_ descriptor: Int32, from listener: Listener, by host: VirtualHost) {
        let remote = SocketAddress(of: descriptor, peer: true)?.host ?? ""
        let made = connections.insert { id in
            Connection(id: id, server: self, listener: listener, remoteAddress: remote)
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
    private func forget(_ id: SocketID) -> Connection? {
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

    /// Has the connection closed before the turn ends.
    func doom(_ connection: Connection) {
        doomed.append(connection.id)
    }

    func dateField() -> String {
        date.value(at: time(nil))
    }

    // MARK: Deadlines

    /// The monotonic clock, in milliseconds.
    static func milliseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
    }

    /// The same in ticks.
    static func now() -> Deadlines.Tick { milliseconds() / UInt64(Deadlines.millisecondsPerTick) }

    /// Has `deadlineCame` called on the connection at `tick`, or earlier.
    func schedule(_ connection: Connection, at tick: Deadlines.Tick) -> Deadlines.Tick {
        if deadlines.count == 0 {
            _ = deadlines.advance(to: Self.now())
            deadlineTimer?.start()
        }
        return deadlines.insert(connection.id, at: tick)
    }

    private func checkDeadlines() {
        let now = Self.now()
        for (id, tick) in deadlines.advance(to: now, limit: Self.deadlinesPerTurn) {
            connections[id]?.deadlineCame(entry: tick, now: now)
        }
        if deadlines.count == 0 { deadlineTimer?.stop() }
        // One timer may come while the rest of another's waits.
        guard deadlines.isBehind(now), !isCheckingOn else { return }
        isCheckingOn = true
        loop.post { [weak self] in
            self?.isCheckingOn = false
            self?.checkDeadlines()
        }
    }

    /// Thousands of connections that came together end together; nobody else is to wait for all of
    /// them. To end one costs some 25 µs.
    private static let deadlinesPerTurn = 8
}

extension Server: ServiceLoop.Participant {
    package func settle() -> Bool {
        guard !doomed.isEmpty else { return false }
        let batch = doomed
        doomed.removeAll(keepingCapacity: true)
        for id in batch { connections[id]?.socket?.close() }
        return true
    }

    package func loopDidEnd() {
        // The context takes the connections with it, one by one; while their `closed` is told,
        // nobody writes to those that are still to come.
        connections.forEach { $0.phase = .dead }
        acceptors.removeAll()
        deadlineTimer = nil
    }
}
