import Engine
import Ports
import WebSockets
import Wire

/// What the engine's loop has for one of the others, gathered over a turn and carried across at
/// once.
struct LoopCommands: Sendable {
    struct Answer: Sendable {
        let responder: HTTPResponder
        let response: HTTPResponse
    }

    struct Throttle: Sendable {
        let socket: SocketID
        let isThrottled: Bool
    }

    struct Close: Sendable {
        let socket: SocketID
        let code: CloseCode
    }

    var writes = Writes()
    var answers: [Answer] = []
    var throttles: [Throttle] = []
    /// Done behind the writes: nobody is written to after its close.
    var closes: [Close] = []
    /// Blocked sockets of which the engine wants to know whether they still take something.
    var probes: [SocketID] = []
    /// How many reports with something that clients sent were heard since the last commands.
    var heard = 0
    var door: Door?

    var isEmpty: Bool {
        writes.isEmpty && answers.isEmpty && throttles.isEmpty && closes.isEmpty && probes.isEmpty
            && heard == 0 && door == nil
    }
}
