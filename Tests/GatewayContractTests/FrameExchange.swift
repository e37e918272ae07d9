import TestSupport

/// One connection on which a test says what no well-behaved client would: frames as they are, and
/// the answers by the order in which they come.
final class FrameExchange {
    let connection: WebSocketConnection
    private var nextID = 1_000_000

    init(_ connection: WebSocketConnection) { self.connection = connection }

    /// Without `connect`.
    convenience init(port: Int) throws { self.init(try WebSocketConnection(port: port)) }

    /// After `connect`, in open mode.
    convenience init(connectedTo port: Int, user: String = "alice") throws {
        try self.init(port: port)
        let answer = try ask(#"{"id":1,"method":"connect","params":{"user":"\#(user)"}}"#)
        guard answer["error"].isNull else { throw TestFailure("connect: \(answer)") }
    }

    /// The text of a request, its params as they are.
    static func request(_ method: String, _ params: String, id: String = "5") -> String {
        #"{"id":\#(id),"method":"\#(method)","params":\#(params)}"#
    }

    /// The next frame that is a reply.
    ///
    /// - Throws: `TestFailure` where none comes, or the connection ends.
    func reply(_ deadline: Deadline = .standard) throws -> JSONValue {
        while let incoming = try connection.receive(deadline) {
            switch incoming {
            case .text(let bytes):
                let frame = try JSONValue(parsing: bytes)
                if !frame["id"].isNull { return frame }
            case .closed(let code, _): throw TestFailure("closed with \(code ?? 0), not answered")
            case .ended: throw TestFailure("the connection ended without an answer")
            case .binary, .ping, .pong: break
            }
        }
        throw TestFailure("no reply in time")
    }

    /// Sends a text frame and gives back the next reply, whatever its id.
    func ask(_ text: String) throws -> JSONValue {
        try connection.send(text: text)
        return try reply()
    }

    /// Sends a frame and gives back the next reply, whatever its id.
    func ask(_ frame: WebSocketFrame) throws -> JSONValue {
        try connection.send(frame)
        return try reply()
    }

    /// Whether a good request is answered, with an id of its own.
    func isUsable() throws -> Bool {
        nextID += 1
        let answer = try ask(#"{"id":\#(nextID),"method":"unsubscribeConversations"}"#)
        return answer == ["id": .int(nextID), "result": [:]]
    }
}
