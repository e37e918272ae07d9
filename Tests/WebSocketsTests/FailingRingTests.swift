import Glibc
import Synchronization
import TestSupport
import Testing

@testable import WebSockets

/// A ring of which the kernel does not do all that it is asked: what it did is counted for the
/// socket that it was done for, the rest goes without the ring, and nothing is written twice.
@Suite(.serialized) struct FailingRingTests {
    /// What becomes of one call of the kernel.
    enum Call: Sendable, Hashable {
        /// A signal came first.
        case interrupted
        /// So many requests are taken and finished, no more.
        case takes(UInt32)
        /// The same, and then a signal came.
        case takesAndIsInterrupted(UInt32)
        /// All requests are taken; a signal came before anybody waited for them.
        case isInterruptedWaiting
        case fails
        /// So many requests are taken, and nobody learns what became of them.
        case loses(UInt32)
    }

    /// What becomes of the next calls; of those behind them what the kernel makes of them.
    private static let script = Mutex<[Call]>([])

    private static let kernel: SendRing.Kernel = { descriptor, head, submitted, wanted in
        func take(_ most: UInt32, waits: Bool = true) -> Int {
            let count = min(most, submitted)
            return SendRing.kernel(descriptor, head, count, waits ? min(count, wanted) : 0)
        }
        func fail(_ reason: Int32) -> Int {
            errno = reason
            return -1
        }
        let next = script.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { return SendRing.kernel(descriptor, head, submitted, wanted) }
        switch next {
        case .interrupted: return fail(EINTR)
        case .takes(let count): return take(count)
        case .takesAndIsInterrupted(let count):
            _ = take(count)
            return fail(EINTR)
        case .isInterruptedWaiting:
            _ = take(submitted, waits: false)
            return fail(EINTR)
        case .fails: return fail(EBUSY)
        case .loses(let count):
            head?.pointee += count
            return fail(EIO)
        }
    }

    /// More than a ring submits at once.
    private static let crowd = 300

    /// Nil where the kernel has no ring.
    private func server() throws -> TestServer? {
        let server = try TestServer()
        let isByRing = server.onLoop {
            $0.server.gathered = GatheredSends(by: SendRing(by: Self.kernel))
            return $0.server.gathered.isByRing
        }
        return isByRing ? server : nil
    }

    private func clients(of server: TestServer, _ count: Int) throws -> [RawClient] {
        // One after the other, so that they are in this order at the server, too.
        try (1...count).map { number in
            let client = try RawClient(port: server.port, receiveBuffer: 16_384)
            try client.upgrade()
            #expect(server.eventually { $0.echo.open.count == number })
            return client
        }
    }

    private static func send(_ text: String, by server: TestServer, _ calls: [Call] = []) {
        script.withLock { $0 = calls }
        var buffer = SendBuffer(capacity: 16)
        buffer.append(Frame.frame(.text, Array(text.utf8)))
        server.server.send(&buffer, to: server.echo.open[...]) { _, _ in }
        script.withLock { $0 = [] }
    }

    private static let shortfalls: [[Call]] = [
        [.interrupted, .interrupted],
        [.takes(100), .takes(1), .interrupted],
        [.takesAndIsInterrupted(100), .takesAndIsInterrupted(7)],
        [.isInterruptedWaiting, .isInterruptedWaiting],
    ]

    private static let failures: [[Call]] = [
        [.fails], [.takes(100), .fails], [.takes(0)], [.takes(300), .takes(10), .fails],
        [.takesAndIsInterrupted(100), .interrupted, .fails],
    ]

    @Test(arguments: shortfalls + failures)
    func everySocketGetsEveryBufferOnce(_ calls: [Call]) throws {
        guard let server = try server() else { return }
        let clients = try clients(of: server, Self.crowd)
        for number in 0..<5 {
            server.onLoop { Self.send("m\(number)", by: $0, number == 2 ? calls : []) }
        }
        #expect(
            server.onLoop { $0.server.gathered.isByRing } == Self.shortfalls.contains(calls))
        for client in clients {
            for number in 0..<5 { #expect(try client.receiveFrame().text == "m\(number)") }
        }
    }

    /// Half of the sockets take a part of a buffer, or none of it.
    @Test(arguments: shortfalls + failures)
    func whatASocketTookIsItsOwn(_ calls: [Call]) throws {
        guard let server = try server() else { return }
        let clients = try clients(of: server, 8)
        let padding = String(repeating: "x", count: 40_000)
        for number in 0..<120 {
            server.onLoop { Self.send("\(number) \(padding)", by: $0, Self.fewer(calls)) }
            for client in clients where client !== clients[1] && client !== clients[4] {
                #expect(try client.receiveFrame().text == "\(number) \(padding)")
            }
        }
        for client in [clients[1], clients[4]] {
            for number in 0..<120 {
                #expect(try client.receiveFrame().text == "\(number) \(padding)")
            }
        }
    }

    /// For eight sockets.
    private static func fewer(_ calls: [Call]) -> [Call] {
        calls.map { call in
            switch call {
            case .takes(100): .takes(3)
            case .takesAndIsInterrupted(100): .takesAndIsInterrupted(3)
            default: call
            }
        }
    }

    @Test func aSocketOfWhichNobodyKnowsIsClosedAndNoOther() throws {
        guard let server = try server() else { return }
        let clients = try clients(of: server, 8)
        server.onLoop {
            Self.send("before", by: $0)
            Self.send("lost", by: $0, [.takes(3), .loses(2)])
        }
        #expect(server.eventually { $0.echo.closed.count == 2 })
        server.onLoop { Self.send("after", by: $0) }
        #expect(!server.onLoop { $0.server.gathered.isByRing })
        for (place, client) in clients.enumerated() {
            #expect(try client.receiveFrame().text == "before")
            if (3..<5).contains(place) {
                #expect(throws: (any Error).self) { try client.receiveFrame() }
            } else {
                #expect(try client.receiveFrame().text == "lost")
                #expect(try client.receiveFrame().text == "after")
            }
        }
    }
}
