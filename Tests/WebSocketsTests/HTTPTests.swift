import Glibc
import Testing

@testable import WebSockets

@Suite struct HTTPTests {
    private func request(
        _ method: String, _ path: String, headers: String = "", body: String = ""
    ) -> String {
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        return "\(method) \(path) HTTP/1.1\r\nHost: h\r\n\(headers)\(length)\r\n\(body)"
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    func aRequestIsAnswered(method: String) throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        for _ in 0..<3 {
            try client.send(request(method, "/a%2Fb?c=d+e", body: "text"))
            let response = try client.receiveResponse()
            #expect(response.status == 200)
            #expect(response.body == Array("\(method) /a%2Fb c=d+e text".utf8))
            #expect(response.head.contains("\r\nDate: ") && !response.head.contains("Connection"))
        }
        #expect(server.onLoop { $0.server.connectionCount } == 1)
    }

    @Test func aHEADHasTheLengthAndNoBody() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(request("HEAD", "/x") + request("GET", "/empty") + request("GET", "/y"))
        let head = try client.receiveResponse(toHEAD: true)
        #expect(head.head.contains("Content-Length: 10\r\n"))
        let empty = try client.receiveResponse()
        #expect(empty.status == 204 && !empty.head.contains("Content-Length"))
        #expect(try client.receiveResponse().body == Array("GET /y - ".utf8))
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        var text = ""
        for number in 0..<500 { text += request("POST", "/\(number)", body: "b\(number)") }
        try client.send(text)
        for number in 0..<500 {
            #expect(try client.receiveResponse().body == Array("POST /\(number) - b\(number)".utf8))
        }
    }

    @Test func aLaterAnswerKeepsItsPlace() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(request("GET", "/later") + request("GET", "/next"))
        #expect(server.eventually { $0.echo.waiting.count == 1 })
        try client.send(request("GET", "/last"))
        #expect(server.onLoop { $0.echo.requests.count } == 1)
        server.onLoop { server in
            server.echo.waiting[0].respond(HTTPResponse(status: 201, body: [49]))
            server.echo.waiting[0].respond(HTTPResponse(status: 202, body: [50]))
        }
        #expect(try client.receiveResponse().status == 201)
        #expect(try client.receiveResponse().body == Array("GET /next - ".utf8))
        #expect(try client.receiveResponse().body == Array("GET /last - ".utf8))
    }

    @Test func theAnswerToAConnectionThatIsGoneIsDropped() throws {
        let server = try TestServer()
        var client: RawClient? = try RawClient(port: server.port)
        try client?.send(request("GET", "/later"))
        #expect(server.eventually { $0.echo.waiting.count == 1 })
        client = nil
        // A client that has only said all that it has to say is still owed the answer. Until then
        // nobody can tell it from one that is gone.
        server.onLoop { $0.echo.waiting[0].respond(HTTPResponse(status: 200)) }
        #expect(server.eventually { $0.server.connectionCount == 0 })
    }

    @Test func requestsCutAnywhereAreRead() throws {
        let server = try TestServer()
        let text = Array(request("POST", "/cut", body: "body").utf8)
        let client = try RawClient(port: server.port)
        for cut in 1..<text.count {
            try client.send(Array(text[..<cut]))
            try client.send(Array(text[cut...]))
            #expect(try client.receiveResponse().body == Array("POST /cut - body".utf8))
        }
    }

    static let refused: [(text: String, status: Int)] = [
        ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        ("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("nonsense\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\nab", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n", 413),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
                + String(repeating: "X: \(String(repeating: "x", count: 200))\r\n", count: 100), 400
        ),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "0\r\n\r\n", 400
        ),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000001\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
        (String(repeating: "G", count: 20_000), 431),
    ]

    @Test(arguments: refused)
    func whatIsRefusedIsAnsweredAndClosed(_ refused: (text: String, status: Int)) throws {
        var limits = ServerLimits()
        limits.httpBody = 1_000_000
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        try client.send(refused.text)
        let response = try client.receiveResponse()
        #expect(response.status == refused.status)
        #expect(response.head.contains("Connection: close\r\n"))
        #expect(try client.isEnded())
        #expect(server.onLoop { $0.echo.requests.isEmpty })
    }

    @Test func aBodyAboveTheLimitIsRefusedWhileItIsStillBeingSent() throws {
        var limits = ServerLimits()
        limits.httpBody = 1000
        let server = try TestServer(limits: limits)
        let client = try RawClient(port: server.port)
        try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n")
        try client.send([UInt8](repeating: 120, count: 3_000_000))
        #expect(try client.receiveResponse().status == 413)
        #expect(try client.isEnded())
    }

    @Test func aBodyInChunksIsReadHoweverItComes() throws {
        let server = try TestServer()
        let text =
            "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
            + "4\r\nbody\r\n00A;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
            + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"
        let bytes = Array(text.utf8)
        let client = try RawClient(port: server.port)
        for cut in 1..<bytes.count {
            try client.send(Array(bytes[..<cut]))
            try client.send(Array(bytes[cut...]))
            #expect(try client.receiveResponse().body == Array("POST /c - body0123456789".utf8))
            #expect(try client.receiveResponse().body == Array("GET /next - ".utf8))
        }
    }

    @Test func aPeerThatWaitsForAWordGetsIt() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send(
            "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.receiveHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send("body")
        #expect(try client.receiveResponse().body == Array("POST /e - body".utf8))
    }

    @Test func aLargeResponseArrivesWhole() throws {
        let server = try TestServer()
        let large = (0..<9_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        server.onLoop { $0.echo.largeBody = large }
        let client = try RawClient(port: server.port, receiveBuffer: 16_384)
        try client.send(request("GET", "/large") + request("GET", "/after"))
        let response = try client.receiveResponse()
        #expect(response.body == large)
        #expect(try client.receiveResponse().body == Array("GET /after - ".utf8))
        try client.send(request("GET", "/large", headers: "Connection: close\r\n"))
        #expect(try client.receiveResponse().body == large)
        #expect(try client.isEnded())
    }

    @Test func oldClientsAreServed() throws {
        let server = try TestServer()
        let kept = try RawClient(port: server.port)
        try kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n")
        #expect(try kept.receiveResponse().head.contains("Connection: keep-alive\r\n"))
        #expect(try kept.receiveResponse().head.contains("Connection: close\r\n"))
        #expect(try kept.isEnded())
    }

    @Test func aListenerAnswersOnlyWhatItServes() throws {
        let sockets = try TestServer(serves: .webSockets)
        let plain = try RawClient(port: sockets.port)
        try plain.send(request("GET", "/"))
        let response = try plain.receiveResponse()
        #expect(response.status == 426 && response.head.contains("Upgrade: websocket\r\n"))

        let http = try TestServer(serves: .http)
        let upgrading = try RawClient(port: http.port)
        try upgrading.send(RawClient.handshake())
        #expect(try upgrading.receiveResponse().body == Array("GET /v1/ws - ".utf8))
    }
}
