/// The calls that name one WebSocket: sending, backpressure, throttling and closing.
extension Server {
    /// Sends whole frames, headers included. Does not change the buffer: it may be sent to many
    /// sockets.
    package func send(_ socket: SocketID, _ buffer: inout SendBuffer) -> SendResult {
        loop.preconditionOnLoop()
        guard let connection = connections[socket], connection.phase == .open else { return .gone }
        return connection.send(&buffer)
    }

    /// Whether frames can be sent.
    package func isOpen(_ socket: SocketID) -> Bool { connections[socket]?.phase == .open }

    /// Whether bytes wait here until the socket takes them.
    package func isBlocked(_ socket: SocketID) -> Bool {
        connections[socket]?.isBlocked ?? false
    }

    /// Bytes that this server still holds for the socket. A write that the kernel took in part (at
    /// most 64 KiB) counts in full until it is completed.
    package func unsentBytes(_ socket: SocketID) -> Int {
        connections[socket]?.unsentBytes ?? 0
    }

    /// Bytes that the peer's kernel has acknowledged on this connection. The number rises while a
    /// slow peer still takes bytes sent long ago, and stops when the peer has stopped.
    package func acknowledgedBytes(_ socket: SocketID) -> UInt64 {
        loop.preconditionOnLoop()
        return connections[socket]?.socket?.acknowledgedBytes ?? 0
    }

    /// Backpressure on a peer: leaves its bytes with the peer, or resumes reading; a close also
    /// resumes it. While throttled nothing is delivered: bytes that were read already wait, and are
    /// delivered within the call that resumes.
    package func throttle(_ socket: SocketID, _ isThrottled: Bool) {
        loop.preconditionOnLoop()
        guard let connection = connections[socket], connection.phase == .open else { return }
        loop.noteWork()
        connection.throttle(isThrottled)
    }

    /// Sends the queued bytes, then a close frame, and ends the connection when the peer has
    /// answered, or after `ServerLimits.closeTimeout`. From now on only `closed` is called for it.
    package func close(_ socket: SocketID, code: UInt16, reason: String) {
        loop.preconditionOnLoop()
        connections[socket]?.close(code: code, reason: reason)
    }

    /// Ends the connection without a close frame; `closed` follows between turns.
    package func terminate(_ socket: SocketID) {
        loop.preconditionOnLoop()
        connections[socket]?.abandon()
    }
}
