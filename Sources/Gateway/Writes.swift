import WebSockets
import Wire

/// What many sockets are to be given, one write each, all of it gathered before the first byte goes
/// out: what the kernel does for one send leaves little of ours in the caches of the core, and who
/// goes to and fro between the two pays for that with every socket.
///
/// A frame that many are sent is in it once, and so is a run of frames that several sockets in a
/// row are sent: it is copied once for all of them, and thousands of references that two threads
/// count at once would cost more than the bytes are worth. How much there can be is bounded by the
/// sessions, each of which has one write on its way.
struct Writes: Sendable {
    /// The same frames for some sockets in a row.
    struct Run: Sendable {
        let frames: Range<Int>
        fileprivate(set) var sockets: Range<Int>
    }

    /// Bytes that a socket did not take.
    struct Unsent: Sendable {
        /// Where it stands in `sockets`.
        let index: Int
        let bytes: Int
    }

    private(set) var frames: [Wire.Frame] = []
    private(set) var sockets: [SocketID] = []
    private(set) var runs: [Run] = []

    /// The frames of the write before, and how much of them the one that is being made begins with;
    /// nil if that is another run already.
    private var last = 0..<0
    private var shared: Int?
    private var first = 0

    var isEmpty: Bool { sockets.isEmpty }

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

    /// Ends the write; one without a frame is none.
    mutating func end(for socket: SocketID) {
        var run = first..<frames.count
        if let shared {
            guard shared > 0 else { return }
            // Those who come next are likelier to be sent all of it than the same piece.
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

    /// Gives the sockets their bytes.
    /// - Parameter buffer: to lay a run out in.
    /// - Returns: those that did not take all, in their order.
    func send(by server: Server, _ buffer: inout SendBuffer) -> [Unsent] {
        var unsent: [Unsent] = []
        for run in runs {
            buffer.removeAll()
            for frame in frames[run.frames] { buffer.append(frame.bytes) }
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
