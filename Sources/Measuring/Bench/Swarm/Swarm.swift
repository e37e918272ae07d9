/// Many WebSocket clients on one epoll and one thread. Frames are delimited in place in the read
/// buffer and passed on without a copy: the generator must be faster than what it measures.
final class Swarm {
    private let endpoint: Endpoint
    private let poll: Poll
    private(set) var clients: [Client] = []
    /// When the bytes being handled were read.
    private(set) var now: Nanoseconds = Clock.now()
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    /// The upgrade request.
    let upgrade: [UInt8]

    /// Whether it polls for frames all the time, so that no sender has to wake it.
    var isAwake: Bool {
        get { poll.isAwake }
        set { poll.isAwake = newValue }
    }

    /// The CPU time that it spent polling without finding anything.
    var idle: Nanoseconds { poll.idle }

    /// A swarm on a port of this machine.
    /// - Throws: `BenchError.failure`
    convenience init(port: Int) throws(BenchError) { try self.init(.loopback(port)) }

    /// - Throws: `BenchError.failure`
    init(_ endpoint: Endpoint) throws(BenchError) {
        self.endpoint = endpoint
        poll = try Poll()
        let lines = [
            "GET /v1/ws HTTP/1.1", "Host: \(endpoint.authority)", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: Z2FwbGVzcy1iZW5jaC1rZQ==",
            "Sec-WebSocket-Protocol: gapless.v1", "", "",
        ]
        upgrade = Array(lines.joined(separator: "\r\n").utf8)
    }

    /// The upgrade request for another path, without this gateway's subprotocol.
    func upgrade(at path: String) -> [UInt8] {
        var lines = String(decoding: upgrade, as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: false)
        lines[0] = "GET \(path) HTTP/1.1"
        lines.removeAll { $0.hasPrefix("Sec-WebSocket-Protocol:") }
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Connects one more client and requests the upgrade; the answer comes with a turn.
    /// - Throws: `BenchError.failure`
    func add(saying: [UInt8]? = nil) throws(BenchError) {
        try dial(addUnconnected(), saying: saying)
    }

    /// Adds a client that is not connected yet.
    func addUnconnected() -> Client {
        let client = Client(index: clients.count)
        clients.append(client)
        return client
    }

    /// Connects a disconnected client, and requests the upgrade.
    /// - Parameter saying: sent instead of the upgrade request.
    /// - Throws: `BenchError.failure` if the kernel refuses at once.
    func dial(
        _ client: Client, _ manner: Socket.Manner = Socket.Manner(), saying: [UInt8]? = nil
    ) throws(BenchError) {
        let socket = try Socket(endpoint, manner)
        socket.stopBlocking()
        client.socket = socket
        client.generation += 1
        client.isReading = true
        client.closeCode = nil
        try poll.add(socket, token: token(client))
        try write(saying ?? upgrade, to: client)
    }

    /// Cuts a client: its socket is reset, without a close frame. Its bytes in the kernel are lost.
    func cut(_ client: Client) {
        client.socket = nil
        client.isOpen = false
        client.partial = []
        client.unsent = []
    }

    /// Makes a client stop or resume reading.
    /// - Throws: `BenchError.failure`
    func setReading(_ isReading: Bool, _ client: Client) throws(BenchError) {
        client.isReading = isReading
        try watch(client)
    }

    /// Makes a stalled client read a few bytes nevertheless, as a very slow one does.
    /// - Throws: `BenchError.ended` if the connection has ended, and the receiver's errors.
    func sip<Receiver: FrameReceiver>(
        _ count: Int, _ client: Client, for receiver: Receiver
    ) throws(BenchError) {
        var input = [UInt8](repeating: 0, count: count)
        guard let count = try client.socket?.read(into: &input) else { return }
        now = Clock.now()
        try take(count, of: &input, from: client, receiver)
    }

    private func token(_ client: Client) -> Int { client.generation << 32 | client.index }

    private func watch(_ client: Client) throws(BenchError) {
        guard let socket = client.socket else { return }
        try poll.watch(
            socket, token: token(client), reads: client.isReading,
            writes: !client.unsent.isEmpty)
    }

    /// Sends one request.
    /// - Throws: `BenchError.failure` if the gateway has closed.
    func send(_ request: [UInt8], to client: Client) throws(BenchError) {
        try write(Frame.masked(Frame.Opcode.text, request), to: client)
    }

    /// Sends frames that are already encoded.
    /// - Throws: `BenchError.failure` if the gateway has closed.
    func write(_ bytes: [UInt8], to client: Client) throws(BenchError) {
        guard client.unsent.isEmpty, let socket = client.socket else {
            client.unsent += bytes
            return
        }
        let count = try socket.write(bytes)
        guard count < bytes.count else { return }
        client.unsent = Array(bytes[count...])
        try watch(client)
    }

    /// Waits until a socket is readable or the time has come, and passes on what is there.
    /// - Throws: `BenchError.failure` if a connection ends, and the receiver's errors.
    func turn<Receiver: FrameReceiver>(
        for receiver: Receiver, until moment: Nanoseconds
    ) throws(BenchError) {
        let count = try poll.wait(until: moment)
        // Moved out of the object and back, so that frames can be passed on in place.
        var input = buffer
        buffer = []
        defer { buffer = input }
        for index in 0..<count {
            let ready = poll.ready(at: index)
            let client = clients[ready.token & 0xFFFF_FFFF]
            guard ready.token == token(client), client.socket != nil else { continue }
            do throws(BenchError) {
                try handle(client, isWritable: ready.isWritable, &input, receiver)
            } catch let error where error.kind == .ended {
                cut(client)
                try receiver.ended(client, error.description)
            }
        }
    }

    private func handle<Receiver: FrameReceiver>(
        _ client: Client, isWritable: Bool, _ input: inout [UInt8], _ receiver: Receiver
    ) throws(BenchError) {
        if isWritable, let socket = client.socket {
            let count = try socket.write(client.unsent)
            client.unsent.removeFirst(count)
            if client.unsent.isEmpty { try watch(client) }
        }
        guard let count = try client.socket?.read(into: &input) else { return }
        now = Clock.now()
        try take(count, of: &input, from: client, receiver)
    }

    private func take<Receiver: FrameReceiver>(
        _ count: Int, of input: inout [UInt8], from client: Client, _ receiver: Receiver
    ) throws(BenchError) {
        let wasOpen = client.isOpen
        if client.partial.isEmpty {
            let taken = try split(input.span.extracting(0..<count), client, receiver)
            if taken < count, client.isOpen || !wasOpen {
                client.partial = Array(input[taken..<count])
            }
            return
        }
        var whole = client.partial
        client.partial = []
        whole += input[..<count]
        let taken = try split(whole.span, client, receiver)
        if taken < whole.count, client.isOpen || !wasOpen {
            client.partial = Array(whole[taken...])
        }
    }

    /// - Returns: how many bytes were consumed.
    private func split<Receiver: FrameReceiver>(
        _ bytes: Span<UInt8>, _ client: Client, _ receiver: Receiver
    ) throws(BenchError) -> Int {
        var at = 0
        if !client.isOpen {
            guard let end = Bytes.find(Self.endOfHead, in: bytes) else { return 0 }
            guard Bytes.find(Self.switching, in: bytes) == 0 else {
                throw .ended("the gateway refused the upgrade")
            }
            client.isOpen = true
            at = end + Self.endOfHead.count
            try receiver.opened(client)
        }
        // A receiver may cut the client; its further bytes are then ignored.
        let generation = client.generation
        while client.generation == generation, client.isOpen,
            let frame = Frame(in: bytes, at: at)
        {
            let payload = bytes.extracting(frame.payload)
            switch frame.opcode {
            case Frame.Opcode.text, Frame.Opcode.binary: try receiver.received(payload, on: client)
            case Frame.Opcode.ping:
                try write(Frame.masked(Frame.Opcode.pong, Bytes.copy(payload)), to: client)
            case Frame.Opcode.close:
                let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
                client.closeCode = code
                throw .ended("closed by the gateway (\(code))")
            default: break
            }
            at = frame.payload.upperBound
        }
        return at
    }

    private static let endOfHead = Pattern("\r\n\r\n")
    private static let switching = Pattern("HTTP/1.1 101")
}
