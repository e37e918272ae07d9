import Testing

@testable import WebSockets

@Suite struct BackPressureTests {
    /// Sends numbered frames until the socket is blocked. Returns how many were taken.
    private func fill(_ server: TestServer, payload: Int, from first: Int = 0) -> Int {
        server.onLoop { server in
            var buffer = SendBuffer()
            var number = first
            while number < 1_000_000 {
                buffer.removeAll()
                var bytes = Array("\(number) ".utf8)
                bytes += [UInt8](repeating: 46, count: max(0, payload - bytes.count))
                buffer.append(Frame.frame(.binary, bytes))
                number += 1
                if server.server.send(server.echo.open[0], &buffer) != .sent { break }
            }
            return number
        }
    }

    private func number(of frame: RawClient.ReceivedFrame) -> Int? {
        Int(String(decoding: frame.payload.prefix { $0 != 32 }, as: UTF8.self))
    }

    @Test(arguments: [200, 5000, 700_000])
    func aSlowReaderLosesNoByte(payload: Int) throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        var expected = 0
        for _ in 0..<3 {
            let end = fill(server, payload: payload, from: expected)
            #expect(server.onLoop { $0.server.isBlocked($0.echo.open[0]) })
            #expect(server.onLoop { $0.server.unsentBytes($0.echo.open[0]) } > 0)
            while expected < end {
                let frame = try client.receiveFrame()
                guard number(of: frame) == expected, frame.payload.count == payload else {
                    Issue.record("frame \(expected) of \(payload) bytes is not what came")
                    return
                }
                expected += 1
            }
            #expect(server.eventually { !$0.server.isBlocked($0.echo.open[0]) })
            #expect(server.onLoop { $0.server.unsentBytes($0.echo.open[0]) } == 0)
        }
        #expect(server.eventually { $0.echo.writable.count == 3 })
        #expect(client.descriptor >= 0 && expected > 3)
    }

    private func throttled() throws -> (TestServer, RawClient) {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        server.onLoop { $0.server.throttle($0.echo.open[0], true) }
        return (server, client)
    }

    @Test func aThrottledPeerIsReadLaterAndLosesNothing() throws {
        let (server, client) = try throttled()
        try client.sendText("one")
        try client.sendText("two")
        // Another connection is served meanwhile, and what was sent before it would have been read.
        let other = try RawClient(port: server.port)
        try other.upgrade()
        try other.sendText("other")
        #expect(try other.receiveFrame().payload == Array("other".utf8))
        #expect(server.onLoop { $0.echo.messages } == [Array("other".utf8)])
        server.onLoop { $0.server.throttle($0.echo.open[0], false) }
        #expect(try client.receiveFrame().payload == Array("one".utf8))
        #expect(try client.receiveFrame().payload == Array("two".utf8))
    }

    @Test func whatWasReadWithTheLastWordOfAThrottledPeerWaits() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        server.onLoop { $0.echo.stopWord = Array("stop".utf8) }
        let words = ["one", "stop", "two", "stop", "three"]
        // In one piece, so that they are read as one.
        try client.send(words.flatMap { RawClient.masked(0x1, Array($0.utf8)) })
        for heard in [2, 4, 5] {
            #expect(server.eventually { $0.echo.messages.count == heard })
            #expect(
                server.onLoop { $0.echo.messages } == words.prefix(heard).map { Array($0.utf8) })
            server.onLoop { $0.server.throttle($0.echo.open[0], false) }
        }
        for word in words { #expect(try client.receiveFrame().payload == Array(word.utf8)) }
    }

    @Test func aThrottledPeerIsClosedAsAnother() throws {
        let (server, client) = try throttled()
        server.onLoop { $0.server.close($0.echo.open[0], code: 3000, reason: "") }
        #expect(try client.receiveFrame().opcode == 0x8)
        try client.sendFrame(0x8, [0x0b, 0xb8])
        #expect(server.eventually { $0.echo.open.isEmpty })
    }

    @Test func theCountOfAcknowledgedBytesRisesOnlyWhileSomebodyReads() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        let count = fill(server, payload: 50_000)
        let acknowledged: @Sendable (TestServer) -> UInt64 = {
            $0.server.acknowledgedBytes($0.echo.open[0])
        }
        // However long nobody reads: there is no room for the rest.
        let all = UInt64(count * 50_000)
        #expect(server.onLoop(acknowledged) < all)
        for _ in 0..<count { _ = try client.receiveFrame() }
        #expect(server.eventually { acknowledged($0) > all })
    }

    @Test func aBlockedPeerThatTalksDoesNotKeepTheLoopBusy() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        _ = fill(server, payload: 60_000)
        try client.sendText("are you there?")
        // A loop that was woken by the waiting message again and again would have thousands.
        #expect(server.turns(duringMilliseconds: 200) < 20)
        #expect(server.onLoop { $0.echo.messages.isEmpty })
    }

    @Test func whatIsBufferedGoesOutBeforeTheCloseFrame() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        let count = fill(server, payload: 100_000)
        server.onLoop { $0.server.close($0.echo.open[0], code: 3002, reason: "full") }
        for index in 0..<count { #expect(number(of: try client.receiveFrame()) == index) }
        #expect(try client.receiveFrame().closeCode == 3002)
        try client.sendFrame(8, [0x0B, 0xBA])
        #expect(try client.isEnded())
    }

    @Test func aPeerThatNeverDrainsIsDroppedAfterOurClose() throws {
        var limits = ServerLimits()
        limits.closeTimeout = .milliseconds(300)
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        _ = fill(server, payload: 100_000)
        server.onLoop { $0.server.close($0.echo.open[0], code: 3002, reason: "full") }
        #expect(server.eventually { $0.echo.closed.count == 1 && $0.server.connectionCount == 0 })
        #expect(client.descriptor >= 0)
    }

    @Test func aBlockedPeerThatVanishesIsNoticed() throws {
        let server = try TestServer()
        var client: RawClient? = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client?.upgrade()
        #expect(server.eventually { $0.echo.open.count == 1 })
        _ = fill(server, payload: 100_000)
        client = nil
        #expect(server.eventually { $0.echo.closed.count == 1 })
    }

    @Test func oneBufferGoesToManySockets() throws {
        let server = try TestServer()
        let clients = try (0..<20).map { _ in try RawClient(port: server.port) }
        for client in clients { try client.upgrade() }
        #expect(server.eventually { $0.echo.open.count == 20 })
        server.onLoop { server in
            var buffer = SendBuffer(capacity: 16)
            for number in 0..<100 { buffer.append(Frame.frame(.text, Array("m\(number)".utf8))) }
            for socket in server.echo.open { _ = server.server.send(socket, &buffer) }
        }
        for client in clients {
            for number in 0..<100 { #expect(try client.receiveFrame().text == "m\(number)") }
        }
    }
}
