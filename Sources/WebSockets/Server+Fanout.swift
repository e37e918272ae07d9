/// One message, many sockets.
extension Server {
    /// Sends whole frames, headers included, to many sockets, each of which stands among them once.
    /// First all that is ours is done for all of them, then all that is the kernel's, whose every
    /// send turns the caches of the core over.
    /// - Parameter unsent: called with the place in `sockets` of each that did not take all, and
    ///   the bytes that this server now holds for it; in their order.
    package func send(
        _ buffer: inout SendBuffer, to sockets: ArraySlice<SocketID>,
        unsent: (_ index: Int, _ bytes: Int) -> Void
    ) {
        loop.preconditionOnLoop()
        handles.removeAll(keepingCapacity: true)
        let isOneWrite = buffer.count <= VirtualHost.chunk
        for id in sockets { handles.append(isOneWrite ? connections[id]?.idleSocket : nil) }
        for (place, outcome) in LibrarySocket.write(&buffer, to: handles) {
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
