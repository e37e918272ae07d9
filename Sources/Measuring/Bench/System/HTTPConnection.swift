/// A keep-alive HTTP connection to the gateway, with blocking requests, one after another. For the
/// setup and checks beside a measurement.
final class HTTPConnection {
    struct Response {
        let status: Int
        let body: [UInt8]
    }

    private let endpoint: Endpoint
    private let socket: Socket
    private let standing: String
    private var input: [UInt8] = []
    private var deadline: Nanoseconds = 0
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameter key: the API key, if the listener requires one.
    /// - Throws: `BenchError.failure` if nobody listens.
    convenience init(port: Int, key: String? = nil) throws(BenchError) {
        try self.init(.loopback(port), key: key)
    }

    /// - Parameter key: the API key, if the listener requires one.
    /// - Throws: `BenchError.failure` if nobody listens.
    init(_ endpoint: Endpoint, key: String? = nil) throws(BenchError) {
        self.endpoint = endpoint
        socket = try Socket(endpoint)
        socket.limitBlocking()
        standing = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    }

    /// - Throws: `BenchError.failure` if no complete answer comes.
    func send(
        _ method: String, _ path: String, _ body: [UInt8] = []
    ) throws(BenchError) -> Response {
        let head = """
            \(method) \(path) HTTP/1.1\r\nHost: \(endpoint.authority)\r\n\(standing)\
            Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n
            """
        var request = Array(head.utf8) + body
        while !request.isEmpty {
            try Interruption.check()
            request.removeFirst(try socket.write(request))
        }
        return try response()
    }

    private static let patience: Nanoseconds = 60 * Clock.second
    private static let endOfHead = Pattern("\r\n\r\n")

    private func response() throws(BenchError) -> Response {
        input = []
        deadline = Clock.now() + Self.patience
        var end = Bytes.find(Self.endOfHead, in: input.span)
        while end == nil {
            try fill()
            end = Bytes.find(Self.endOfHead, in: input.span)
        }
        let start = (end ?? 0) + Self.endOfHead.count
        let lines = String(decoding: input[..<start], as: UTF8.self).lowercased()
            .split(whereSeparator: \.isNewline)
        let words = lines.first?.split(separator: " ") ?? []
        let name = "content-length:"
        let length = lines.first { $0.hasPrefix(name) }
            .flatMap { Int($0.dropFirst(name.count).filter { $0 != " " }) }
        guard words.count > 1, let status = Int(words[1]), let length else {
            throw .failure("reading an HTTP answer: no status or no length")
        }
        while input.count < start + length { try fill() }
        return Response(status: status, body: Array(input[start..<(start + length)]))
    }

    private func fill() throws(BenchError) {
        try Interruption.check()
        guard Clock.now() < deadline else {
            throw .failure("waiting for an HTTP answer: none after a minute")
        }
        guard let count = try socket.read(into: &buffer) else { return }
        input += buffer[..<count]
    }
}
