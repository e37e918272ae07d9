import Glibc

/// A blocking TCP client that sends exactly the bytes it is told, well-formed or not. Every wait
/// has a limit, after which the test fails and does not hang.
final class RawClient {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    struct ReceivedFrame: Equatable {
        var opcode: UInt8
        var payload: [UInt8]

        var text: String { String(decoding: payload, as: UTF8.self) }
        var closeCode: UInt16? {
            payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
        }
    }

    struct Response {
        var status: Int
        var head: String
        var body: [UInt8]
    }

    let descriptor: Int32
    private var buffer: [UInt8] = []

    /// - Parameter receiveBuffer: a small one makes a slow reader slow sooner.
    init(port: UInt16, address: String = "127.0.0.1", receiveBuffer: Int32? = nil) throws {
        let isV6 = address.contains(":")
        descriptor = socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        let result: Int32
        if isV6 {
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port.bigEndian
            inet_pton(AF_INET6, address, &target.sin6_addr)
            result = Self.connect(descriptor, &target)
        } else {
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            inet_pton(AF_INET, address, &target.sin_addr)
            result = Self.connect(descriptor, &target)
        }
        guard result == 0 else {
            throw Failure(description: "connect: errno \(errno)")
        }
    }

    deinit { close(descriptor) }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    // MARK: Bytes

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(description: "send: errno \(errno)") }
            sent += count
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Reads once. Returns false at the end of the stream, or where the peer has reset it.
    private func fill() throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        var count = 0
        repeat {
            count = recv(descriptor, &chunk, chunk.count, 0)
        } while count < 0 && errno == EINTR
        if count > 0 {
            buffer.append(contentsOf: chunk[..<count])
            return true
        }
        if count == 0 || errno == ECONNRESET { return false }
        throw Failure(description: "recv: errno \(errno), \(buffer.count) bytes waiting")
    }

    func receive(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            guard try fill() else {
                throw Failure(description: "closed at \(buffer.count) of \(count) bytes")
            }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    /// Everything to the end of the stream.
    func receiveToEnd() throws -> [UInt8] {
        while try fill() {}
        defer { buffer = [] }
        return buffer
    }

    /// Whether the server has ended the connection, with nothing more to say.
    func isEnded() throws -> Bool { try receiveToEnd().isEmpty }

    func receiveHead() throws -> String {
        let end = Array("\r\n\r\n".utf8)
        var from = 0
        while true {
            while from + 4 <= buffer.count {
                if buffer[from] == 0x0D, Array(buffer[from..<from + 4]) == end {
                    return String(decoding: try receive(from + 4), as: UTF8.self)
                }
                from += 1
            }
            guard try fill() else {
                throw Failure(description: "closed in a head of \(buffer.count) bytes")
            }
        }
    }

    func receiveResponse(toHEAD: Bool = false) throws -> Response {
        let head = try receiveHead()
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        var length = 0
        for line in head.lowercased().split(separator: "\r\n")
        where line.hasPrefix("content-length:") {
            length = Int(line.dropFirst(15).drop { $0 == " " }) ?? 0
        }
        return Response(
            status: status, head: head, body: toHEAD ? [] : try receive(length))
    }

    // MARK: WebSocket

    static func handshake(path: String = "/v1/ws", extra: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            + extra + "\r\n"
    }

    @discardableResult
    func upgrade(path: String = "/v1/ws", extra: String = "") throws -> String {
        try send(Self.handshake(path: path, extra: extra))
        let head = try receiveHead()
        guard head.hasPrefix("HTTP/1.1 101 ") else {
            throw Failure(description: "not upgraded: \(head.prefix(40))")
        }
        return head
    }

    static func masked(
        _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true,
        mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    ) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ...125: bytes.append(0x80 | UInt8(payload.count))
        case ...0xFFFF:
            bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(payload.count >> shift & 0xFF))
            }
        }
        bytes += mask
        bytes += payload.enumerated().map { $1 ^ mask[$0 & 3] }
        return bytes
    }

    func sendFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) throws {
        try send(Self.masked(opcode, payload, isFinal: isFinal))
    }

    func sendText(_ text: String) throws { try sendFrame(0x1, Array(text.utf8)) }

    func receiveFrame() throws -> ReceivedFrame {
        let start = try receive(2)
        var length = Int(start[1])
        if length == 126 {
            length = try receive(2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try receive(8).reduce(0) { $0 << 8 | Int($1) }
        }
        return ReceivedFrame(opcode: start[0] & 0x0F, payload: try receive(length))
    }
}
