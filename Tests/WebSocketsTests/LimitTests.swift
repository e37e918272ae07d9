import Glibc
import Testing

@testable import WebSockets

/// Peers that are slow on purpose. The limits here are short, and the tests wait for the server to
/// act, however long it takes.
@Suite struct LimitTests {
    private var limits: ServerLimits {
        var limits = ServerLimits()
        limits.handshakeTimeout = .milliseconds(400)
        limits.bodyTimeout = .milliseconds(400)
        limits.keepAliveTimeout = .milliseconds(400)
        limits.stallTimeout = .milliseconds(400)
        return limits
    }

    @Test func whoSaysNothingIsDropped() throws {
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        #expect(try client.isEnded())
        #expect(server.onLoop { $0.echo.closed.isEmpty })
    }

    /// The time for a head is one for all of it: a byte now and then does not prolong it.
    @Test(arguments: [
        "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nX-Padding: ",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n",
    ])
    func whoSendsAByteNowAndThenIsDropped(start: String) throws {
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        try client.send(start)
        var sent = 0
        while sent < 1000 {
            usleep(20_000)
            guard (try? client.send([120])) != nil else { break }
            sent += 1
        }
        #expect(sent < 1000)
        #expect(server.onLoop { $0.echo.requests.isEmpty })
    }

    @Test func whoKeepsAConnectionWithoutAskingIsDropped() throws {
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveResponse().status == 200)
        #expect(try client.isEnded())
    }

    @Test func whoDoesNotReadItsResponseIsDropped() throws {
        let server = try TestServer(limits: limits)
        server.onLoop { $0.echo.largeBody = [UInt8](repeating: 120, count: 20_000_000) }
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(server.eventually { $0.echo.requests.count == 1 })
        #expect(server.eventually { $0.server.connectionCount == 0 })
        #expect(client.descriptor >= 0)
    }

    /// A byte now and then does not prolong the time that an answer has in all.
    @Test func whoReadsItsResponseSlowlyIsDropped() throws {
        var limits = limits
        limits.stallTimeout = .seconds(600)
        limits.answerTimeout = .milliseconds(400)
        let server = try TestServer(limits: limits)
        server.onLoop { $0.echo.largeBody = [UInt8](repeating: 120, count: 20_000_000) }
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(server.eventually { $0.echo.requests.count == 1 })
        let end = ContinuousClock.now + .seconds(10)
        var byte: UInt8 = 0
        while ContinuousClock.now < end, server.onLoop({ $0.server.connectionCount > 0 }) {
            _ = recv(client.descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            usleep(2000)
        }
        #expect(server.onLoop { $0.server.connectionCount == 0 })
    }

    @Test func anOpenWebSocketAndAWaitingRequestHaveNoDeadline() throws {
        let server = try TestServer(limits: limits)
        let socket = try RawClient(port: server.port)
        try socket.upgrade()
        let waiting = try RawClient(port: server.port)
        try waiting.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        // A silent third connection ends later than either of them would.
        for _ in 0..<3 {
            let silent = try RawClient(port: server.port)
            #expect(try silent.isEnded())
        }
        try socket.sendText("still here")
        #expect(try socket.receiveFrame().text == "still here")
        server.onLoop { $0.echo.waiting[0].respond(HTTPResponse(status: 200)) }
        #expect(try waiting.receiveResponse().status == 200)
    }
}
