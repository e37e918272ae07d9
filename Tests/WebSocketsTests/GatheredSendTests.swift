import TestSupport
import Testing

@testable import WebSockets

/// One buffer to many sockets in one call.
struct GatheredSendTests {
    private static let crowd = 300

    private func clients(of server: TestServer, _ count: Int) throws -> [RawClient] {
        let clients = try (0..<count).map { _ in
            try RawClient(port: server.port, receiveBuffer: 16_384)
        }
        for client in clients { try client.upgrade() }
        #expect(server.eventually { $0.echo.open.count == count })
        return clients
    }

    /// - Returns: for each socket that was reported, by its index: how many bytes were left.
    private static func send(_ text: [UInt8], by server: TestServer) -> [Int: Int] {
        var buffer = SendBuffer(capacity: 16)
        buffer.append(Frame.frame(.text, text))
        var left: [Int: Int] = [:]
        server.server.send(&buffer, to: server.echo.open[...]) { left[$0] = $1 }
        return left
    }

    @Test func everySocketGetsEveryBufferInOrder() throws {
        let server = try TestServer()
        let clients = try clients(of: server, Self.crowd)
        for number in 0..<50 {
            #expect(server.onLoop { Self.send(Array("m\(number)".utf8), by: $0) }.isEmpty)
        }
        for client in clients {
            for number in 0..<50 { #expect(try client.receiveFrame().text == "m\(number)") }
        }
    }

    @Test func whoDoesNotReadIsReportedAndGetsEverythingLater() throws {
        let server = try TestServer()
        let clients = try clients(of: server, 8)
        let padding = String(repeating: "x", count: 40_000)
        // The first half reads; the kernel takes a part of what the others get, and then nothing.
        let sent = 200
        var blocked: Set<Int> = []
        for number in 0..<sent {
            let left = server.onLoop { Self.send(Array("\(number) \(padding)".utf8), by: $0) }
            #expect(left.values.allSatisfy { $0 > 0 })
            blocked.formUnion(left.keys)
            for client in clients.prefix(4) {
                #expect(try client.receiveFrame().text == "\(number) \(padding)")
            }
        }
        let order = server.onLoop { $0.echo.open.count }
        #expect(order == 8 && blocked.count >= 4)
        for client in clients.suffix(4) {
            for number in 0..<sent {
                #expect(try client.receiveFrame().text == "\(number) \(padding)")
            }
        }
    }

    @Test func aSocketThatIsGoneHoldsNobodyUp() throws {
        let server = try TestServer()
        var clients = try clients(of: server, 12)
        // Closed within the loop's turn: the server has not heard of it when it sends.
        var gone: RawClient? = clients.removeLast()
        #expect(gone != nil)
        server.whileLoopWaits { gone = nil }
        for number in 0..<20 {
            _ = server.onLoop { Self.send(Array("m\(number)".utf8), by: $0) }
        }
        for client in clients {
            for number in 0..<20 { #expect(try client.receiveFrame().text == "m\(number)") }
        }
        #expect(server.eventually { $0.echo.closed.count == 1 })
    }
}
