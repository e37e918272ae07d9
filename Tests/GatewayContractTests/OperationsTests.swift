import TestSupport
import Testing

/// `protocol.md` 7, the internal listener: health, its probes and aliases, and metrics; and what of
/// the public listener is neither WebSocket nor server API.
extension DefaultGateway {
    @Suite struct OperationsTests {
        private static let health = Shape([
            "status": .word(["ok", "degraded", "down"]), "version": .string, "commit": .string,
            "uptime": .integer(from: 0),
            "upstream": .array(
                .shape(
                    Shape([
                        "kind": .exactly(.string(GatewayProcess.upstream)),
                        "state": .word(["online", "syncing", "offline"]), "since": .moment,
                        "lastEventAge": .orNull(.number),
                    ]))),
            "cache": .shape(
                Shape([
                    "writable": .bool, "messages": .integer(from: 0), "bytes": .integer(from: 1),
                ])),
            "sync": .shape(
                Shape([
                    "openGaps": .integer(from: 0), "missing": .integer(from: 0),
                    "oldestGapAge": .number, "queued": .integer(from: 0),
                    "fetching": .integer(from: 0),
                ])),
            "clients": .shape(
                Shape(["connections": .integer(from: 0), "subscriptions": .integer(from: 0)])),
            "accounting": .shape(Shape(["error": .exactly(0)])), "draining": .exactly(false),
        ])

        @Test(arguments: ["/health", "/healthz"])
        func theSummaryHasItsFieldsAndNoOthers(path: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 3)
            let client = try gateway.client("alice")
            try client.subscribe(id)
            let response = try gateway.operations().send("GET", path)
            #expect(response.status == 200)
            #expect(response.headers["content-type"]?.hasPrefix("application/json") == true)
            let health = response.json
            #expect(Self.health.faults(health) == [])
            #expect(health["status"] == "ok" && health["upstream"].array?.count == 1)
            #expect(health["upstream"][0]["state"] == "online")
            #expect(health["cache"]["writable"] == true)
            #expect((health["cache"]["messages"].int ?? 0) >= 3)
            #expect((health["clients"]["connections"].int ?? 0) >= 1)
            #expect((health["clients"]["subscriptions"].int ?? 0) >= 1)
        }

        @Test(arguments: ["/health/live", "/livez", "/health/ready", "/readyz"])
        func theProbesAnswer200(path: String) throws {
            let response = try LiveGateway.get().operations().send("GET", path)
            #expect(response.status == 200)
        }

        @Test(arguments: [
            "/health", "/healthz", "/health/live", "/livez", "/health/ready", "/readyz", "/metrics",
        ])
        func headIsAnsweredWithoutABodyAndOtherMethodsAreNot(path: String) throws {
            let http = try LiveGateway.get().operations()
            let head = try http.send("HEAD", path)
            #expect(head.status == 200 && head.body.isEmpty)
            #expect((head.headers["content-length"].flatMap { Int($0) } ?? 0) > 0)
            for method in ["POST", "PUT", "DELETE"] {
                let refused = try http.send(method, path)
                #expect(refused.status == 405, "\(method)")
                #expect(Shape.error.faults(refused.json["error"]) == [])
            }
        }

        @Test func theInternalListenerHasNothingElse() throws {
            let http = try LiveGateway.get().operations()
            for path in [
                "/operator/", "/index.html", "/v1/ws", "/v1/gaps", "/health/", "/metrics/x",
                "/nothing",
            ] {
                let response = try http.send("GET", path)
                #expect(response.status == 404, "\(path)")
                #expect(response.json["error"]["code"] == "not_found")
            }
        }

        @Test func metricsArePrometheusText() throws {
            let response = try LiveGateway.get().operations().send("GET", "/metrics")
            #expect(response.status == 200)
            #expect(response.headers["content-type"]?.hasPrefix("text/plain") == true)
            #expect(response.text.hasSuffix("\n"))
            var typed: Set<String> = []
            for line in response.text.split(separator: "\n") {
                if line.hasPrefix("# TYPE ") {
                    let words = line.split(separator: " ")
                    #expect(
                        words.count == 4 && ["gauge", "counter", "histogram"].contains(words[3]))
                    typed.insert(String(words[2]))
                } else if !line.hasPrefix("#") {
                    let name = line.prefix { $0 != " " && $0 != "{" }
                    // The samples of a histogram have names of their own.
                    let series = String(name).replacing(/_(bucket|sum|count)$/, with: "")
                    #expect(
                        typed.contains(String(name)) || typed.contains(series),
                        "\(name) has no type")
                    #expect(name.hasPrefix("gapless_"))
                    #expect(
                        line.split(separator: " ").last.flatMap { Double($0) } != nil, "\(line)")
                }
            }
            for kind in ["range", "changes", "heads", "conversation", "participants"] {
                #expect(response.text.contains("gapless_origin_fetches_total{kind=\"\(kind)\"} "))
            }
        }

        @Test func thePublicListenerShowsNothingOfTheInternalOne() throws {
            let gateway = try LiveGateway.get()
            for path in ["/health", "/health/ready", "/livez", "/metrics"] {
                #expect(try gateway.http().send("GET", path).status == 404, "\(path)")
            }
        }

        @Test(
            arguments: [
                (nil, nil, 101), ("http://$", nil, 101), ("HTTP://$", nil, 101),
                ("https://evil.example", nil, 403), ("null", nil, 403),
                ("http://127.0.0.1", nil, 403),
                ("http://$.evil.example", nil, 403), ("http://evil.example/$", nil, 403),
                ("", nil, 403), (nil, "localhost:$", 101), (nil, "LOCALHOST", 101),
                (nil, "[::1]:$", 101), (nil, "127.0.0.1", 101), (nil, "127.1.2.3:$", 101),
                (nil, "evil.example", 403), (nil, "evil.example:$", 403),
                (nil, "127.0.0.1.evil.example", 403), (nil, "localhost.evil.example:$", 403),
                ("http://evil.example", "evil.example", 403),
                ("http://localhost:$", "localhost:$", 101),
            ] as [(String?, String?, Int)])
        func anUpgradeGoesByOriginAndHost(origin: String?, host: String?, status: Int) throws {
            let port = try LiveGateway.get().port
            func filled(_ text: String, _ mark: String) -> String {
                text.split(separator: "$", omittingEmptySubsequences: false).joined(separator: mark)
            }
            var headers: [String: String] = [:]
            headers["Host"] = host.map { filled($0, "\(port)") }
            headers["Origin"] = origin.map {
                filled($0, host == nil ? "127.0.0.1:\(port)" : "\(port)")
            }
            do {
                _ = try WebSocketConnection(port: port, headers: headers)
                #expect(status == 101)
            } catch let refused as WebSocketConnection.UpgradeRefused {
                #expect(refused.status == status)
            }
        }

        @Test func aBadHandshakeIsRefused() throws {
            let port = try LiveGateway.get().port
            for (headers, statuses) in [
                (["Sec-WebSocket-Version": "8"], [400, 426]),
                (["Sec-WebSocket-Key": "short"], [400]),
                (["Upgrade": "h2c"], [400, 426]), (["Connection": "close"], [400, 426]),
            ] {
                let refusal = #expect(throws: WebSocketConnection.UpgradeRefused.self) {
                    try WebSocketConnection(port: port, headers: headers)
                }
                #expect(statuses.contains(refusal?.status ?? 0), "\(headers)")
            }
        }
    }
}
