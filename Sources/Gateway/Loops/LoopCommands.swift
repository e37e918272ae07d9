import Engine
import Ports
import WebSockets
import Wire

/// Commands of the engine's loop for one worker loop, gathered over a turn and posted at once.
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

    struct Owner: Sendable {
        let socket: SocketID
        let user: ID
    }

    var writes = Writes()
    var answers: [Answer] = []
    /// Sockets whose users have said who they are.
    var owners: [Owner] = []
    var throttles: [Throttle] = []
    /// Executed after the writes: nothing is written to a closed connection.
    var closes: [Close] = []
    /// Blocked sockets whose progress the engine asks for.
    var probes: [SocketID] = []
    /// The number of reports with client input that were processed since the last commands.
    var heard = 0
    var door: Door?

    var isEmpty: Bool {
        writes.isEmpty && answers.isEmpty && throttles.isEmpty && closes.isEmpty && probes.isEmpty
            && owners.isEmpty && heard == 0 && door == nil
    }
}
