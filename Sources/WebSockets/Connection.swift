/// One accepted socket: first HTTP, then perhaps a WebSocket. Owned by the server's table, touched
/// on the loop thread. This file holds what both have in common: the phase, the bytes on their way
/// out, the deadline and the end. Memory: what one request or message may have (`ServerLimits`) on
/// the way in; on the way out what the driver sent while the socket was blocked.
final class Connection {
    enum Phase: Equatable {
        /// Waiting for a request, or in the middle of its head.
        case head
        /// In the middle of a request's body.
        case body
        /// The delegate has the request.
        case answering
        /// A response is on its way out.
        case responding
        /// A response without an end is on its way out.
        case streaming
        /// A WebSocket.
        case open
        /// A WebSocket whose close frame is sent, or waits to be; the peer's is awaited.
        case closing
        /// Everything was said; what still comes in is dropped until the peer has closed. To close
        /// first would make the kernel answer with a reset, and the peer lose our last words.
        case lingering
        /// Given up; closed before the turn ends.
        case dead
    }

    // First what every write touches: of thousands of connections none is in a cache.

    let id: SocketID
    unowned let server: Server
    /// Nil before adoption and after the end.
    @exclusivity(unchecked) var socket: LibrarySocket?
    @exclusivity(unchecked) var phase = Phase.head
    /// The length of the write that the kernel took in part.
    @exclusivity(unchecked) private var stalledBytes = 0
    /// What the library has not been given yet; empty unless blocked.
    private var output: [UInt8] = []
    private var outputOffset = 0

    let listener: Listener
    let remoteAddress: String
    /// Whether the delegate knows of it as a WebSocket.
    var wasConnected = false

    /// HTTP: bytes not yet understood.
    var input: [UInt8] = []
    /// HTTP: the request being read or answered.
    var exchange = Exchange()
    var decoder: FrameDecoder
    /// The phase that follows when everything is out.
    var phaseAfterOutput: Phase?

    private var isReadingPaused = false
    /// Its peer asks for too much, and is not read for a while.
    private var isUnwanted = false
    /// What was read of one that is not to be heard now: a read's worth.
    var throttledInput: [UInt8] = []
    /// What it sent that nobody else charges.
    private var toll = Toll()
    /// When it is read again, after too much of that.
    private var restEnd: Deadlines.Tick?
    /// Whether its request is among those that the server counts.
    private var isCounted = false
    private var deadline: Deadlines.Tick?
    private var entry: Deadlines.Tick?

    init(id: SocketID, server: Server, listener: Listener, remoteAddress: String) {
        self.id = id
        self.server = server
        self.listener = listener
        self.remoteAddress = remoteAddress
        decoder = FrameDecoder(limit: server.limits.inboundFrame)
    }

    // MARK: In

    func receive(_ bytes: borrowing Span<UInt8>) {
        switch phase {
        case .head, .body, .answering, .responding: receiveHTTP(bytes)
        case .open, .closing: receiveFrames(bytes)
        case .streaming, .lingering, .dead: break
        }
    }

    /// Stops or goes on reading; what is not read stays with the peer.
    func pauseReading(_ pause: Bool) {
        guard pause != isReadingPaused, let socket else { return }
        isReadingPaused = pause
        if !isThrottled { socket.pauseReading(pause) }
    }

    /// The same for other reasons: it is read only where all allow it. What the library has read
    /// already waits here.
    var isThrottled: Bool { isUnwanted || restEnd != nil }

    /// Stops or goes on hearing it, as whoever serves it wants.
    func throttle(_ isThrottled: Bool) {
        guard isThrottled != isUnwanted, socket != nil else { return }
        let before = self.isThrottled
        isUnwanted = isThrottled
        settleThrottle(before)
    }

    /// Charges one thing that is free for others; whoever sent too many of them rests.
    func payToll() {
        guard toll.take(at: Server.milliseconds()), restEnd == nil, socket != nil else { return }
        let before = isThrottled
        let end = Self.tick(after: Toll.rest)
        restEnd = end
        wake(at: end)
        settleThrottle(before)
    }

    private func endRest() {
        guard restEnd != nil else { return }
        restEnd = nil
        settleThrottle(true)
    }

    private func settleThrottle(_ before: Bool) {
        guard before != isThrottled, let socket else { return }
        if !isReadingPaused { socket.pauseReading(isThrottled) }
        guard !isThrottled else { return }
        if phase == .head || phase == .body { return readRequests() }
        guard !throttledInput.isEmpty else { return }
        let bytes = throttledInput
        throttledInput = []
        receive(bytes.span)
    }

    // MARK: Requests at once

    /// Has its request counted among those under way.
    /// - Returns: false if that would be one too many.
    func enterCount() -> Bool {
        guard listener.countsRequests, !isCounted else { return true }
        isCounted = server.requests.enter(limit: server.limits.httpConnections)
        return isCounted
    }

    func leaveCount() {
        guard isCounted else { return }
        isCounted = false
        server.requests.leave()
    }

    // MARK: Out

    var isBlocked: Bool { stalledBytes > 0 }
    var unsentBytes: Int { stalledBytes + output.count - outputOffset }

    /// The socket, if the next write may go straight to it.
    var idleSocket: LibrarySocket? { phase == .open && !isBlocked ? socket : nil }

    func send(_ buffer: inout SendBuffer) -> SendResult {
        guard !isBlocked else {
            output.append(contentsOf: buffer.suffix(from: 0))
            return .blocked
        }
        guard let sent = write(&buffer) else { return .gone }
        if sent < buffer.count { output = Array(buffer.suffix(from: sent)) }
        return isBlocked ? .blocked : .sent
    }

    /// Sends bytes of the server's own, behind what waits.
    func send(_ bytes: [UInt8]) {
        guard phase != .dead else { return }
        server.scratch.removeAll()
        server.scratch.append(bytes)
        _ = send(&server.scratch)
    }

    /// Sends a body behind a head, without a copy of what does not go out at once.
    func send(head: [UInt8], body: [UInt8]) {
        let first = max(0, min(body.count, VirtualHost.chunk - head.count))
        send(head + body[..<first])
        guard first < body.count, phase != .dead else { return }
        if isBlocked, output.isEmpty || outputOffset == output.count {
            output = body
            outputOffset = first
        } else if isBlocked {
            output.append(contentsOf: body[first...])
        } else {
            output = body
            outputOffset = first
            pushOutput()
        }
    }

    /// The socket can take more.
    func drain() {
        guard stalledBytes > 0, let socket, phase != .dead else { return }
        guard !socket.holdsRemainder else { return }
        stalledBytes = 0
        pushOutput()
        if isBlocked {
            if phase == .responding || phase == .streaming {
                setDeadline(server.limits.stallTimeout)
            }
        } else if phase != .dead {
            pauseReading(false)
            outputDidDrain()
        }
    }

    /// Gives the library one slice after the other, until the kernel has enough.
    private func pushOutput() {
        while outputOffset < output.count, !isBlocked {
            let end = min(output.count, outputOffset + VirtualHost.chunk)
            server.scratch.removeAll()
            server.scratch.append(output[outputOffset..<end])
            guard let sent = write(&server.scratch) else { return }
            outputOffset += sent
        }
        if outputOffset == output.count {
            output = []
            outputOffset = 0
        }
    }

    /// - Returns: how much the library took, nil if the connection is lost.
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

    /// The kernel took a part of a write, and the library has the rest.
    func tookPart(of count: Int) {
        stalledBytes = count
        // While the library holds a remainder it does not read, yet would be woken for everything
        // that comes in, again and again.
        pauseReading(true)
    }

    /// Everything is out.
    private func outputDidDrain() {
        if let next = phaseAfterOutput {
            phaseAfterOutput = nil
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

    /// Goes on to `phase` as soon as everything is out.
    func finish(_ phase: Phase) {
        setDeadline(server.limits.closeTimeout)
        if isBlocked {
            phaseAfterOutput = phase
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
        throttledInput = []
        pauseReading(false)
        throttle(false)
        endRest()
        socket?.endWriting()
    }

    /// Gives the connection up: it is closed between turns.
    func abandon() {
        guard phase != .dead else { return }
        phase = .dead
        server.doom(self)
    }

    // MARK: Time

    /// Gives the present phase until then; nil takes the limit away.
    func setDeadline(_ duration: Duration?) {
        guard let duration else {
            deadline = nil
            return
        }
        let tick = Self.tick(after: duration)
        deadline = tick
        wake(at: tick)
    }

    private static func tick(after duration: Duration) -> Deadlines.Tick {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        // Rounded up, and one more for the tick that has already begun.
        let width = Int64(Deadlines.millisecondsPerTick)
        return Server.now() + UInt64((milliseconds + width - 1) / width) + 1
    }

    /// Has `deadlineCame` called at the tick, or earlier.
    private func wake(at tick: Deadlines.Tick) {
        if entry.map({ tick < $0 }) ?? true { entry = server.schedule(self, at: tick) }
    }

    /// An entry in the wheel came up; it counts only if it is the last one made.
    func deadlineCame(entry: Deadlines.Tick, now: Deadlines.Tick) {
        guard entry == self.entry else { return }
        self.entry = nil
        if let deadline, deadline <= now { return abandon() }
        if let restEnd, restEnd <= now { endRest() }
        if let deadline { wake(at: deadline) }
        if let restEnd { wake(at: restEnd) }
    }
}
