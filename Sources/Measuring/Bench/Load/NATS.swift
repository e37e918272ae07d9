/// The protocol of nats-server, as far as a fan-out needs it, inside WebSocket frames: commands in,
/// and out of each frame the messages that it carries.
enum NATS {
    private static let subject = "bench"

    /// What a client says first. The last command is answered behind all others.
    static let greeting = Array("CONNECT {\"verbose\":false}\r\nPING\r\n".utf8)
    /// The same for a subscriber.
    static let subscription = Array(
        "CONNECT {\"verbose\":false}\r\nSUB \(subject) 1\r\nPING\r\n".utf8)
    private static let greeted = Pattern("PONG\r\n")

    static func publication(_ payload: [UInt8]) -> [UInt8] {
        Array("PUB \(subject) \(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
    }

    /// Whether the greeting is answered.
    static func isGreeted(in frame: Span<UInt8>) -> Bool { Bytes.find(greeted, in: frame) != nil }

    private static let message = Pattern("MSG \(subject) 1 ")
    private static let end = Pattern("\r\n")

    /// The payload of the message that begins at or behind `start`, moving `start` behind it; nil
    /// where there is none, or not all of it: the server sends whole ones.
    static func next(in frame: Span<UInt8>, from start: inout Int) -> Range<Int>? {
        guard let found = Bytes.find(message, in: frame, from: start),
            let size = Bytes.number(in: frame, at: found + message.count),
            let line = Bytes.find(end, in: frame, from: found)
        else { return nil }
        let low = line + end.count
        guard low + size + end.count <= frame.count else { return nil }
        start = low + size + end.count
        return low..<(low + size)
    }
}
