/// A WebSocket client over one TCP connection, blocking where it waits. It reads only when it is
/// asked to, so that a test can be a reader that never reads; it answers pings and closes unless
/// told otherwise.
package final class WebSocketConnection {
    /// What came from the server, fragments joined.
    package enum Incoming: Sendable, Hashable {
        case text([UInt8])
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        case closed(code: UInt16?, reason: String)
        /// The TCP connection ended, after a close frame or without one.
        case ended
    }

    /// The server answered the upgrade with something else than 101.
    package struct UpgradeRefused: Error, Sendable {
        package var status: Int
        package var head: String
    }

    // The key of RFC 6455 1.3 and its answer: one fixed pair makes SHA-1 unnecessary here.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    package let socket: TCPSocket
    /// The head of the answer to the upgrade, in lower case.
    package private(set) var upgradeHead = ""
    package var answersPings = true
    package var answersClose = true
    /// The code of the server's close frame, if one came.
    package private(set) var closeCode: UInt16?
    package private(set) var hasEnded = false
    private var reader = WebSocketFrameReader()
    private var fragments: (opcode: UInt8, payload: [UInt8])?
    private var queue: [Incoming] = []
    private var taken = 0

    /// - Throws: `UpgradeRefused` where the server refuses, `TestFailure` where it is not there or
    ///   its answer is no handshake.
    package init(
        port: Int, path: String = "/v1/ws", subprotocol: String? = "gapless.v1",
        headers: [String: String] = [:], receiveBuffer: Int? = nil,
        deadline: Deadline = .standard
    ) throws {
        socket = try TCPSocket(port: port, receiveBuffer: receiveBuffer)
        var all = [
            "Host": "127.0.0.1:\(port)", "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": Self.key, "Sec-WebSocket-Version": "13",
        ]
        all["Sec-WebSocket-Protocol"] = subprotocol
        all.merge(headers) { _, last in last }
        let lines = all.map { "\($0.key): \($0.value)\r\n" }.joined()
        try socket.write(Array("GET \(path) HTTP/1.1\r\n\(lines)\r\n".utf8), deadline: deadline)
        try readUpgrade(deadline)
    }

    private func readUpgrade(_ deadline: Deadline) throws {
        let mark = Array("\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        while true {
            if bytes.count >= 4,
                let end = (4...bytes.count).first(where: { bytes[($0 - 4)..<$0] == mark[...] })
            {
                let head = String(decoding: bytes[..<end], as: UTF8.self)
                let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                guard status == 101 else { throw UpgradeRefused(status: status, head: head) }
                guard head.contains(Self.accept) else {
                    throw TestFailure("the upgrade's Sec-WebSocket-Accept is wrong")
                }
                upgradeHead = head.lowercased()
                reader.append(Array(bytes[end...]))
                return
            }
            guard !socket.isAtEnd, socket.waitToRead(deadline) else {
                throw TestFailure("no answer to the upgrade (\(bytes.count) bytes)")
            }
            bytes += socket.readAvailable(limit: 65536)
        }
    }

    // MARK: Sending

    package func send(_ frame: WebSocketFrame, deadline: Deadline = .standard) throws {
        try socket.write(frame.encoded(), deadline: deadline)
    }

    package func send(text: String, deadline: Deadline = .standard) throws {
        try send(WebSocketFrame(.text, Array(text.utf8)), deadline: deadline)
    }

    /// Bytes as they are, for frames that no client should send.
    package func send(raw bytes: [UInt8], deadline: Deadline = .standard) throws {
        try socket.write(bytes, deadline: deadline)
    }

    package func sendClose(code: UInt16 = 1000) throws {
        try send(WebSocketFrame(.close, WebSocketFrame.bigEndian(Int(code), bytes: 2)))
    }

    // MARK: Receiving

    /// Takes from the kernel what is there, without waiting.
    ///
    /// - Throws: `TestFailure` where the server breaks the framing.
    package func pump() throws {
        guard !hasEnded else { return }
        reader.append(socket.readAvailable())
        while let frame = try reader.next() { try take(frame) }
        if socket.isAtEnd {
            hasEnded = true
            queue.append(.ended)
        }
    }

    /// What has been pumped and not yet taken.
    package func nextPumped() -> Incoming? {
        guard taken < queue.count else { return nil }
        defer {
            taken += 1
            if taken == queue.count {
                queue.removeAll(keepingCapacity: true)
                taken = 0
            }
        }
        return queue[taken]
    }

    /// The next thing that the server says, or nil if nothing comes in time.
    package func receive(_ deadline: Deadline = .standard) throws -> Incoming? {
        while true {
            if let incoming = nextPumped() { return incoming }
            guard !hasEnded, socket.waitToRead(deadline) else { return nil }
            try pump()
        }
    }

    /// Reads on, whatever else comes, until the server has closed.
    ///
    /// - Returns: The close code, nil where the connection just ended.
    /// - Throws: `TestFailure` where it is still open at the deadline.
    package func waitForClose(_ deadline: Deadline = .standard) throws -> UInt16? {
        while let incoming = try receive(deadline) {
            if incoming == .ended { return closeCode }
        }
        if hasEnded { return closeCode }
        throw TestFailure("the connection is still open at the deadline")
    }

    private func take(_ frame: WebSocketFrame) throws {
        switch WebSocketFrame.Opcode(rawValue: frame.opcode) {
        case .text, .binary:
            guard fragments == nil else { throw TestFailure("a message begins in another") }
            fragments = (frame.opcode, frame.payload)
            if frame.isFinal { finishMessage() }
        case .continuation:
            guard fragments != nil else { throw TestFailure("a continuation continues nothing") }
            fragments?.payload += frame.payload
            if frame.isFinal { finishMessage() }
        case .ping:
            queue.append(.ping(frame.payload))
            if answersPings { try? send(WebSocketFrame(.pong, frame.payload)) }
        case .pong: queue.append(.pong(frame.payload))
        case .close: takeClose(frame)
        case nil: throw TestFailure("the server sent opcode \(frame.opcode)")
        }
    }

    private func finishMessage() {
        guard let (opcode, payload) = fragments else { return }
        fragments = nil
        let isText = opcode == WebSocketFrame.Opcode.text.rawValue
        queue.append(isText ? .text(payload) : .binary(payload))
    }

    private func takeClose(_ frame: WebSocketFrame) {
        let code =
            frame.payload.count >= 2
            ? UInt16(frame.payload[0]) << 8 | UInt16(frame.payload[1]) : nil
        closeCode = code
        let reason = String(decoding: frame.payload.dropFirst(2), as: UTF8.self)
        queue.append(.closed(code: code, reason: reason))
        if answersClose {
            try? send(WebSocketFrame(.close, Array(frame.payload.prefix(2))))
        }
    }
}
