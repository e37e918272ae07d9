import Foundation
import TestSupport
import Testing

/// Who is answered by the internal listener: everybody who asks for health and metrics; nobody who
/// came by a name that is not its own, where conversations can be read.
@Suite struct InternalListenerTests {
    @Suite(.gateway(["listen.internal_hosts": "ops.example.org,Other.example.org:9000"]))
    struct Hosts {
        static let hosts: [(host: String, isAccepted: Bool)] = [
            ("localhost", true), ("LOCALHOST:9000", true), ("127.0.0.1", true),
            ("127.0.0.1:9000", true), ("10.1.2.3:80", true), ("[::1]:9000", true), ("[::1]", true),
            ("ops.example.org", true), ("OPS.example.org:9000", true),
            ("other.example.org:9000", true), ("other.example.org", false),
            ("evil.example", false), ("evil.example:9000", false),
            ("127.0.0.1.evil.example", false), ("localhost.evil.example:9000", false),
            ("[evil.example]", false), ("[::1]x", false), ("ops.example.org.evil.example", false),
        ]

        @Test(arguments: hosts.indices)
        func whatShowsConversationsIsForItsOwnNames(row: Int) throws {
            let (host, isAccepted) = Self.hosts[row]
            let http = try LiveGateway.get().operations()
            let answer = try http.send("GET", "/books", headers: ["Host": host])
            #expect(answer.status == (isAccepted ? 200 : 403), "\(host)")
            if !isAccepted {
                #expect(answer.json["error"]["code"] == "forbidden")
                #expect(answer.json["error"]["message"].string?.hasPrefix("Host: ") == true)
            }
        }

        @Test(
            arguments: ["/books", "/explain?conversation=none&seq=1", "/health", "/metrics"],
            ["HTTP/1.0\r\n", "HTTP/1.1\r\nConnection: close\r\n"])
        func aRequestWithoutAHostIsAnswered(path: String, rest: String) throws {
            let bytes = try HTTPConnection.raw(
                port: LiveGateway.get().internalPort, Array("GET \(path) \(rest)\r\n".utf8),
                deadline: .standard)
            #expect(bytes.starts(with: Array("HTTP/1.1 200 ".utf8)))
        }

        @Test func aRequestWithTwoHostsIsRefused() throws {
            let text = "GET /books HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
            let bytes = try HTTPConnection.raw(
                port: LiveGateway.get().internalPort, Array(text.utf8), deadline: .standard)
            #expect(bytes.starts(with: Array("HTTP/1.1 400 ".utf8)))
        }

        @Test(arguments: ["/", "/explain", "/events", "/operator.js"])
        func whatIsTheOperatorsIsForItsOwnNames(path: String) throws {
            let http = try LiveGateway.get().operations()
            #expect(try http.send("GET", path, headers: ["Host": "evil.example"]).status == 403)
        }

        @Test(arguments: [
            "/health", "/healthz", "/health/live", "/livez", "/health/ready", "/readyz", "/metrics",
        ])
        func healthAndMetricsAnswerAnyHost(path: String) throws {
            let http = try LiveGateway.get().operations()
            #expect(try http.send("GET", path, headers: ["Host": "evil.example"]).status == 200)
        }
    }

    /// A gateway whose internal listener others can reach.
    private func gateway(password: String?) throws -> GatewayProcess {
        let gateway = try GatewayProcess(starts: false)
        gateway.settings["listen.internal"] = "0.0.0.0:\(gateway.internalPort)"
        if let password {
            let file = gateway.directory.appendingPathComponent("password")
            try Data(password.utf8).write(to: file)
            gateway.settings["listen.internal_password_file"] = file.path
        }
        try gateway.start()
        return gateway
    }

    @Test func beyondLoopbackTheOperatorsPageIsNotThereWithoutAPassword() throws {
        let gateway = try gateway(password: nil)
        for path in ["/", "/explain", "/events", "/operator.js"] {
            #expect(try gateway.health(path).status == 404, "\(path)")
        }
        #expect(try gateway.health("/books").status == 200)
        #expect(try gateway.health().status == 200)
    }

    @Test func withAPasswordFileTheOperatorsPageAsksForIt() throws {
        let gateway = try gateway(password: "an-operators-password\nmary:short\n")
        let http = HTTPConnection(port: gateway.internalPort)
        func status(_ path: String, _ pair: String?) throws -> Int {
            let text = pair.map { Data($0.utf8).base64EncodedString() }
            let headers = text.map { ["Authorization": "Basic \($0)"] } ?? [:]
            // A stream has no end to wait for.
            return try http.send(
                path == "/events" && pair != nil ? "HEAD" : "GET", path, headers: headers
            ).status
        }
        for path in ["/", "/explain", "/events", "/operator.js"] {
            let asked = try http.send("GET", path)
            #expect(asked.status == 401, "\(path)")
            #expect(asked.headers["www-authenticate"]?.hasPrefix("Basic ") == true)
            for wrong in ["ops:wrong", "ops:", ":", "ops", "john:short"] {
                #expect(try status(path, wrong) == 401, "\(path)")
            }
            for right in ["ops:an-operators-password", "mary:short"] {
                let expected = path == "/explain" ? 400 : 200
                #expect(try status(path, right) == expected, "\(path)")
            }
        }
        #expect(try status("/books", nil) == 200 && status("/health", nil) == 200)
        #expect(!gateway.log.contains("an-operators-password"))
    }
}
