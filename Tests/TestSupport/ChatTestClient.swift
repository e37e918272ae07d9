import Glibc

/// A client of the protocol over its own socket: requests and replies by id, events in a queue, and
/// a `Holder` for each conversation, which every frame goes through. Blocking where it waits;
/// hundreds of them are driven together by `ClientSwarm`.
package final class ChatTestClient {
    /// An `error` reply.
    package struct RequestFailed: Error, Sendable, Hashable {
        package var code: String
        package var message: String
        package var retry: String
        package var after: Int?
    }

    /// What happened, in order, for an oracle to judge afterwards.
    package enum Step: Sendable {
        case sent(id: Int, method: String, params: JSONValue)
        case received(JSONValue)
        case disconnected
    }

    package private(set) var connection: WebSocketConnection
    package private(set) var port: Int
    private let receiveBuffer: Int?
    package var user = ""
    package private(set) var session = ClientSession()
    /// The events that nobody took yet.
    package private(set) var events: [JSONValue] = []
    /// Whether events are queued for `nextEvent`; a swarm that only holds has no use for them.
    package var queuesEvents = true
    package var records = false
    package private(set) var recording: [Step] = []
    /// Called with every frame after the holders took it.
    package var onFrame: ((JSONValue) throws -> Void)?
    /// Shared by clients that get the same bytes.
    package var frames = FrameCache()
    private var replies: [Int: JSONValue] = [:]
    private var cachedReplies: [Int: JSONValue] = [:]
    private var nextID = 1

    /// - Throws: `TestFailure` or `WebSocketConnection.UpgradeRefused`.
    package init(port: Int, receiveBuffer: Int? = nil) throws {
        self.port = port
        self.receiveBuffer = receiveBuffer
        connection = try WebSocketConnection(port: port, receiveBuffer: receiveBuffer)
    }

    /// Says `connect`.
    /// - Parameter unread: asks to be told what the user has not read.
    @discardableResult
    package func connect(
        user: String, token: String? = nil, unread: Bool = false
    ) throws -> JSONValue {
        self.user = user
        var params: JSONValue =
            token.map { ["token": .string($0)] } ?? ["user": .string(user)]
        if unread { params["unread"] = true }
        return try request("connect", params)
    }

    /// Comes back on a new socket and says `connect` again; what the holders hold stays.
    @discardableResult
    package func reconnect() throws -> JSONValue {
        disconnect()
        try reopen(port: port)
        return try connect(user: user)
    }

    /// Makes a new connection, perhaps to another gateway, and says nothing yet.
    ///
    /// - Throws: `TestFailure` or `WebSocketConnection.UpgradeRefused`.
    package func reopen(port: Int) throws {
        self.port = port
        connection = try WebSocketConnection(
            port: port, receiveBuffer: receiveBuffer, deadline: .after(.seconds(10)))
    }

    /// Drops the socket without a close frame.
    package func disconnect() {
        connection.socket.reset()
        session.disconnected()
        replies = [:]
        cachedReplies = [:]
        events = []
        if records { recording.append(.disconnected) }
    }

    // MARK: Requests

    /// What was recorded since the last call.
    package func takeRecording() -> [Step] {
        defer { recording = [] }
        return recording
    }

    /// Sends a request and goes on.
    ///
    /// - Returns: Its id, for `reply(to:)`.
    @discardableResult
    package func send(_ method: String, _ params: JSONValue = [:]) throws -> Int {
        let (id, frame) = encode(method, params)
        try send(raw: frame)
        return id
    }

    /// Sends the same request as often, in one write: the gateway finds all of them at once, as far
    /// as it reads in one piece, and can't stop reading between two.
    package func send(_ method: String, _ params: JSONValue, times count: Int) throws {
        try send(raw: (0..<count).flatMap { _ in encode(method, params).frame })
    }

    private func encode(_ method: String, _ params: JSONValue) -> (id: Int, frame: [UInt8]) {
        let id = nextID
        nextID += 1
        session.sent(id: id, method: method, params: params)
        if records { recording.append(.sent(id: id, method: method, params: params)) }
        let frame: JSONValue = ["id": .int(id), "method": .string(method), "params": params]
        return (id, WebSocketFrame(.text, frame.bytes).encoded())
    }

    private func send(raw bytes: [UInt8]) throws {
        if connection.hasEnded {
            let code = connection.closeCode.map { "with code \($0)" } ?? "without a code"
            throw TestFailure("\(user): the gateway has closed the connection \(code)")
        }
        try connection.send(raw: bytes)
    }

    /// The final reply, once it has come.
    package func takeReply(to id: Int) -> JSONValue? { replies.removeValue(forKey: id) }

    /// The first phase of a two-phase reply, if there was one.
    package func takeCachedReply(to id: Int) -> JSONValue? {
        cachedReplies.removeValue(forKey: id)
    }

    /// Sends a request and waits for its final result.
    ///
    /// - Throws: `RequestFailed` for an error reply, `TestFailure` where none comes in time.
    @discardableResult
    package func request(
        _ method: String, _ params: JSONValue = [:], deadline: Deadline = .standard
    ) throws -> JSONValue {
        try result(of: send(method, params), deadline)
    }

    /// - Throws: as `request`.
    package func result(of id: Int, _ deadline: Deadline = .standard) throws -> JSONValue {
        guard try wait(deadline, until: { $0.replies[id] != nil }), let reply = takeReply(to: id)
        else { throw TestFailure("no reply to request \(id) in time") }
        let error = reply["error"]
        guard error.isNull else {
            throw RequestFailed(
                code: error["code"].string ?? "", message: error["message"].string ?? "",
                retry: error["retry"].string ?? "", after: error["after"].int)
        }
        return reply["result"]
    }

    /// Subscribes, with what is held if anything is.
    @discardableResult
    package func subscribe(_ conversation: String, limit: Int? = nil) throws -> JSONValue {
        try request("subscribeMessages", subscription(conversation, limit: limit))
    }

    /// The params of that.
    package func subscription(_ conversation: String, limit: Int? = nil) -> JSONValue {
        var params: JSONValue = ["conversation": .string(conversation)]
        if let have = session.holders[conversation]?.have { params["have"] = have }
        if let limit { params["limit"] = .int(limit) }
        return params
    }

    package func holder(_ conversation: String) -> Holder {
        session.holders[conversation] ?? Holder()
    }

    /// Gives the client what an earlier one held, to resume with.
    package func hold(_ holder: Holder, of conversation: String) {
        session.hold(holder, of: conversation)
    }

    // MARK: Receiving

    /// The next event with this name, whatever else comes before it stays in the queue.
    ///
    /// - Throws: `TestFailure` where none comes in time.
    package func nextEvent(
        _ name: String, _ deadline: Deadline = .standard,
        where matches: (JSONValue) -> Bool = { _ in true }
    ) throws -> JSONValue {
        func index(in client: ChatTestClient) -> Int? {
            client.events.firstIndex { $0["event"].string == name && matches($0) }
        }
        guard try wait(deadline, until: { index(in: $0) != nil }), let at = index(in: self) else {
            throw TestFailure("no \(name) event in time")
        }
        return events.remove(at: at)
    }

    /// Reads until `condition` holds.
    ///
    /// - Returns: Whether it came to hold before the deadline or the connection's end.
    package func wait(
        _ deadline: Deadline = .standard, until condition: (ChatTestClient) throws -> Bool
    ) throws -> Bool {
        while true {
            try pump()
            if try condition(self) { return true }
            if connection.hasEnded || !connection.socket.waitToRead(deadline) { return false }
        }
    }

    /// Takes what has arrived, without waiting.
    ///
    /// - Throws: `TestFailure` where a frame is not what the protocol allows.
    package func pump() throws {
        try connection.pump()
        while let incoming = connection.nextPumped() {
            switch incoming {
            case .text(let bytes): try take(frames.parse(bytes))
            case .binary: throw TestFailure("the gateway sent a binary frame")
            case .ping, .pong, .closed, .ended: break
            }
        }
    }

    private func take(_ frame: JSONValue) throws {
        if records { recording.append(.received(frame)) }
        try session.received(frame)
        if let id = frame["id"].int {
            if frame["cached"].bool == true {
                cachedReplies[id] = frame
            } else {
                replies[id] = frame
            }
        } else if queuesEvents {
            events.append(frame)
        }
        try onFrame?(frame)
    }
}

/// The frames read lately, so that a thousand clients in one process read shared bytes once.
package final class FrameCache {
    /// Bytes that are hashed and compared as one piece: element by element, as an array is, it
    /// costs more than the parsing that it saves.
    private struct Key: Hashable {
        let bytes: [UInt8]

        static func == (a: Key, b: Key) -> Bool {
            guard a.bytes.count == b.bytes.count else { return false }
            return a.bytes.withUnsafeBytes { first in
                b.bytes.withUnsafeBytes { second in
                    guard let left = first.baseAddress, let right = second.baseAddress else {
                        return true
                    }
                    return memcmp(left, right, first.count) == 0
                }
            }
        }

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    private var values: [Key: JSONValue] = [:]
    private static let limit = 4096

    package init() {}

    /// - Throws: `TestFailure` where the gateway sent no JSON object.
    package func parse(_ bytes: [UInt8]) throws -> JSONValue {
        let key = Key(bytes: bytes)
        if let known = values[key] { return known }
        guard let value = try? JSONValue(parsing: bytes), value.object != nil else {
            throw TestFailure("a frame of \(bytes.count) bytes is no JSON object")
        }
        if values.count >= Self.limit { values.removeAll(keepingCapacity: true) }
        values[key] = value
        return value
    }
}
