import Engine
import WebSockets
import Wire

/// What the engine's loop has for one of the others, gathered over a turn and carried across at
/// once. A frame that many are sent is in it once, and so is a run of frames that several sockets
/// in a row are sent: thousands of references counted on two threads at once would cost more than
/// the bytes are worth. How much there can be is bounded by the sessions, each of which has one
/// write on its way.
struct Orders: Sendable {
    /// A run of `frames` for one socket.
    struct Write: Sendable {
        let socket: SocketID
        let frames: Range<Int>
    }

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

    private(set) var frames: [Wire.Frame] = []
    private(set) var writes: [Write] = []
    var answers: [Answer] = []
    var throttles: [Throttle] = []
    /// Done behind the writes: nobody is written to after its close.
    var closes: [Close] = []
    /// Blocked sockets of which the engine wants to know whether they still take something.
    var probes: [SocketID] = []
    /// How many reports with something that clients sent were heard since the last orders.
    var heard = 0
    var door: Door?

    /// The run of the write before, and how much of it the one that is being made begins with; nil
    /// if that is another run already.
    private var last = 0..<0
    private var shared: Int?
    private var first = 0

    var isEmpty: Bool {
        writes.isEmpty && answers.isEmpty && throttles.isEmpty && closes.isEmpty && probes.isEmpty
            && heard == 0 && door == nil
    }

    /// Begins the write of a socket.
    mutating func begin() {
        shared = 0
        first = frames.count
    }

    mutating func append(_ frame: Wire.Frame) {
        if let shared {
            let next = last.lowerBound + shared
            if next < last.upperBound, frames[next] === frame {
                self.shared = shared + 1
                return
            }
            for index in last.lowerBound..<next { frames.append(frames[index]) }
            self.shared = nil
        }
        frames.append(frame)
    }

    /// Ends the write.
    mutating func end(for socket: SocketID) {
        if let shared {
            guard shared > 0 else { return }
            // Those who come next are likelier to be sent all of it than the same piece.
            let run = last.lowerBound..<last.lowerBound + shared
            return writes.append(Write(socket: socket, frames: run))
        }
        last = first..<frames.count
        writes.append(Write(socket: socket, frames: last))
    }
}
