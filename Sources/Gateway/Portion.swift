import WebSockets
import Wire

/// What one write of a socket takes. Most writes of a fan-out are one frame that all readers share:
/// it is copied once, for the first of them, and the others are sent the same bytes. Owned by the
/// driver, on the loop.
struct Portion {
    private var buffer = SendBuffer()
    /// The frame that is all that the buffer holds; it is kept alive, so no other can be taken for
    /// it.
    private var sole: Wire.Frame?
    /// Nothing was appended since `begin`, whatever the buffer holds.
    private(set) var isEmpty = true

    /// Begins the write of another socket.
    mutating func begin() { isEmpty = true }

    mutating func append(_ frame: Wire.Frame) {
        guard isEmpty else {
            sole = nil
            return buffer.append(frame.bytes)
        }
        isEmpty = false
        guard sole !== frame else { return }
        buffer.removeAll()
        buffer.append(frame.bytes)
        sole = frame
    }

    mutating func send(to socket: SocketID, of server: Server) -> SendResult {
        server.send(socket, &buffer)
    }
}
