/// Fan-out: one message to many sockets.
extension Server {
    /// Sends whole frames, headers included, to many distinct sockets. First does all of this
    /// program's work for all of them, then the system calls, each of which evicts the core's
    /// caches.
    /// - Parameter unsent: called, in order, for each socket that did not take everything, with its
    ///   index in `sockets` and the bytes that this server now holds for it.
    package func send(
        _ buffer: inout SendBuffer, to sockets: ArraySlice<SocketID>,
        unsent: (_ index: Int, _ bytes: Int) -> Void
    ) {
        loop.preconditionOnLoop()
        gathered.removeAll()
        let isOneWrite = buffer.count <= VirtualHost.chunk
        for id in sockets { gathered.append(isOneWrite ? connections[id]?.idleSocket : nil) }
        for (place, outcome) in gathered.write(&buffer) {
            let index = sockets.startIndex + place
            guard let connection = connections[sockets[index]] else { continue }
            switch outcome {
            case .untried: if send(sockets[index], &buffer) != .blocked { continue }
            case .failed: connection.abandon()
            case .partial(let bytes): connection.tookPart(of: bytes)
            }
            if connection.isBlocked { unsent(index, connection.unsentBytes) }
        }
    }
}
