import ClientCore
import SocketLoop

/// Receives a client's events, on the loop thread and between the library's calls, so that it may
/// call back at once. Each socket has the number that `connect` returned for it.
protocol SocketClientDelegate: AnyObject {
    /// The handshake is complete, and frames may be sent.
    func opened(_ socket: UInt)

    /// A complete text message.
    func received(_ socket: UInt, _ text: [UInt8])

    /// The connection is closed, or could not be opened. Called once for each `connect`, unless
    /// `abandon` was called before.
    ///
    /// - Parameter code: the code of the peer's close frame; nil if there was none.
    func closed(_ socket: UInt, code: UInt16?)
}

/// The WebSocket client: one endpoint, and one connection at a time. Lives on a `ServiceLoop` and
/// ends with it.
// Safety: used on the loop thread only, which each entry checks with `preconditionOnLoop`.
final class SocketClient: @unchecked Sendable {
    /// More than any frame of a gateway (`limits.reply` and what surrounds it); no gateway sends
    /// more.
    static let inboundLimit = 64 << 20

    private enum News {
        case opened
        case received([UInt8])
    }

    private let loop: ServiceLoop
    private let endpoint: ClientEndpoint
    private var host: ClientHost?
    weak var delegate: (any SocketClientDelegate)?

    private var lastNumber: UInt = 0
    /// The number of the current connection; 0 for none.
    private var current: UInt = 0
    private var sockets: [UInt: ClientSocket] = [:]
    private var isOpen = false
    /// Events during the library's calls, to be delivered between them.
    private var news: [News] = []
    private var hasEnded = false
    private var peerCode: UInt16?
    private var partial: [UInt8] = []
    private var output: [[UInt8]] = []
    private var doomed: [UInt] = []
    private var frame = FrameBuffer()
    private var isReadingPaused = false

    /// - Throws: `WebSocketError` `certificate` if the trusted roots can't be read.
    init(loop: ServiceLoop, endpoint: ClientEndpoint) throws(WebSocketError) {
        self.loop = loop
        self.endpoint = endpoint
        let host = try ClientHost(loop: loop, client: self, trustedRoots: endpoint.trustedRoots)
        self.host = host
        loop.retain(host)
        loop.add(self)
    }

    /// Begins to connect; abandons an earlier connection.
    ///
    /// - Returns: the number of the new socket.
    func connect() -> UInt {
        loop.preconditionOnLoop()
        abandon()
        lastNumber += 1
        current = lastNumber
        if let socket = host?.connect(to: endpoint, as: current), !hasEnded {
            sockets[current] = socket
        } else {
            hasEnded = true
        }
        loop.noteWork()
        return current
    }

    /// Sends a text, after the queued ones. Does nothing without an open connection.
    func send(_ text: [UInt8]) {
        loop.preconditionOnLoop()
        guard isOpen, let socket = sockets[current] else { return }
        output.append(text)
        socket.askToWrite()
    }

    /// Ends the connection at once, without a close frame and without `closed`.
    func abandon() {
        loop.preconditionOnLoop()
        if sockets[current] != nil { doomed.append(current) }
        current = 0
        isOpen = false
        hasEnded = false
        peerCode = nil
        isReadingPaused = false
        news = []
        partial = []
        output = []
    }

    /// Stops or resumes reading; unread bytes stay with the peer.
    func pauseReading(_ pause: Bool) {
        loop.preconditionOnLoop()
        guard pause != isReadingPaused, isOpen, let socket = sockets[current] else { return }
        isReadingPaused = pause
        socket.pauseReading(pause)
    }

    // MARK: From the library

    func socketOpened(_ number: UInt) {
        guard number == current else { return }
        loop.noteWork()
        isOpen = true
        news.append(.opened)
    }

    /// - Returns: -1 to close the connection.
    func socketReceived(
        _ number: UInt, _ bytes: borrowing Span<UInt8>, isWhole: Bool, isText: Bool
    ) -> Int32 {
        guard number == current else { return -1 }
        loop.noteWork()
        guard partial.count + bytes.count <= Self.inboundLimit else { return -1 }
        partial.reserveCapacity(partial.count + bytes.count)
        for index in bytes.indices { partial.append(bytes[index]) }
        if isWhole {
            // The protocol has no binary frames.
            if isText { news.append(.received(partial)) }
            partial = []
        }
        return 0
    }

    /// - Returns: -1 to close the connection.
    func socketWritable(_ number: UInt) -> Int32 {
        guard number == current, let socket = sockets[number] else { return 0 }
        if !output.isEmpty {
            frame.fill(output.removeFirst())
            guard socket.write(&frame) else { return -1 }
        }
        if !output.isEmpty { socket.askToWrite() }
        return 0
    }

    func socketClosing(_ number: UInt, code: UInt16?) {
        if number == current { peerCode = code }
    }

    func socketDestroyed(_ number: UInt) {
        sockets[number] = nil
        guard number == current else { return }
        loop.noteWork()
        hasEnded = true
    }

    /// Delivers the events; the delegate may begin another connection in each call.
    private func tell() -> Bool {
        guard !news.isEmpty || hasEnded else { return false }
        let number = current
        let batch = news
        news = []
        for item in batch where number == current {
            switch item {
            case .opened: delegate?.opened(number)
            case .received(let text): delegate?.received(number, text)
            }
        }
        if hasEnded, number == current {
            let code = peerCode
            abandon()
            delegate?.closed(number, code: code)
        }
        return true
    }
}

extension SocketClient: ServiceLoop.Participant {
    func settle() -> Bool {
        let hadNews = tell()
        let batch = doomed
        doomed = []
        for number in batch { sockets[number]?.close() }
        return hadNews || !batch.isEmpty
    }

    func loopDidEnd() {
        // The context destroys the socket; no more events are delivered.
        current = 0
        delegate = nil
        sockets = [:]
        host = nil
    }
}
