import Foundation
import Testing

@testable import WebSockets

/// Several loops behind one listener.
@Suite struct SharingTests {
    private static func servers(_ count: Int) throws -> [TestServer] {
        let others = try (1..<count).map { try TestServer(number: $0) }
        return [try TestServer(sharing: others)] + others
    }

    private static func clients(_ count: Int, of server: TestServer) throws -> [RawClient] {
        try (0..<count).map { _ in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            return client
        }
    }

    @Test func eachLoopHasItsShareAndIdsOfItsOwn() throws {
        let servers = try Self.servers(3)
        let clients = try Self.clients(30, of: servers[0])
        for (number, client) in clients.enumerated() {
            try client.sendText("\(number)")
            #expect(try client.receiveFrame().text == "\(number)")
        }
        var ids: Set<SocketID> = []
        for (number, server) in servers.enumerated() {
            let open = server.onLoop { $0.echo.open }
            #expect(open.count == 10 && open.allSatisfy { $0.server == number })
            ids.formUnion(open)
        }
        #expect(ids.count == 30)
        #expect(servers[0].server.connectionCount == 30)
        #expect(servers[1].server.connectionCount == 10)
    }

    @Test func whoComesGoesWhereFewestAre() throws {
        let servers = try Self.servers(3)
        var clients = try Self.clients(9, of: servers[0])
        for (number, client) in clients.enumerated() {
            try client.sendText("\(number)")
            _ = try client.receiveFrame()
        }
        let gone = Set(
            servers[1].onLoop { $0.echo.messages }
                .compactMap { Int(String(decoding: $0, as: UTF8.self)) })
        #expect(gone.count == 3)
        clients = clients.indices.filter { !gone.contains($0) }.map { clients[$0] }
        #expect(servers[1].eventually { $0.server.connectionCount == 0 })
        #expect(servers[0].server.connectionCount == 6)
        let late = try Self.clients(3, of: servers[0])
        #expect(servers.map { server in server.onLoop { $0.echo.open.count } } == [3, 3, 3])
        #expect(late.count + clients.count == 9)
    }

    @Test func requestsAreAnsweredOnEachLoop() throws {
        let servers = try Self.servers(2)
        let clients = try (0..<4).map { _ in try RawClient(port: servers[0].port) }
        for round in 0..<3 {
            for (number, client) in clients.enumerated() {
                try client.send("GET /\(number)/\(round) HTTP/1.1\r\nHost: h\r\n\r\n")
            }
            for (number, client) in clients.enumerated() {
                let response = try client.receiveResponse()
                #expect(response.body == Array("GET /\(number)/\(round) - ".utf8))
            }
        }
        for server in servers { #expect(server.onLoop { $0.echo.requests.count } == 6) }
    }

    /// An answer that is given on another thread is taken to the loop of the request.
    @Test func anAnswerIsCarriedToItsLoop() throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        try client.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(server.eventually { $0.echo.waiting.count == 1 })
        let responder = server.onLoop { $0.echo.waiting[0] }
            .carried { [loop = server.loop] responder, response in
                loop.post { responder.respond(response) }
            }
        responder.respond(HTTPResponse(status: 200, body: Array("carried".utf8)))
        #expect(try client.receiveResponse().body == Array("carried".utf8))
    }

    /// Only one loop of a process listens at the port, so that another process there is noticed.
    @Test func theOthersListenToNothing() throws {
        let servers = try Self.servers(3)
        let port = servers[0].port
        #expect(ListeningSockets.count(onPort: port) == 1)
        #expect(servers[1].onLoop { $0.server.port(of: "public") } == nil)
        #expect(servers[0].onLoop { $0.server.leave("public") } == false)
    }

    /// Connections come and go on all loops while one of them ends.
    @Test func aLoopThatEndsTakesOnlyItsOwnWithIt() throws {
        var servers = try Self.servers(3)
        let clients = try Self.clients(6, of: servers[0])
        servers.removeLast()
        var ended = 0
        for client in clients {
            let isSent = (try? client.sendText("still here?")) != nil
            if isSent, let frame = try? client.receiveFrame(), frame.opcode == 1 { continue }
            ended += 1
        }
        #expect(ended == 2)
    }
}
