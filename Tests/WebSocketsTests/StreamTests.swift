import Testing

@testable import WebSockets

/// Answers without an end, as `/events` of the gateway is one.
@Suite struct StreamTests {
    private func begin(_ server: TestServer) throws -> RawClient {
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        let head = try client.receiveHead().lowercased()
        #expect(head.hasPrefix("http/1.1 200 ") && head.contains("connection: close\r\n"))
        #expect(!head.contains("content-length"))
        return client
    }

    @Test func whoTakesItGetsEveryPieceWhole() throws {
        let server = try TestServer()
        let client = try begin(server)
        for number in 0..<100 {
            let piece = Array("piece \(number);".utf8)
            server.onLoop { $0.server.stream(piece, to: $0.echo.streams[0]) }
            #expect(try client.receive(piece.count) == piece)
        }
        #expect(server.onLoop { $0.server.isStreaming($0.echo.streams[0]) })
    }

    @Test func whoTakesNothingMissesPiecesAndIsGivenUp() throws {
        var limits = ServerLimits()
        limits.stallTimeout = .seconds(2)
        let server = try TestServer(limits: limits)
        let client = try begin(server)
        let piece = [UInt8](repeating: 46, count: 1 << 20)
        let waiting = server.onLoop { server in
            let socket = server.echo.streams[0]
            var sent = 0
            while server.server.takesPiece(socket), sent < 1000 {
                server.server.stream(piece, to: socket)
                sent += 1
            }
            let before = server.server.unsentBytes(socket)
            for _ in 0..<100 { server.server.stream(piece, to: socket) }
            return (before, server.server.unsentBytes(socket))
        }
        #expect(waiting.0 > 0 && waiting.0 == waiting.1)
        #expect(server.eventually { !$0.server.isStreaming($0.echo.streams[0]) })
        #expect(client.descriptor >= 0)
    }

    @Test func whoGoesIsGone() throws {
        let server = try TestServer()
        do {
            let client = try begin(server)
            #expect(server.onLoop { $0.server.isStreaming($0.echo.streams[0]) })
            #expect(client.descriptor >= 0)
        }
        #expect(server.eventually { !$0.server.isStreaming($0.echo.streams[0]) })
    }

    @Test func aHeadHasAnEnd() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(
            "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.receiveHead().hasPrefix("HTTP/1.1 200 "))
        #expect(try client.receiveHead().hasPrefix("HTTP/1.1 200 "))
        #expect(server.onLoop { $0.echo.streams.isEmpty })
    }
}
