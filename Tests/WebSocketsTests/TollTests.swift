import Glibc
import Testing

@testable import WebSockets

/// Frames that nobody else charges for cost their sender, and nobody else.
@Suite struct TollTests {
    /// Frames that say nothing, each sent far more often than its peer may.
    static let floods: [(name: String, first: [UInt8], frame: [UInt8])] = [
        ("pings", [], RawClient.masked(9, [])),
        ("pongs", [], RawClient.masked(10, [])),
        (
            "fragments", RawClient.masked(1, [], isFinal: false),
            RawClient.masked(0, [], isFinal: false)
        ),
    ]

    @Test(arguments: floods.indices)
    func aFloodOfFreeFramesStaysWithItsSenderAndOthersAreHeard(row: Int) throws {
        let flood = Self.floods[row]
        let server = try TestServer()
        let bystander = try RawClient(port: server.port)
        try bystander.upgrade()
        let flooder = try RawClient(port: server.port)
        try flooder.upgrade()
        try flooder.send(flood.first)
        // More than all buffers on the way hold: what is not read can't be sent.
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(flooder.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
        let piece = (0..<10_000).flatMap { _ in flood.frame }
        #expect(throws: RawClient.Failure.self, "\(flood.name)") {
            for _ in 0..<400 { try flooder.send(piece) }
        }
        for number in 0..<20 {
            try bystander.sendText("\(number)")
            #expect(try bystander.receiveFrame().text == "\(number)")
        }
        #expect(server.onLoop { $0.echo.pongs } < 2000)
    }

    @Test func whatIsTooMuchAtOnceIsAnsweredLater() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        let count = Toll.burst + 2 * Toll.perSecond
        let pings = (0..<count).flatMap { RawClient.masked(9, [UInt8($0 & 0xFF)]) }
        try client.send(pings + RawClient.masked(1, [97]))
        for number in 0..<count {
            #expect(try client.receiveFrame() == .init(opcode: 10, payload: [UInt8(number & 0xFF)]))
        }
        #expect(try client.receiveFrame().text == "a")
    }

    @Test func requestsThatNobodyChargesAreSlowed() throws {
        let server = try TestServer()
        server.onLoop { $0.echo.admission = .accept(bodyLimit: 0, isFree: true) }
        let client = try RawClient(port: server.port)
        let count = Toll.burst + 2 * Toll.perSecond
        let requests = (0..<count).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
        try client.send(requests.joined())
        #expect(server.eventually { $0.echo.requests.count >= Toll.burst })
        #expect(server.onLoop { $0.echo.requests.count } < count)
        for number in 0..<count {
            #expect(try client.receiveResponse().body == Array("GET /\(number) - ".utf8))
        }
    }

    @Test(arguments: [(4, 200), (5, 400), (50_000, 400)])
    func emptyLinesBeforeARequestAreFew(count: Int, status: Int) throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(String(repeating: "\r\n", count: count))
        // What comes behind a refusal may find the door closed.
        try? client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try client.receiveResponse().status == status)
    }

    /// After the last word to a peer its input is only dropped, which is not for free either.
    @Test func whoGoesOnSendingAfterARefusalIsHardlyRead() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(String(repeating: "\r\n", count: 10))
        #expect(try client.receiveResponse().status == 400)
        var limit = timeval(tv_sec: 0, tv_usec: 100_000)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(client.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
        let piece = [UInt8](repeating: 0x0A, count: 60_000)
        var sent = 0
        let began = ContinuousClock.now
        // It is some gigabytes otherwise; buffers on the way hold a few megabytes.
        while ContinuousClock.now - began < .seconds(2), sent < 200 << 20 {
            if (try? client.send(piece)) != nil { sent += piece.count }
        }
        #expect(sent < 60 << 20, "\(sent) bytes were read")
    }

    @Test func whoGoesOnSendingAfterOurCloseFrameIsSlowed() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.upgrade()
        try client.sendText("hello")
        _ = try client.receiveFrame()
        let socket = server.onLoop { $0.echo.open[0] }
        server.onLoop { $0.server.close(socket, code: 3000, reason: "enough") }
        #expect(try client.receiveFrame().closeCode == 3000)
        let frame = RawClient.masked(2, [1])
        try client.send((0..<Toll.burst + 10).flatMap { _ in frame })
        #expect(server.eventually { $0.server.connections[socket]?.isThrottled == true })
    }

    @Test func oneRequestTooManyIsAnsweredWith503AndClosed() throws {
        var limits = ServerLimits()
        limits.httpConnections = 2
        let server = try TestServer(limits: limits)
        let waiting = try (0..<2).map { _ in try RawClient(port: server.port) }
        // One after the other: the first that waits is answered below.
        for (at, client) in waiting.enumerated() {
            try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(server.eventually { $0.echo.waiting.count == at + 1 })
        }
        let third = try RawClient(port: server.port)
        try third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        let refusal = try third.receiveResponse()
        #expect(refusal.status == 503 && refusal.head.contains("Retry-After: 1\r\n"))
        #expect(String(decoding: refusal.body, as: UTF8.self).contains("limits.http_connections"))
        #expect(try third.isEnded())
        // An upgrade is no request of this kind.
        try RawClient(port: server.port).upgrade()
        server.onLoop { $0.echo.waiting[0].respond(HTTPResponse(status: 200)) }
        #expect(try waiting[0].receiveResponse().status == 200)
        let fourth = try RawClient(port: server.port)
        try fourth.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try fourth.receiveResponse().status == 200)
    }

    /// Strangers have half of the requests under way, and known callers have the rest.
    @Test func strangersKeepNobodyOutWhoIsKnown() throws {
        var limits = ServerLimits()
        limits.httpConnections = 4
        let server = try TestServer(limits: limits)
        func ask(asStranger isStranger: Bool) throws -> RawClient {
            server.onLoop { $0.echo.admission = .accept(bodyLimit: 0, isFree: isStranger) }
            let client = try RawClient(port: server.port)
            try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
            return client
        }
        var clients: [RawClient] = []
        for count in 1...2 {
            clients.append(try ask(asStranger: true))
            #expect(server.eventually { $0.echo.waiting.count == count })
        }
        #expect(try ask(asStranger: true).receiveResponse().status == 503)
        for count in 3...4 {
            clients.append(try ask(asStranger: false))
            #expect(server.eventually { $0.echo.waiting.count == count })
        }
        #expect(try ask(asStranger: false).receiveResponse().status == 503)
        server.onLoop { $0.echo.waiting[0].respond(HTTPResponse(status: 200)) }
        #expect(try clients[0].receiveResponse().status == 200)
        #expect(server.eventually { $0.server.requestsUnderWay == 3 })
        clients.append(try ask(asStranger: true))
        #expect(server.eventually { $0.echo.waiting.count == 5 })
    }

    @Test func whatIsNotLetInIsAnsweredBeforeItsBodyCame() throws {
        let server = try TestServer()
        server.onLoop { $0.echo.admission = .refuse(HTTPResponse(status: 401)) }
        let client = try RawClient(port: server.port)
        try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n")
        #expect(try client.receiveResponse().status == 401)
        #expect(try client.isEnded())
        #expect(server.onLoop { $0.echo.requests.isEmpty })
    }
}
