/// Many WebSocket clients on one epoll and one thread. Frames are cut where they lie in the read
/// buffer and handed on without a copy: the generator has to be faster than what it measures.
final class Swarm {
    private let port: Int
    private let poll: Poll
    private(set) var clients: [Client] = []
    /// When the bytes that are being handled had been read.
    private(set) var now: Nanoseconds = Clock.now()
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)

    /// - Throws: `BenchError.failure`
    init(port: Int) throws(BenchError) {
        self.port = port
        poll = try Poll()
    }

    /// Connects one more client and asks for the upgrade; the answer comes with a turn.
    /// - Throws: `BenchError.failure`
    func add() throws(BenchError) {
        let client = Client(index: clients.count, socket: try Socket(port: port))
        client.socket.stopBlocking()
        clients.append(client)
        try poll.add(client.socket, token: client.index)
        let lines = [
            "GET /v1/ws HTTP/1.1", "Host: 127.0.0.1:\(port)", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: Z2FwbGVzcy1iZW5jaC1rZQ==",
            "Sec-WebSocket-Protocol: gapless.v1", "", "",
        ]
        try write(Array(lines.joined(separator: "\r\n").utf8), to: client)
    }

    /// Sends one request.
    /// - Throws: `BenchError.failure` where the gateway has closed.
    func send(_ request: [UInt8], to client: Client) throws(BenchError) {
        try write(Frame.masked(Frame.Opcode.text, request), to: client)
    }

    /// Sends frames that are encoded already.
    /// - Throws: `BenchError.failure` where the gateway has closed.
    func write(_ bytes: [UInt8], to client: Client) throws(BenchError) {
        guard client.unsent.isEmpty else {
            client.unsent += bytes
            return
        }
        let count = try client.socket.write(bytes)
        guard count < bytes.count else { return }
        client.unsent = Array(bytes[count...])
        try poll.watch(client.socket, token: client.index, writes: true)
    }

    /// Waits until something can be read or the moment has come, and hands on what is there.
    /// - Throws: `BenchError.failure` where a connection ends, and what the receiver throws.
    func turn<Receiver: FrameReceiver>(
        for receiver: Receiver, until moment: Nanoseconds
    ) throws(BenchError) {
        let count = try poll.wait(until: moment)
        // Out of the object and back, so that frames can be handed on in place.
        var input = buffer
        buffer = []
        defer { buffer = input }
        for index in 0..<count {
            let ready = poll.ready(at: index)
            let client = clients[ready.token]
            if ready.isWritable { try flush(client) }
            guard let count = try client.socket.read(into: &input) else { continue }
            now = Clock.now()
            try take(count, of: &input, from: client, receiver)
        }
    }

    private func flush(_ client: Client) throws(BenchError) {
        let count = try client.socket.write(client.unsent)
        client.unsent.removeFirst(count)
        if client.unsent.isEmpty {
            try poll.watch(client.socket, token: client.index, writes: false)
        }
    }

    private func take<Receiver: FrameReceiver>(
        _ count: Int, of input: inout [UInt8], from client: Client, _ receiver: Receiver
    ) throws(BenchError) {
        if client.partial.isEmpty {
            let taken = try cut(input.span.extracting(0..<count), client, receiver)
            if taken < count { client.partial = Array(input[taken..<count]) }
            return
        }
        var whole = client.partial
        client.partial = []
        whole += input[..<count]
        let taken = try cut(whole.span, client, receiver)
        if taken < whole.count { client.partial = Array(whole[taken...]) }
    }

    /// - Returns: how many bytes were whole.
    private func cut<Receiver: FrameReceiver>(
        _ bytes: Span<UInt8>, _ client: Client, _ receiver: Receiver
    ) throws(BenchError) -> Int {
        var at = 0
        if !client.isOpen {
            guard let end = Bytes.find(Self.endOfHead, in: bytes) else { return 0 }
            guard Bytes.find(Self.switching, in: bytes) == 0 else {
                throw .failure("upgrading connection \(client.index): refused by the gateway")
            }
            client.isOpen = true
            at = end + Self.endOfHead.count
            try receiver.opened(client)
        }
        while let frame = Frame(in: bytes, at: at) {
            let payload = bytes.extracting(frame.payload)
            switch frame.opcode {
            case Frame.Opcode.text: try receiver.received(payload, on: client)
            case Frame.Opcode.ping:
                try write(Frame.masked(Frame.Opcode.pong, Bytes.copy(payload)), to: client)
            case Frame.Opcode.close:
                let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
                throw .failure("connection \(client.index): closed by the gateway (\(code))")
            default: break
            }
            at = frame.payload.upperBound
        }
        return at
    }

    private static let endOfHead = Pattern("\r\n\r\n")
    private static let switching = Pattern("HTTP/1.1 101")
}
