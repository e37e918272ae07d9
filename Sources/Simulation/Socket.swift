import Engine
import Wire

/// A client's socket as the gateway sees it: a kernel buffer of a fixed size, and behind it the
/// library's queue of what the kernel did not take. The client reads as fast as it likes. Counts
/// bytes; a frame arrives with its last byte.
package struct Socket {
    /// How many unread bytes the kernel holds.
    let capacity: Int
    private var frames: [[UInt8]] = []
    /// Bytes of the first frame that the client has read.
    private var taken = 0
    private var bytes = 0
    /// The bytes in the library's queue that the gateway was last told.
    var reported = 0
    /// The gateway closes the connection after the last frame.
    var closing: CloseCode?

    init(capacity: Int) { self.capacity = capacity }

    /// Bytes that the kernel has not taken.
    var unsent: Int { max(0, bytes - capacity) }
    var isEmpty: Bool { frames.isEmpty }

    /// Takes the session's pending frames, in writes of about `limit` bytes, until there are none
    /// or the kernel takes no more.
    mutating func fill(from engine: Engine, _ session: SessionID, _ limit: Int) {
        var isMoreQueued = true
        while isMoreQueued {
            var count = 0
            isMoreQueued = engine.sockets.take(session, limit) {
                send($0.bytes)
                count += $0.bytes.count
            }
            reported = unsent
            if count == 0 { return }
            if unsent > 0 { return engine.sockets.blocked(session, unsent: unsent) }
        }
    }

    mutating func send(_ frame: [UInt8]) {
        frames.append(frame)
        bytes += frame.count
    }

    /// The client reads up to `count` bytes.
    /// - Returns: the frames that are complete now.
    mutating func read(_ count: Int) -> [[UInt8]] {
        var left = min(count, bytes)
        bytes -= left
        var whole: [[UInt8]] = []
        while left > 0 {
            let rest = frames[whole.count].count - taken
            if left < rest {
                taken += left
                break
            }
            left -= rest
            taken = 0
            whole.append(frames[whole.count])
        }
        frames.removeFirst(whole.count)
        return whole
    }
}

/// The other direction: frames that a client sent and the gateway has not read.
struct Line {
    var frames: [[UInt8]] = []
    /// The gateway does not read the socket.
    var isThrottled = false

    mutating func next() -> [UInt8]? {
        isThrottled || frames.isEmpty ? nil : frames.removeFirst()
    }
}

/// A frame of the gateway, decoded from its RFC 6455 header.
package enum ReceivedFrame {
    case text([UInt8])
    case ping

    /// - Throws: `Violation` unless header and payload are those of one whole server frame.
    package init(_ bytes: [UInt8]) throws(Violation) {
        try require(bytes.count >= 2, "a frame of \(bytes.count) bytes")
        var header = 2
        var count = Int(bytes[1])
        if count >= 126 {
            header = count == 126 ? 4 : 10
            try require(bytes.count >= header, "a frame that ends in its header")
            count = bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
        }
        try require(bytes.count == header + count, "a frame whose length is not its own")
        switch bytes[0] {
        case 0x81: self = .text(Array(bytes[header...]))
        case 0x89: self = .ping
        default: throw Violation("a frame that begins with \(bytes[0])")
        }
    }
}
