import Testing

@testable import WebSockets

@Suite struct HTTPRequestHeadTests {
    private func parse(
        _ text: String, fieldLimit: Int = 100
    ) throws(HTTPRequestHead.Refusal) -> HTTPRequestHead {
        try HTTPRequestHead(Array(text.utf8)[...], fieldLimit: fieldLimit)
    }

    @Test func pathAndQueryStayAsTheyCame() throws {
        let head = try parse(
            "GET /v1/conversations/a%2Fb+c//..%00?after=id%3A1&x=a+b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(head.path == "/v1/conversations/a%2Fb+c//..%00")
        #expect(head.query == "after=id%3A1&x=a+b")
    }

    @Test func anAbsoluteTargetIsItsPath() throws {
        let head = try parse("GET http://example.org:80/a?b HTTP/1.1\r\nHost: example.org\r\n\r\n")
        #expect(head.path == "/a")
        #expect(head.query == "b")
        let root = try parse("GET HTTP://example.org HTTP/1.1\r\nHost: example.org\r\n\r\n")
        #expect(root.path == "/")
    }

    @Test func headersAreFoundInAnyCaseAndJoined() throws {
        let head = try parse(
            "GET / HTTP/1.1\r\nhOsT: h\r\nX-A: \t 1 \r\nx-a:2\r\nEmpty:\r\n\r\n")
        #expect(head.headers["X-a"] == "1, 2")
        #expect(head.headers["empty"] == "")
        #expect(head.headers["absent"] == nil)
    }

    @Test func theConnectionFieldDecidesWhetherItIsKept() throws {
        #expect(try parse("GET / HTTP/1.1\r\nHost: h\r\n\r\n").keepsAlive)
        #expect(try !parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").keepsAlive)
        #expect(try !parse("GET / HTTP/1.0\r\n\r\n").keepsAlive)
        #expect(try parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keepsAlive)
    }

    static let refused: [(text: String, status: Int)] = [
        ("\r\n", 400),
        ("GET / HTTP/1.1\nHost: h\r\n\r\n", 400),
        ("GET /\r\nHost: h\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET index HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /\u{7F} HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /é HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\nY: b\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n",
            400
        ),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\n\r\n", 417),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", 431),
    ]

    @Test(arguments: refused)
    func aHeadThatCouldBeReadInTwoWaysIsRefused(_ refused: (text: String, status: Int)) {
        var status: Int?
        do {
            _ = try parse(refused.text, fieldLimit: 3)
        } catch {
            status = error.status
        }
        #expect(status == refused.status)
    }

    @Test func theEndOfAHeadIsFoundWhereverItIsCut() {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\nrest".utf8)
        let end = bytes.count - 4
        for cut in 0...bytes.count {
            let found = HTTPRequestHead.end(in: Array(bytes[..<cut]), searched: 0)
            #expect(found == (cut >= end ? end : nil))
            #expect(HTTPRequestHead.end(in: bytes, searched: min(cut, end - 1)) == end)
        }
    }

    @Test func theAcceptanceIsThatOfTheStandard() {
        // The example of RFC 6455 1.3.
        let acceptance = Handshake.acceptance(of: "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(acceptance == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func aHeaderWithALineEndIsNotSent() {
        let response = HTTPResponse(
            status: 200, headers: [.init("X", "a\r\nSet-Cookie: b"), .init("Y", "ok")])
        let head = String(
            decoding: response.head(date: "now", connection: nil), as: UTF8.self)
        #expect(!head.contains("Set-Cookie"))
        #expect(head.contains("Y: ok\r\n"))
    }

    @Test func theDateIsInTheFormOfTheStandard() {
        var date = DateField()
        #expect(date.value(at: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
