import Wire

/// One accepted socket: first HTTP, then perhaps a WebSocket. Owned by the server's table, used on
/// the loop thread. This file has what both have in common: the phase, the outgoing bytes, the
/// deadline and the end. Memory, inbound: one request or message at its limit (`ServerLimits`);
/// outbound: what the driver sent while the socket was blocked.
final class PeerConnection {
    enum Phase: Equatable {
        /// Waiting for a request, or reading its head.
        case head
        /// Reading a request's body.
        case body
        /// The delegate has the request.
        case answering
        /// A response is being written.
        case responding
        /// An endless response is being written.
        case streaming
        /// A WebSocket.
        case open
        /// A WebSocket whose close frame was sent or is queued; waits for the peer's.
        case closing
        /// Everything was written; input is dropped until the peer closes. If we closed first, the
        /// kernel would send a reset, and the peer could lose our last bytes.
        case lingering
        /// Abandoned; closed before the turn ends.
        case dead
    }

    // The fields of every write come first: with thousands of connections none is in a cache.

    let id: SocketID
    unowned let server: Server
    /// Nil before adoption and after the end.
    @exclusivity(unchecked) var socket: LibrarySocket?
    @exclusivity(unchecked) var phase = Phase.head
    @exclusivity(unchecked) private var output = OutputQueue()

    let listener: Listener
    let remoteAddress: String
    /// Whether the delegate was told of it as a WebSocket.
    var wasConnected = false

    /// HTTP: input not yet parsed.
    var input: [UInt8] = []
    /// HTTP: the request being read or answered.
    var exchange = Exchange()
    var decoder: FrameDecoder
    /// WebSocket: a message came.
    var hasSpoken = false

    private var gate = ReadGate()
    /// Whether its request is among those that the server counts; as a stranger's, if it is true.
    private var countedAsStranger: Bool?
    private var timer = Timer()

    /// The limit of the present phase, and the entry in the server's wheel of deadlines.
    private struct Timer {
        var deadline: Deadlines.Tick?
        var entry: Deadlines.Tick?
    }

    init(id: SocketID, server: Server, listener: Listener, remoteAddress: String) {
        self.id = id
        self.server = server
        self.listener = listener
        self.remoteAddress = remoteAddress
        decoder = FrameDecoder(limit: min(server.limits.firstFrame, server.limits.inboundFrame))
    }

    // MARK: In

    func receive(_ bytes: borrowing Span<UInt8>) {
        switch phase {
        case .head, .body, .answering, .responding: receiveHTTP(bytes)
        case .open, .closing: receiveFrames(bytes)
        // What is dropped costs its reading, and no other quota charges it.
        case .streaming, .lingering: payToll()
        case .dead: break
        }
    }

    /// Stops or resumes reading; unread bytes stay with the peer.
    func pauseReading(_ pause: Bool) {
        guard pause != gate.isPaused, let socket else { return }
        gate.isPaused = pause
        if !isThrottled { socket.pauseReading(pause) }
    }

    /// Whose it is, once the delegate knows: `Server.own`.
    var user: ID? {
        get { gate.user }
        set {
            gate.user = newValue
            decoder.limit = server.limits.inboundFrame
            waitForOwner(false)
        }
    }

    /// What came is too large for a stranger: it waits until the connection is somebody's.
    func waitForOwner(_ isWaiting: Bool) { set(\.isOwnerless, to: isWaiting) }

    /// Throttling is a second reason not to read: both must allow it. What the library has already
    /// read waits here.
    var isThrottled: Bool { gate.isThrottled }

    /// Keeps bytes that were read until the connection is heard again.
    func hold(_ bytes: borrowing Span<UInt8>, from offset: Int) {
        gate.held.append(copying: bytes.extracting(offset...))
    }

    /// Stops or resumes processing its input, for the delegate.
    func throttle(_ isThrottled: Bool) {
        set(\.isUnwanted, to: isThrottled)
    }

    /// Its input waits for a later turn of the loop, or no longer does.
    func wait(_ isWaiting: Bool) {
        // The peer of a body is not late for what waited here.
        if !isWaiting, phase == .body, timer.deadline != nil {
            setDeadline(server.limits.bodyTimeout)
        }
        set(\.isWaiting, to: isWaiting)
    }

    private func set(_ reason: WritableKeyPath<ReadGate, Bool>, to value: Bool) {
        guard value != gate[keyPath: reason], socket != nil else { return }
        let before = gate.isThrottled
        gate[keyPath: reason] = value
        settleThrottle(before)
    }

    /// Charges one item that no other quota charges; above the limit the connection rests.
    func payToll() {
        guard gate.charge(at: Server.milliseconds()), socket != nil else { return }
        let before = isThrottled
        let end = Self.tick(after: Toll.rest)
        gate.restEnd = end
        wake(at: end)
        settleThrottle(before)
    }

    private func endRest() {
        guard gate.restEnd != nil else { return }
        gate.restEnd = nil
        settleThrottle(true)
    }

    private func settleThrottle(_ before: Bool) {
        guard before != isThrottled, let socket else { return }
        if !gate.isPaused { socket.pauseReading(isThrottled) }
        guard !isThrottled else { return }
        if phase == .head || phase == .body { return readRequests() }
        guard !gate.held.isEmpty else { return }
        let bytes = gate.takeHeld()
        receive(bytes.span)
    }

    // MARK: Requests at once

    /// Adds its request to the count of requests in flight.
    /// - Returns: false if the limit is reached.
    func enterCount(isStranger: Bool) -> Bool {
        guard listener.countsRequests, countedAsStranger == nil else { return true }
        guard
            server.requests.enter(limit: server.limits.httpConnections, isStranger: isStranger)
        else { return false }
        countedAsStranger = isStranger
        return true
    }

    func leaveCount() {
        guard let isStranger = countedAsStranger else { return }
        countedAsStranger = nil
        server.requests.leave(isStranger: isStranger)
    }

    // MARK: Out

    var isBlocked: Bool { output.isBlocked }
    var unsentBytes: Int { output.unsent }

    /// The socket, if the next write may go directly to it.
    var idleSocket: LibrarySocket? { phase == .open && !isBlocked ? socket : nil }

    func send(_ buffer: inout SendBuffer) -> SendResult {
        guard !isBlocked else {
            output.append(buffer.suffix(from: 0))
            return .blocked
        }
        guard let sent = write(&buffer) else { return .gone }
        if sent < buffer.count { output.append(buffer.suffix(from: sent)) }
        return isBlocked ? .blocked : .sent
    }

    /// Sends bytes of the server's own, after the queued ones.
    func send(_ bytes: [UInt8]) {
        guard phase != .dead else { return }
        server.scratch.removeAll()
        server.scratch.append(bytes)
        _ = send(&server.scratch)
    }

    /// Sends a body after its head, without copying the part that has to wait.
    func send(head: [UInt8], body: [UInt8]) {
        let first = max(0, min(body.count, VirtualHost.chunk - head.count))
        send(head + body[..<first])
        guard first < body.count, phase != .dead else { return }
        output.append(body, from: first)
        if !isBlocked { pushOutput() }
    }

    /// The socket is writable again.
    func drain() {
        guard isBlocked, let socket, phase != .dead else { return }
        guard !socket.holdsRemainder else { return }
        output.stalled = 0
        pushOutput()
        if isBlocked {
            if phase == .responding || phase == .streaming {
                setDeadline(server.limits.stallTimeout, before: exchange.answerEnds)
            }
        } else if phase != .dead {
            pauseReading(false)
            outputDidDrain()
        }
    }

    /// Gives the library one slice after another, until the kernel's buffer is full.
    private func pushOutput() {
        while !output.isEmpty, !isBlocked {
            server.scratch.removeAll()
            server.scratch.append(output.next(VirtualHost.chunk))
            guard let sent = write(&server.scratch) else { return }
            output.remove(sent)
        }
    }

    /// - Returns: how many bytes the library took; nil if the connection is lost.
    private func write(_ buffer: inout SendBuffer) -> Int? {
        guard let socket, phase != .dead else { return nil }
        var sent = 0
        while sent < buffer.count {
            let count = min(buffer.count - sent, VirtualHost.chunk)
            guard socket.write(&buffer, offset: sent, count: count) else {
                abandon()
                return nil
            }
            sent += count
            if socket.holdsRemainder {
                tookPart(of: count)
                break
            }
        }
        return sent
    }

    /// The kernel took a part of a write; the library holds the rest.
    func tookPart(of count: Int) {
        output.stalled = count
        // While the library holds a remainder it does not read, but would be woken again and again
        // for every byte that comes in.
        pauseReading(true)
    }

    /// All output is written.
    private func outputDidDrain() {
        if let next = output.phaseAfter {
            output.phaseAfter = nil
            enter(next)
        } else if phase == .responding {
            responseDidEnd()
        } else if phase == .streaming {
            setDeadline(nil)
        } else if phase == .open {
            server.delegate?.writable(id)
        }
    }

    // MARK: The end

    /// Enters `phase` as soon as all output is written.
    func finish(_ phase: Phase) {
        setDeadline(server.limits.closeTimeout)
        if isBlocked {
            output.phaseAfter = phase
        } else {
            enter(phase)
        }
    }

    private func enter(_ phase: Phase) {
        if phase == .dead { return abandon() }
        self.phase = phase
        guard phase == .lingering else { return }
        leaveCount()
        input = []
        gate.held = []
        pauseReading(false)
        throttle(false)
        waitForOwner(false)
        endRest()
        socket?.endWriting()
    }

    /// Abandons the connection: it is closed between turns.
    func abandon() {
        guard phase != .dead else { return }
        phase = .dead
        server.doom(self)
    }

    // MARK: Time

    /// Sets the deadline of the present phase; nil removes it.
    /// - Parameter end: where it lies at the latest.
    func setDeadline(_ duration: Duration?, before end: Deadlines.Tick? = nil) {
        guard let duration else {
            timer.deadline = nil
            return
        }
        let tick = min(Self.tick(after: duration), end ?? .max)
        timer.deadline = tick
        wake(at: tick)
    }

    static func tick(after duration: Duration) -> Deadlines.Tick {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        // Rounded up, plus one for the tick that has already begun.
        let width = Int64(Deadlines.millisecondsPerTick)
        return Server.now() + UInt64((milliseconds + width - 1) / width) + 1
    }

    /// Schedules a call of `deadlineCame` at the tick, or earlier.
    private func wake(at tick: Deadlines.Tick) {
        if timer.entry.map({ tick < $0 }) ?? true {
            timer.entry = server.schedule(self, at: tick)
        }
    }

    /// A wheel entry came up; only the newest one counts.
    func deadlineCame(entry: Deadlines.Tick, now: Deadlines.Tick) {
        guard entry == timer.entry else { return }
        timer.entry = nil
        if let deadline = timer.deadline, deadline <= now { return abandon() }
        if let restEnd = gate.restEnd, restEnd <= now { endRest() }
        if let deadline = timer.deadline { wake(at: deadline) }
        if let restEnd = gate.restEnd { wake(at: restEnd) }
    }
}
