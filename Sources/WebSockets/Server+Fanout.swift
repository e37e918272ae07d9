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
        gathered.removeAll(keepingCapacity: true)
        let isOneWrite = buffer.count <= VirtualHost.chunk
        for id in sockets { gathered.append(isOneWrite ? connections[id]?.idleSocket : nil) }
        for (place, outcome) in writeToGathered(&buffer) {
            let index = sockets.startIndex + place
            guard let connection = connections[sockets[index]] else { continue }
            switch outcome {
            case nil: if send(sockets[index], &buffer) != .blocked { continue }
            case .failed: connection.abandon()
            case .partial(let bytes): connection.tookPart(of: bytes)
            }
            if connection.isBlocked { unsent(index, connection.unsentBytes) }
        }
    }

    /// Writes the whole buffer to each of the gathered sockets.
    /// - Returns: the places that were not written completely, in order; the outcome is nil where
    ///   there was no socket.
    private func writeToGathered(
        _ buffer: inout SendBuffer
    ) -> [(place: Int, outcome: LibrarySocket.Outcome?)] {
        let count = buffer.count
        var others: [(place: Int, outcome: LibrarySocket.Outcome?)] = []
        buffer.withBytes(from: 0) { bytes in
            for place in gathered.indices {
                guard let socket = gathered[place] else {
                    others.append((place, nil))
                    continue
                }
                if let outcome = socket.write(bytes, count: count) {
                    others.append((place, outcome))
                }
            }
        }
        return others
    }
}
