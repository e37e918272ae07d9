/// Answers without an end, piece by piece, such as server-sent events. The connection ends behind
/// them. Whoever does not take a piece in time misses the next ones: nothing gathers here.
extension Connection {
    /// Begins such an answer with its head.
    /// - Returns: whether it has begun, and the request was not given up.
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
        // Its end would not be heard otherwise.
        pauseReading(false)
        send(response.head(date: server.dateField(), connection: "close", isEndless: true))
        return phase == .streaming
    }

    /// Sends a piece, unless the one before is still on its way.
    func stream(_ piece: [UInt8]) {
        guard phase == .streaming, !isBlocked else { return }
        send(piece)
        if isBlocked { setDeadline(server.limits.stallTimeout) }
    }
}

extension HTTPResponder {
    /// Begins an answer without an end: `Server.stream` sends its pieces.
    /// - Returns: its connection; nil if that is gone, or only asked for the head.
    package func stream(_ response: HTTPResponse) -> SocketID? {
        server.loop.preconditionOnLoop()
        guard let connection = server.connections[socket],
            connection.beginStream(response, to: exchange)
        else { return nil }
        return socket
    }
}

extension Server {
    /// Sends a piece of an answer without an end. A connection that has not taken the one before
    /// does without it, and is given up if it takes nothing for `ServerLimits.stallTimeout`.
    package func stream(_ piece: [UInt8], to socket: SocketID) {
        loop.preconditionOnLoop()
        connections[socket]?.stream(piece)
    }

    /// Whether the answer goes on.
    package func isStreaming(_ socket: SocketID) -> Bool {
        connections[socket]?.phase == .streaming
    }

    /// Whether a piece would be sent now, and not left out.
    package func takesPiece(_ socket: SocketID) -> Bool {
        guard let connection = connections[socket] else { return false }
        return connection.phase == .streaming && !connection.isBlocked
    }

    /// Requests under way, those of listeners that are counted.
    package var requestsUnderWay: Int { requests.current }
}
