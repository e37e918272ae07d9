/// Endless responses, sent in pieces, such as server-sent events. The connection ends with them. A
/// client that does not take a piece in time misses the next ones: nothing is queued here.
extension PeerConnection {
    /// Begins such a response with its head.
    /// - Returns: whether it began; false if the request was abandoned.
    func beginStream(_ response: HTTPResponse, to number: UInt32) -> Bool {
        guard phase == .answering, number == exchange.number, let head = exchange.head else {
            return false
        }
        guard head.method != "HEAD" else {
            respond(response, to: number)
            return false
        }
        exchange.head = nil
        exchange.keepsAlive = false
        phase = .streaming
        setDeadline(nil)
        // Reads on: otherwise the end of the connection would not be noticed.
        pauseReading(false)
        send(response.head(date: server.dateField(), connection: "close", isEndless: true))
        return phase == .streaming
    }

    /// Sends a piece, unless the previous one is still being written.
    func stream(_ piece: [UInt8]) {
        guard phase == .streaming, !isBlocked else { return }
        send(piece)
        if isBlocked { setDeadline(server.limits.stallTimeout) }
    }
}

extension HTTPResponder {
    /// Begins an endless response: `Server.stream` sends its pieces.
    /// - Returns: its connection; nil if that is closed, or the request was a HEAD.
    package func stream(_ response: HTTPResponse) -> SocketID? {
        server.loop.preconditionOnLoop()
        guard let connection = server.connections[socket],
            connection.beginStream(response, to: exchange)
        else { return nil }
        return socket
    }
}

extension Server {
    /// Sends a piece of an endless response. Skips a connection that has not taken the previous
    /// one, and abandons it if it takes nothing for `ServerLimits.stallTimeout`.
    package func stream(_ piece: [UInt8], to socket: SocketID) {
        loop.preconditionOnLoop()
        connections[socket]?.stream(piece)
    }

    /// Whether the response is still open.
    package func isStreaming(_ socket: SocketID) -> Bool {
        connections[socket]?.phase == .streaming
    }

    /// Whether a piece would be sent now, not skipped.
    package func takesPiece(_ socket: SocketID) -> Bool {
        guard let connection = connections[socket] else { return false }
        return connection.phase == .streaming && !connection.isBlocked
    }

    /// Requests in flight, of those listeners that are counted.
    package var requestsUnderWay: Int { requests.current }
}
