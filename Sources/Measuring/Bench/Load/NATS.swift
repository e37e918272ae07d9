/// The protocol of nats-server, as far as a fan-out needs it, inside WebSocket frames: encodes
/// commands, and decodes the messages in each frame.
enum NATS {
    /// One message of a frame.
    struct Message {
        let payload: Range<Int>
        /// The number of the message that this one acknowledges; nil if it is not an
        /// acknowledgement.
        let acknowledged: Int?
    }

    /// Each room is a subject; one stream contains all of them.
    private static func subject(_ room: Int) -> String { "bench.\(room)" }
    private static let inbox = "acknowledged"

    /// A client's first commands. The last one is answered after all others.
    static let greeting = Array("CONNECT {\"verbose\":false}\r\nPING\r\n".utf8)
    private static let greeted = Pattern("PONG\r\n")

    /// The greeting of a subscriber.
    static func subscription(_ room: Int) -> [UInt8] {
        Array("CONNECT {\"verbose\":false}\r\nSUB \(subject(room)) 1\r\nPING\r\n".utf8)
    }

    /// The greeting of a publisher whose messages a stream stores in files and acknowledges. It
    /// requests the stream, which the first publisher creates and the others find.
    static func streamGreeting(_ publisher: Int) -> [UInt8] {
        let stream =
            #"{"name":"BENCH","subjects":["bench.*"],"storage":"file","num_replicas":1}"#
        let answer = "\(inbox).\(publisher)"
        return Array(
            ("CONNECT {\"verbose\":false}\r\nSUB \(answer).* 2\r\n"
                + "PUB $JS.API.STREAM.CREATE.BENCH \(answer).0 \(stream.utf8.count)\r\n"
                + "\(stream)\r\n").utf8)
    }

    private static let streamAnswer = Pattern("stream_create_response")
    private static let streamError = Pattern("\"error\":")

    /// Whether the stream exists.
    /// - Throws: `BenchError.failure` if the server refuses it.
    static func hasStream(_ frame: Span<UInt8>) throws(BenchError) -> Bool {
        guard Bytes.find(streamAnswer, in: frame) != nil else { return false }
        guard Bytes.find(streamError, in: frame) == nil else {
            throw .failure("asking the peer for a stream: refused")
        }
        return true
    }

    static func publication(_ payload: [UInt8], room: Int) -> [UInt8] {
        Array("PUB \(subject(room)) \(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
    }

    /// A message that is acknowledged to its publisher, by its number.
    static func publication(
        _ payload: [UInt8], room: Int, number: Int, publisher: Int
    ) -> [UInt8] {
        let head = "PUB \(subject(room)) \(inbox).\(publisher).\(number) \(payload.count)\r\n"
        return Array(head.utf8) + payload + Array("\r\n".utf8)
    }

    /// Whether the greeting was answered.
    static func isGreeted(in frame: Span<UInt8>) -> Bool { Bytes.find(greeted, in: frame) != nil }

    private static let stored = Pattern("\"stream\":\"BENCH\", \"seq\":")
    private static let storedTight = Pattern("\"stream\":\"BENCH\",\"seq\":")

    /// Whether an acknowledgement confirms that the message is in the stream.
    static func isStored(_ payload: Span<UInt8>) -> Bool {
        Bytes.find(stored, in: payload) != nil || Bytes.find(storedTight, in: payload) != nil
    }

    private static let message = Pattern("MSG ")
    private static let end = Pattern("\r\n")

    /// The next message at or after `start`, and moves `start` past it; nil if there is none, or it
    /// is incomplete: the server sends complete ones.
    static func next(in frame: Span<UInt8>, from start: inout Int) -> Message? {
        guard let found = Bytes.find(message, in: frame, from: start),
            let line = Bytes.find(end, in: frame, from: found)
        else { return nil }
        // Subject, subscription, optional reply subject, size.
        var size = 0
        var field = 0
        var number = 0
        for place in (found + message.count)..<line {
            switch frame[place] {
            case UInt8(ascii: " "):
                field += 1
                size = 0
            case let digit where UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit:
                size = size * 10 + Int(digit - UInt8(ascii: "0"))
                if field == 0 { number = number * 10 + Int(digit - UInt8(ascii: "0")) }
            case UInt8(ascii: "."):
                number = 0
                size = 0
            default: size = 0
            }
        }
        let low = line + end.count
        guard field >= 2, low + size + end.count <= frame.count else { return nil }
        start = low + size + end.count
        let isAnswer = frame[found + message.count] == UInt8(ascii: "a")
        return Message(payload: low..<(low + size), acknowledged: isAnswer ? number : nil)
    }
}
