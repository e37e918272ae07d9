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

    /// What is known of one connection.
    private struct Connection {
        /// 0 for none.
        var number: UInt = 0
        var isOpen = false
        /// Events during the library's calls, to be delivered between them.
        var news: [News] = []
        var hasEnded = false
        var peerCode: UInt16?
        /// The part of a message that has come.
        var partial: [UInt8] = []
        /// Texts to be sent.
        var output: [[UInt8]] = []
    }

    private let loop: ServiceLoop
    private let endpoint: ClientEndpoint
    private var host: ClientHost?
    weak var delegate: (any SocketClientDelegate)?

    private var lastNumber: UInt = 0
    private var current = Connection()
    private var sockets: [UInt: ClientSocket] = [:]
    private var doomed: [UInt] = []
    private var frame = FrameBuffer()

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
        current.number = lastNumber
        if let socket = host?.connect(to: endpoint, as: lastNumber), !current.hasEnded {
            sockets[lastNumber] = socket
        } else {
            current.hasEnded = true
        }
        loop.noteWork()
        return lastNumber
    }

    /// Sends a text, after the queued ones. Does nothing without an open connection.
    func send(_ text: [UInt8]) {
        loop.preconditionOnLoop()
        guard current.isOpen, let socket = sockets[current.number] else { return }
        current.output.append(text)
        socket.askToWrite()
    }

    /// Ends the connection at once, without a close frame and without `closed`.
    func abandon() {
        loop.preconditionOnLoop()
        if sockets[current.number] != nil { doomed.append(current.number) }
        current = Connection()
    }

    // MARK: From the library

    func socketOpened(_ number: UInt) {
        guard number == current.number else { return }
        loop.noteWork()
        current.isOpen = true
        current.news.append(.opened)
    }

    /// - Returns: -1 to close the connection.
    func socketReceived(
        _ number: UInt, _ bytes: borrowing Span<UInt8>, isWhole: Bool, isText: Bool
    ) -> Int32 {
        guard number == current.number else { return -1 }
        loop.noteWork()
        let length = current.partial.count + bytes.count
        guard length <= Self.inboundLimit else { return -1 }
        current.partial.reserveCapacity(length)
        for index in bytes.indices { current.partial.append(bytes[index]) }
        if isWhole {
            // The protocol has no binary frames.
            if isText { current.news.append(.received(current.partial)) }
            current.partial = []
        }
        return 0
    }

    /// - Returns: -1 to close the connection.
    func socketWritable(_ number: UInt) -> Int32 {
        guard number == current.number, let socket = sockets[number] else { return 0 }
        if !current.output.isEmpty {
            frame.fill(current.output.removeFirst())
            guard socket.write(&frame) else { return -1 }
        }
        if !current.output.isEmpty { socket.askToWrite() }
        return 0
    }

    func socketClosing(_ number: UInt, code: UInt16?) {
        if number == current.number { current.peerCode = code }
    }

    func socketDestroyed(_ number: UInt) {
        sockets[number] = nil
        guard number == current.number else { return }
        loop.noteWork()
        current.hasEnded = true
    }

    /// Delivers the events; the delegate may begin another connection in each call.
    private func tell() -> Bool {
        guard !current.news.isEmpty || current.hasEnded else { return false }
        let number = current.number
        let batch = current.news
        current.news = []
        for item in batch where number == current.number {
            switch item {
            case .opened: delegate?.opened(number)
            case .received(let text): delegate?.received(number, text)
            }
        }
        if current.hasEnded, number == current.number {
            let code = current.peerCode
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
        current = Connection()
        delegate = nil
        sockets = [:]
        host = nil
    }
}
