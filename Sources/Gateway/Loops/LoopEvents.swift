import WebSockets
import Wire

/// What happened at the sockets of one loop in a turn, for the engine's, in order.
struct LoopEvents: Sendable {
    /// What a socket that the engine had asked for has taken since its connection began.
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
        /// The oldest writes that were not answered yet are done, but for these bytes.
        case landed([Writes.Unsent], took: Duration)
        case progress([Progress])
    }

    var events: [Event] = []
    /// Holds what clients sent: the loop wants to know when it was heard.
    var isAwaited = false
}
