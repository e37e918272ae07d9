import Glibc
import Testing
import Wire

@testable import WebSockets

@Suite struct WebSocketTests {
    @Test func aMessageComesBack() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade(path: "/v1/ws?token=abc", extra: "Origin: http://localhost\r\n")
        for size in [0, 1, 125, 126, 65_535, 65_536] {
            let payload = (0..<size).map { UInt8(32 + $0 % 90) }
            try client.sendFrame(1, payload)
            #expect(try client.receiveFrame() == .init(opcode: 1, payload: payload))
            try client.sendFrame(2, payload)
            #expect(try client.receiveFrame() == .init(opcode: 2, payload: payload))
        }
        let request = server.onLoop { $0.echo.upgrades.first }
        #expect(request?.path == "/v1/ws" && request?.query == "token=abc")
        #expect(request?.listener == "public" && request?.remoteAddress == "127.0.0.1")
        #expect(request?.headers["origin"] == "http://localhost")
    }

    @Test func aFragmentedMessageComesBackWhole() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.sendFrame(1, Array("one ".utf8), isFinal: false)
        try client.sendFrame(9, Array("between".utf8))
        try client.sendFrame(0, Array("two ".utf8), isFinal: false)
        try client.sendFrame(0, Array("three".utf8))
        #expect(try client.receiveFrame() == .init(opcode: 10, payload: Array("between".utf8)))
        #expect(try client.receiveFrame().text == "one two three")
    }

    @Test func framesThatComeWithTheHandshakeAreRead() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        let early = RawClient.masked(1, Array("early".utf8)) + RawClient.masked(9, [7])
        try client.send(Array(RawClient.handshake().utf8) + early)
        #expect(try client.receiveHead().hasPrefix("HTTP/1.1 101"))
        #expect(try client.receiveFrame().text == "early")
        #expect(try client.receiveFrame() == .init(opcode: 10, payload: [7]))
    }

    /// A client that comes back asks for all of its conversations at once.
    @Test func whatIsAskedAtOnceComesInOneTurn() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        let requests = (0..<150).map { number in
            RawClient.masked(1, Array("\(number) \(String(repeating: "x", count: 90))".utf8))
        }
        try server.whileLoopWaits { try client.send(requests.flatMap(\.self)) }
        #expect(server.eventually { $0.echo.messages.count == 150 })
        #expect(server.onLoop { $0.echo.messageTurns.count } == 1)
    }

    @Test func aPongIsTold() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        _ = server.onLoop { server in
            var buffer = SendBuffer()
            buffer.append(Frame.ping)
            return server.server.send(server.echo.open[0], &buffer)
        }
        #expect(try client.receiveFrame() == .init(opcode: 9, payload: []))
        try client.sendFrame(10, [])
        #expect(server.eventually { $0.echo.pongs == 1 })
    }

    static let faults: [FrameDecoderTests.Broken] = [
        .init("unmasked", [0x81, 0x01, 0x61], 1002),
        .init("invalid UTF-8", RawClient.masked(1, [0xFF]), 1007),
        .init("too large", RawClient.masked(2, [UInt8](repeating: 0, count: 200_000)), 1009),
    ]

    @Test(arguments: faults)
    func aFaultClosesWithItsCode(_ fault: FrameDecoderTests.Broken) throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        // The rest of a large frame is on its way when the server has already seen enough; the
        // close frame must still arrive.
        try client.send(fault.bytes)
        let frame = try client.receiveFrame()
        #expect(frame.opcode == 8 && frame.closeCode == fault.code)
        shutdown(client.descriptor, Int32(SHUT_WR))
        #expect(try client.isEnded())
        #expect(server.eventually { $0.echo.closed.count == 1 && $0.server.connectionCount == 0 })
    }

    @Test(arguments: [(1000, nil), (1001, 1009)] as [(Int, UInt16?)])
    func aStrangersFirstMessageHasALimitOfItsOwn(size: Int, code: UInt16?) throws {
        let server = try TestServer(firstFrame: 1000)
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.sendText(String(repeating: "x", count: size))
        let frame = try client.receiveFrame()
        #expect(frame.opcode == (code == nil ? 1 : 8))
        if let code { #expect(frame.closeCode == code) }
    }

    @Test func aLargeMessageBehindTheFirstWaitsUntilTheConnectionIsSomebodys() throws {
        let server = try TestServer(firstFrame: 1000)
        let client = try RawClient(port: server.port)
        try client.upgrade()
        let large = String(repeating: "x", count: 60_000)
        try client.send(
            RawClient.masked(1, Array("connect".utf8)) + RawClient.masked(1, Array(large.utf8))
                + RawClient.masked(1, Array("behind it".utf8)))
        #expect(try client.receiveFrame().text == "connect")
        // Whatever it read by now waits, and none of it is assembled.
        try client.sendFrame(9, [1])
        server.onLoop { server in
            #expect(server.echo.messages.count == 1)
            server.server.connections.forEach {
                #expect($0.isThrottled && $0.decoder.reservedBytes == 0)
            }
            server.server.own(server.echo.open[0], by: "ann".id)
        }
        #expect(try client.receiveFrame().text == large)
        #expect(try client.receiveFrame().text == "behind it")
        #expect(try client.receiveFrame().opcode == 10)
    }

    @Test func aConnectionThatIsRefusedEndsAlthoughALargeMessageWaits() throws {
        let server = try TestServer(firstFrame: 1000)
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.send(
            RawClient.masked(1, Array("connect".utf8))
                + RawClient.masked(1, [UInt8](repeating: 0x78, count: 2000)))
        #expect(try client.receiveFrame().text == "connect")
        server.onLoop { $0.server.close($0.echo.open[0], code: 3500, reason: "refused") }
        #expect(try client.receiveFrame().closeCode == 3500)
        shutdown(client.descriptor, Int32(SHUT_WR))
        #expect(try client.isEnded())
        #expect(server.eventually { $0.echo.closed.count == 1 && $0.server.connectionCount == 0 })
    }

    @Test func thePeersCloseIsAnsweredWithItsCode() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.sendFrame(8, [0x03, 0xE8] + Array("bye".utf8))
        let frame = try client.receiveFrame()
        #expect(frame.opcode == 8 && frame.closeCode == 1000)
        #expect(try client.isEnded())
        #expect(server.eventually { $0.echo.closed.count == 1 })
    }

    @Test func ourCloseWaitsForThePeers() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.sendText("hello")
        _ = try client.receiveFrame()
        server.onLoop { server in
            let socket = server.echo.open[0]
            server.server.close(socket, code: 3000, reason: "draining")
            server.server.close(socket, code: 3001, reason: "a second close does nothing")
        }
        let frame = try client.receiveFrame()
        #expect(frame.closeCode == 3000)
        #expect(Array(frame.payload.dropFirst(2)) == Array("draining".utf8))
        // The server no longer hands on what comes before the answer.
        try client.sendText("too late")
        try client.sendFrame(8, [0x0B, 0xB8])
        #expect(try client.isEnded())
        #expect(server.eventually { $0.echo.closed.count == 1 })
        #expect(server.onLoop { $0.echo.messages.count } == 1)
    }

    @Test func aPeerThatDoesNotAnswerOurCloseIsDropped() throws {
        var limits = ServerLimits()
        limits.closeTimeout = .milliseconds(300)
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        server.onLoop { $0.server.close($0.echo.open[0], code: 3003, reason: "no pong in time") }
        #expect(try client.receiveFrame().closeCode == 3003)
        #expect(try client.isEnded())
        #expect(server.onLoop { $0.echo.closed.count } == 1)
    }

    @Test func terminateEndsAtOnceAndLaterCallsAreIgnored() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        let result = server.onLoop { server -> SendResult in
            let socket = server.echo.open[0]
            server.server.terminate(socket)
            server.server.terminate(socket)
            server.server.close(socket, code: 3000, reason: "")
            var buffer = SendBuffer()
            buffer.append(Frame.ping)
            return server.server.send(socket, &buffer)
        }
        #expect(result == .gone)
        #expect(try client.isEnded())
        #expect(server.eventually { $0.echo.closed.count == 1 })
    }

    @Test func subprotocolsThatAreNotKnownAreIgnored() throws {
        let server = try TestServer()
        let offers: [(String, Bool)] = [
            ("", false), ("Sec-WebSocket-Protocol: gapless.v1\r\n", true),
            ("Sec-WebSocket-Protocol: other, gapless.v1\r\n", true),
            ("Sec-WebSocket-Protocol: other\r\nSec-WebSocket-Protocol: gapless.v1\r\n", true),
            ("Sec-WebSocket-Protocol: other, gapless.v2\r\n", false),
            ("Sec-WebSocket-Protocol: GAPLESS.V1\r\n", false),
        ]
        for (offer, isChosen) in offers {
            let client = try RawClient(port: server.port)
            let head = try client.upgrade(extra: offer)
            #expect(head.contains("Sec-WebSocket-Protocol: gapless.v1\r\n") == isChosen)
            #expect(head.lowercased().contains("sec-websocket-protocol") == isChosen)
            #expect(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            try client.sendText("x")
            #expect(try client.receiveFrame().text == "x")
        }
    }

    @Test func aRefusedUpgradeGetsItsAnswer() throws {
        let server = try TestServer()
        server.onLoop { server in
            server.echo.refusal = HTTPResponse(
                status: 503, headers: [.init("Retry-After", "7")], body: Array("later".utf8))
        }
        let client = try RawClient(port: server.port)
        try client.send(RawClient.handshake())
        let response = try client.receiveResponse()
        #expect(response.status == 503 && response.body == Array("later".utf8))
        #expect(response.head.contains("Retry-After: 7\r\n"))
        #expect(response.head.contains("Connection: close\r\n"))
        #expect(try client.isEnded())
        #expect(server.onLoop { $0.echo.open.isEmpty && $0.echo.closed.isEmpty })
    }

    @Test func aHandshakeThatIsNotSoundIsRefused() throws {
        let server = try TestServer()
        let sound = RawClient.handshake()
        let cases = [
            (sound.replacing("Version: 13", with: "Version: 8"), 426),
            (sound.replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "dGhlIHNhbXBsZQ=="), 400),
            (sound.replacing("Sec-WebSocket-Key", with: "Sec-WebSocket-Kez"), 400),
            (sound.replacing("Host:", with: "Hostess:"), 400),
            (sound.replacing("Host:", with: "Content-Length: 1\r\nHost:"), 400),
            (sound.replacing("Host:", with: "Transfer-Encoding: chunked\r\nHost:"), 400),
        ]
        for (text, status) in cases {
            let client = try RawClient(port: server.port)
            try client.send(text)
            #expect(try client.receiveResponse().status == status)
        }
    }

    @Test func aThousandConnectionsComeAndGo() throws {
        let server = try TestServer()
        let port = server.port
        for round in 0..<20 {
            var clients: [RawClient] = []
            for _ in 0..<50 { clients.append(try RawClient(port: port)) }
            for (index, client) in clients.enumerated() {
                try client.upgrade()
                try client.sendText("\(round)-\(index)")
            }
            for (index, client) in clients.enumerated() {
                #expect(try client.receiveFrame().text == "\(round)-\(index)")
            }
        }
        #expect(
            server.eventually { $0.echo.closed.count == 1000 && $0.server.connectionCount == 0 })
        #expect(server.onLoop { Set($0.echo.closed).count } == 1000)
    }
}
