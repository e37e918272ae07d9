import TestSupport
import Testing

/// What strangers may cost: nothing that others would notice.
@Suite struct DoorTests {
    @Suite(.gateway(), .serialized)
    struct Strangers {
        /// What the gateway says before the body has come, and whether it closes.
        private func answer(_ head: [UInt8]) throws -> (text: String, isClosed: Bool) {
            let socket = try TCPSocket(port: LiveGateway.get().port)
            try socket.write(head)
            var bytes: [UInt8] = []
            let deadline = Deadline.after(.seconds(10))
            while !socket.isAtEnd, socket.waitToRead(deadline) { bytes += socket.readAvailable() }
            return (String(decoding: bytes, as: UTF8.self), socket.isAtEnd)
        }

        @Test(
            arguments: [
                ("/v1/conversations/c/messages", nil), ("/v1/heads", "wrong-key-0123456789"),
                ("/v1/ws", nil), ("/", nil), ("/v1/none", nil),
            ] as [(String, String?)])
        func aBodyWithoutAValidKeyIsNotWaitedFor(path: String, key: String?) throws {
            let (text, isClosed) = try answer(requestHead(path, bytes: 4_000_000, key: key))
            #expect(text.hasPrefix("HTTP/1.1 401 "), "\(text.prefix(100))")
            #expect(text.contains(#""code":"unauthorized""#) && isClosed)
        }

        @Test func nobodyIsToldToSendABodyThatIsNotRead() throws {
            let (text, _) = try answer(
                requestHead("/v1/heads", bytes: 10, more: "Expect: 100-continue\r\n"))
            #expect(text.hasPrefix("HTTP/1.1 401 "))
        }

        @Test(arguments: [
            ("/v1/heads", 4 << 20), ("/v1/conversations/c", 8 << 20),
            ("/v1/users/u/disconnect", 1 << 20), ("/v1/none", 1 << 20),
        ])
        func aBodyAboveWhatItsRouteTakesIsTooLarge(path: String, bytes: Int) throws {
            let (text, isClosed) = try answer(
                requestHead(path, bytes: bytes, key: GatewayProcess.apiKey))
            #expect(text.hasPrefix("HTTP/1.1 413 "), "\(text.prefix(100))")
            #expect(text.contains(#""code":"too_large""#) && isClosed)
        }

        @Test func whoHasSaidAllThatItHasToSayIsStillAnswered() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            for number in 0..<10 {
                let body = #"{"author":"alice","body":"b\#(number)"}"#
                let socket = try TCPSocket(port: gateway.port)
                try socket.write(
                    requestHead(
                        "/v1/conversations/\(id)/messages", bytes: body.utf8.count,
                        key: GatewayProcess.apiKey) + Array(body.utf8))
                socket.finishWriting()
                var bytes: [UInt8] = []
                while !socket.isAtEnd, socket.waitToRead(.standard) {
                    bytes += socket.readAvailable()
                }
                #expect(bytes.starts(with: Array("HTTP/1.1 201 ".utf8)), "\(number)")
            }
        }

        @Test func pingsBeforeConnectAreSlowedAndOthersAreServed() throws {
            let gateway = try LiveGateway.get()
            let alice = try gateway.client("alice")
            let stranger = try WebSocketConnection(port: gateway.port)
            try stranger.send(
                raw: (0..<20_000).flatMap { _ in WebSocketFrame(.ping, []).encoded() })
            for _ in 0..<50 { try alice.settle() }
            try stranger.pump()
            var pongs = 0
            while let next = stranger.nextPumped() { if case .pong = next { pongs += 1 } }
            #expect((1..<1000).contains(pongs))
        }
    }

    /// A browser shows its user a connection that failed, and no reason.
    @Test func aPageThatMayNotConnectIsNamedInTheLog() throws {
        let gateway = try GatewayProcess()
        #expect(throws: WebSocketConnection.UpgradeRefused.self) {
            _ = try WebSocketConnection(
                port: gateway.port, headers: ["Origin": "https://app.example.org"])
        }
        let isSaid = Deadline.standard.poll {
            gateway.log.contains("level=warning event=websocket_refused")
        }
        #expect(isSaid && gateway.log.contains("origin=https://app.example.org"))
    }

    /// What a stranger sends stands in a line of the log as text, and of bounded length.
    @Test func aHeaderObeysNobodyInTheLog() throws {
        let gateway = try GatewayProcess()
        let marks = String(repeating: "\u{301}", count: 5000)
        for header in ["a\u{9B}31m\u{85}b\u{2028}c\u{202E}d", "e" + marks] {
            #expect(throws: WebSocketConnection.UpgradeRefused.self) {
                _ = try WebSocketConnection(port: gateway.port, headers: ["Origin": header])
            }
        }
        let isSaid = Deadline.standard.poll {
            gateway.log.ranges(of: "event=websocket_refused").count == 2
        }
        #expect(isSaid)
        #expect(gateway.log.contains("\\u009b31m") && gateway.log.contains("\\u202ed"))
        let raw: Set<Unicode.Scalar> = ["\u{9B}", "\u{85}", "\u{2028}", "\u{202E}"]
        #expect(!gateway.log.unicodeScalars.contains(where: raw.contains))
        let lines = gateway.log.split(separator: "\n")
        #expect(lines.allSatisfy { $0.utf8.count < 1000 })
    }

    @Suite(.gateway(["limits.http_connections": "2"]))
    struct RequestsAtOnce {
        /// A request of which the gateway has the head and waits for the body. One that comes while
        /// an earlier one is still being closed is refused, and tried again.
        private func held(by gateway: LiveGateway) throws -> TCPSocket {
            let head = requestHead(
                "/v1/heads", bytes: 100, key: GatewayProcess.apiKey,
                more: "Expect: 100-continue\r\n")
            for _ in 0..<1000 {
                let socket = try TCPSocket(port: gateway.port)
                try socket.write(head)
                guard socket.waitToRead(.standard) else { break }
                let answer = socket.readAvailable()
                if answer.starts(with: Array("HTTP/1.1 100 ".utf8)) { return socket }
            }
            throw TestFailure("the gateway lets no request wait for its body")
        }

        @Test func oneRequestTooManyIs503AndWebSocketsAndHealthGoOn() throws {
            let gateway = try LiveGateway.get()
            let waiting = try (0..<2).map { _ in try held(by: gateway) }
            let third = try gateway.http().send("GET", "/v1/gaps")
            #expect(third.status == 503 && third.json["error"]["code"] == "rate_limited")
            #expect(third.headers["connection"] == "close")
            #expect(try gateway.client("alice").code("unsubscribeConversations") == "ok")
            #expect(try gateway.operations().send("GET", "/health/ready").status == 200)
            for socket in waiting { socket.reset() }
            let isFree = Deadline.standard.poll {
                (try? gateway.http().send("GET", "/v1/gaps"))?.status == 401
            }
            #expect(isFree)
        }
    }
}

/// A request head that says that a body of this many bytes follows.
private func requestHead(
    _ path: String, bytes: Int, key: String? = nil, more: String = ""
) -> [UInt8] {
    let key = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    return Array(
        ("POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(key)\(more)"
            + "Content-Length: \(bytes)\r\n\r\n").utf8)
}
