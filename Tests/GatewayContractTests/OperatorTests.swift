import Foundation
import TestSupport
import Testing

/// The operator's page at `/` of the internal listener, and `/events`, which keeps it up to date.
@Suite(.gateway()) struct OperatorTests {
    /// Somebody who reads `/events`.
    private final class Events {
        private let socket: TCPSocket
        private var text = ""
        private(set) var head = ""

        init(_ port: Int) throws {
            socket = try TCPSocket(port: port)
            let lines = "GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            try socket.write(Array(lines.utf8))
            head = try part(upTo: "\r\n\r\n")
        }

        var status: String? { head.split(separator: " ").dropFirst().first.map(String.init) }

        func part(upTo end: String) throws -> String {
            let deadline = Deadline.standard
            while true {
                if let range = text.range(of: end) {
                    defer { text.removeSubrange(..<range.upperBound) }
                    return String(text[..<range.lowerBound])
                }
                guard !socket.isAtEnd, socket.waitToRead(deadline) else {
                    throw TestFailure(
                        "/events ended, or said nothing, before \(end.debugDescription)")
                }
                text += String(decoding: socket.readAvailable(), as: UTF8.self)
            }
        }

        /// The next event of the name.
        func next(_ name: String) throws -> JSONValue {
            while true {
                let lines = try part(upTo: "\n\n").split(separator: "\n")
                guard lines.first == "event: \(name)", let data = lines.last else { continue }
                return try JSONValue(parsing: Array(data.dropFirst("data: ".count).utf8))
            }
        }
    }

    @Test func thePageComesWithAllThatItNeedsAndAsksNobodyElse() throws {
        let http = try LiveGateway.get().operations()
        let page = try http.send("GET", "/")
        #expect(page.status == 200)
        #expect(page.headers["content-type"] == "text/html; charset=utf-8")
        let policy = page.headers["content-security-policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(!page.text.contains("<style") && !page.text.contains("style="))
        for path in ["/operator.js", "/plots.js", "/tables.js", "/operator.css"] {
            let file = try http.send("GET", path)
            #expect(file.status == 200, "\(path)")
            #expect(!file.text.contains("://") || path == "/plots.js", "\(path)")
            #expect(try http.send("GET", path, headers: ["Host": "evil.example"]).status == 403)
        }
        #expect(try http.send("HEAD", "/").status == 200)
        #expect(try http.send("POST", "/").status == 405)
    }

    @Test(arguments: ["/operator/index.html", "/operator/operator.js", "/operator.js", "/events"])
    func thePublicListenerHasNoneOfIt(path: String) throws {
        #expect(try LiveGateway.get().http().send("GET", path).status == 404)
    }

    private static let now = Shape([
        "at": .moment, "version": .string, "commit": .string, "uptime": .integer(from: 0),
        "status": .word(["ok", "degraded", "down"]), "ready": .bool,
        "troubles": .array(.shape(Shape(["code": .string, "what": .string, "remedy": .string]))),
        "upstream": .object, "clients": .object, "gaps": .object, "process": .object,
        "busiest": .array(
            .shape(
                Shape([
                    "conversation": .id, "watchers": .integer(from: 0), "rate": .number,
                    "accepted": .integer(from: 0), "written": .integer(from: 0),
                    "coalesced": .integer(from: 0),
                ]))),
        "slowest": .array(.object), "limits": .array(.object), "accounting": .object,
        "notices": .array(
            .shape(
                Shape([
                    "at": .moment, "level": .word(["info", "warning", "error"]),
                    "code": .string, "what": .string, "detail": .string,
                    "count": .integer(from: 1), "remedy": .string,
                ]))),
    ])

    @Test func aStreamTellsOfEverythingOnceASecond() throws {
        let gateway = try LiveGateway.get()
        let id = try gateway.conversation(of: ["alice", "bob"])
        let bob = try gateway.client("bob")
        try bob.subscribe(id)
        let events = try Events(gateway.internalPort)
        #expect(events.status == "200")
        #expect(events.head.lowercased().contains("content-type: text/event-stream"))
        #expect(!events.head.lowercased().contains("content-length"))
        #expect(try events.next("hour").array != nil)
        let first = try events.next("now")
        #expect(Self.now.faults(first) == [])
        let message: JSONValue = [
            "id": "m1", "author": "alice", "body": .string(GatewayTrait.secretWord),
        ]
        try gateway.api().post([message], to: id)
        _ = try bob.nextEvent("messages")
        var state = first
        var looks = 0
        while state["busiest"].array?.contains(where: { $0["conversation"] == .string(id) })
            != true
        {
            state = try events.next("now")
            looks += 1
            #expect(!"\(state)".contains(GatewayTrait.secretWord))
            try #require(looks < 20, "the conversation is not shown")
        }
        #expect(state["accounting"]["error"] == 0)
        #expect(state["limits"].array?.contains { $0["key"] == "limits.connections" } == true)
    }

    @Test func aNinthStreamIsRefusedUntilOneOfTheEightEnds() throws {
        // A gateway of its own: others look at the shared one too.
        let gateway = try GatewayProcess()
        var streams = try (0..<8).map { _ in try Events(gateway.internalPort) }
        #expect(streams.allSatisfy { $0.status == "200" })
        let ninth = try HTTPConnection(port: gateway.internalPort).send("GET", "/events")
        #expect(ninth.status == 503 && ninth.json["error"]["code"] == "rate_limited")
        #expect(ninth.headers["retry-after"] == "10")
        streams.removeLast()
        let isAccepted = try Deadline.standard.poll {
            try Events(gateway.internalPort).status == "200"
        }
        #expect(isAccepted)
        // A connected watcher keeps nobody from stopping it.
        #expect(try gateway.terminate() == 0)
    }
}
