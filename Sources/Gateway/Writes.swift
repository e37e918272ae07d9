import WebSockets
import Wire

/// Writes to many sockets, one each, gathered before the first byte is sent: a kernel send evicts
/// much of our data from the core's cache, and alternating between the two would pay for that with
/// every socket.
///
/// A frame for many sockets is in it once, and so is a run of frames that several consecutive
/// sockets get: the run is copied once for all of them, since thousands of reference counts that
/// two threads change at once would cost more than the bytes. The sessions bound its size: each has
/// one write in flight.
struct Writes: Sendable {
    /// The same frames for consecutive sockets.
    struct Run: Sendable {
        let frames: Range<Int>
        fileprivate(set) var sockets: Range<Int>
    }

    /// The bytes that one socket did not take.
    struct Unsent: Sendable {
        /// The index in `sockets`.
        let index: Int
        let bytes: Int
    }

    private(set) var frames: [Wire.Frame] = []
    private(set) var sockets: [SocketID] = []
    private(set) var runs: [Run] = []

    /// The frames of the previous write, and how many of them the present write has repeated so
    /// far; nil once it differs.
    private var last = 0..<0
    private var shared: Int?
    private var first = 0

    var isEmpty: Bool { sockets.isEmpty }

    /// Begins a socket's write.
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

    /// Ends the write; a write without frames is dropped.
    mutating func end(for socket: SocketID) {
        var run = first..<frames.count
        if let shared {
            guard shared > 0 else { return }
            // The next sockets are likelier to get all of `last` than this part of it.
            run = last.lowerBound..<last.lowerBound + shared
        } else {
            last = run
        }
        let place = sockets.count
        sockets.append(socket)
        if let before = runs.last, before.frames == run {
            runs[runs.count - 1].sockets = before.sockets.lowerBound..<place + 1
        } else {
            runs.append(Run(frames: run, sockets: place..<place + 1))
        }
    }

    /// Sends the bytes to the sockets.
    /// - Parameter buffer: scratch space for a run.
    /// - Returns: the sockets that did not take all, in order.
    func send(by server: Server, _ buffer: inout SendBuffer) -> [Unsent] {
        var unsent: [Unsent] = []
        for run in runs {
            buffer.removeAll()
            for frame in frames[run.frames] { buffer.append { frame.append(to: &$0) } }
            server.send(&buffer, to: sockets[run.sockets]) { index, bytes in
                unsent.append(Unsent(index: index, bytes: bytes))
            }
        }
        return unsent
    }

    mutating func removeAll() {
        frames.removeAll(keepingCapacity: true)
        sockets.removeAll(keepingCapacity: true)
        runs.removeAll(keepingCapacity: true)
        last = 0..<0
    }
}
