import WebSockets
import Wire

/// Events of one worker loop's sockets in a turn, in order, for the engine's loop.
struct LoopEvents: Sendable {
    /// The progress of a probed socket; `acknowledged` counts from the start of its connection.
    struct Progress: Sendable {
        let socket: SocketID
        let acknowledged: UInt64
        let unsent: Int
    }

    enum Event: Sendable {
        case connected(SocketID, bearer: String?, address: String)
        case received(SocketID, RequestFrame)
        case pong(SocketID)
        case writable(SocketID)
        case closed(SocketID)
        case requested(HTTPRequest, HTTPResponder)
        /// The oldest writes in flight are done, except for these bytes.
        case landed([Writes.Unsent], took: Duration)
        case progress([Progress])
    }

    var events: [Event] = []
    /// Whether it holds client input: flow control then waits for an acknowledgement.
    var isAwaited = false
}
