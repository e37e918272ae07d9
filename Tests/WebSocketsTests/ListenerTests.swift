import Glibc
import Testing

@testable import WebSockets

@Suite struct ListenerTests {
    private func failure(
        listeners: [Listener]
    ) throws -> WebSocketError? {
        let loop = try ServiceLoop()
        do {
            _ = try Server(loop: loop, listeners: listeners, delegate: Echo())
            return nil
        } catch {
            return error
        }
    }

    @Test func aTakenPortIsNamed() throws {
        let server = try TestServer()
        let port = server.port
        let error = try failure(listeners: [
            Listener(name: "internal", address: "127.0.0.1", port: port)
        ])
        #expect(error?.code == .listen)
        #expect(
            error?.description
                == "listening on 127.0.0.1 port \(port) (internal): Address already in use")
    }

    @Test(arguments: ["localhost", "", "300.1.1.1", "127.0.0.1:80"])
    func anAddressThatIsNoLiteralIsRefused(address: String) throws {
        let error = try failure(listeners: [Listener(name: "p", address: address, port: 0)])
        #expect(error?.code == .address)
    }

    @Test func aCertificateThatCannotBeUsedIsNamed() throws {
        let missing = TLSFiles(certificate: "/nonexistent/cert.pem", key: "/nonexistent/key.pem")
        let error = try failure(listeners: [
            Listener(name: "p", address: "127.0.0.1", port: 0, tls: missing)
        ])
        #expect(error?.code == .certificate)
        #expect(error?.description.contains("/nonexistent/cert.pem: No such file") == true)
        let files = try TestCertificate.write()
        let swapped = TLSFiles(certificate: files.key, key: files.certificate)
        let other = try failure(listeners: [
            Listener(name: "p", address: "127.0.0.1", port: 0, tls: swapped)
        ])
        #expect(other?.code == .certificate)
    }

    @Test func bothFamiliesAreServedAndTheirPeersNamed() throws {
        for (address, target, peer) in [
            ("::1", "::1", "::1"), ("[::1]", "::1", "::1"), ("::", "127.0.0.1", "127.0.0.1"),
            ("0.0.0.0", "127.0.0.1", "127.0.0.1"),
        ] {
            let server = try TestServer(address: address)
            let client = try RawClient(port: server.port, address: target)
            try client.upgrade()
            #expect(server.eventually { $0.echo.upgrades.first?.remoteAddress == peer })
        }
    }

    @Test func afterStopListeningOnlyThoseWhoAreThereAreServed() throws {
        let server = try TestServer()
        let port = server.port
        let client = try RawClient(port: port)
        try client.upgrade()
        server.onLoop { $0.server.stopListening() }
        #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: port) }
        try client.sendText("x")
        #expect(try client.receiveFrame().text == "x")
    }

    @Test func listenersOfOneServerAreToldApart() throws {
        let loop = try ServiceLoop()
        let echo = Echo()
        let server = try Server(
            loop: loop,
            listeners: [
                Listener(name: "public", address: "127.0.0.1", port: 0),
                Listener(name: "internal", address: "127.0.0.1", port: 0, serves: .http),
            ], delegate: echo)
        let ports = try ["public", "internal"].map { try #require(server.port(of: $0)) }
        #expect(ports[0] != ports[1] && server.port(of: "other") == nil)
        let clients = try ports.map { try RawClient(port: $0) }
        for client in clients { try client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
        loop.onTurnEnd = { [unowned loop] in if echo.requests.count == 2 { loop.stop() } }
        loop.run()
        #expect(Set(echo.requests.map(\.listener)) == ["public", "internal"])
    }
}
