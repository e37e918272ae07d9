import ClientCore
import Foundation
import GaplessTesting
import LoopTransport
import Synchronization
import TestSupport
import WebSockets

/// What a transport has told, in the order in which it did.
// Safety: `transport` is set before the start.
final class Record: ClientTransportDelegate, @unchecked Sendable {
    enum Event: Hashable, Sendable {
        case opened(UInt)
        case text(UInt, String)
        case closed(UInt, UInt16?)
        case alarm
        case turn
    }

    private let all = Mutex<[Event]>([])
    /// Calls that came while another one, or a job, was not over.
    private let nested = Mutex<(depth: Int, count: Int)>((0, 0))
    weak var transport: (any ClientTransport)?
    /// What is done with the first text that comes.
    let onText = Mutex<Reaction>(Reaction())

    struct Reaction { var call: (@Sendable (any ClientTransport) -> Void)? }

    /// Without the ends of turns.
    var events: [Event] { all.withLock { $0.filter { $0 != .turn } } }
    var turns: Int { all.withLock { $0.count { $0 == .turn } } }
    var endsWithTurn: Bool { all.withLock { $0.last == .turn } }
    var nestedCalls: Int { nested.withLock { $0.count } }
    var texts: [String] {
        events.compactMap { if case .text(_, let text) = $0 { text } else { nil } }
    }

    private func note(_ event: Event, _ body: () -> Void = {}) {
        transport?.preconditionOnLoop()
        nested.withLock { nested in
            if nested.depth > 0 { nested.count += 1 }
            nested.depth += 1
        }
        all.withLock { $0.append(event) }
        body()
        nested.withLock { $0.depth -= 1 }
    }

    func opened(_ socket: UInt) { note(.opened(socket)) }
    func closed(_ socket: UInt, code: UInt16?) { note(.closed(socket, code)) }
    func alarmRang() { note(.alarm) }
    func turnEnded() { note(.turn) }

    func received(_ socket: UInt, _ text: [UInt8]) {
        note(.text(socket, String(decoding: text, as: UTF8.self))) {
            let call = onText.withLock { reaction in
                defer { reaction.call = nil }
                return reaction.call
            }
            if let transport { call?(transport) }
        }
    }
}

/// A transport with somebody at the other end, whom a test speaks for.
protocol Peer: Sendable {
    func transport() -> any ClientTransport
    var endpoint: ClientEndpoint { get }
    /// The texts that came from the client.
    var heard: [String] { get }
    /// Whether a client is connected.
    var isInCompany: Bool { get }
    func say(_ texts: [String])
    func close(code: UInt16)
    /// Ends the connection without a word.
    func hangUp()
    /// Whether clients that connect are let in.
    func letIn(_ isOpen: Bool)
    /// Has time pass.
    func pass(_ milliseconds: Int) async
}

/// Somebody on a network in memory.
final class MemoryEnd: Peer, MemoryPeer {
    private struct State {
        var network: MemoryNetwork?
        var link: MemoryLink?
        var heard: [String] = []
    }

    private let state = Mutex(State())
    let endpoint = ClientEndpoint(host: "memory", port: 1)

    private var network: MemoryNetwork {
        state.withLock { state in
            let network = state.network ?? MemoryNetwork(self)
            state.network = network
            return network
        }
    }

    func transport() -> any ClientTransport { network.transport() }
    var heard: [String] { state.withLock { $0.heard } }
    var isInCompany: Bool { state.withLock { $0.link != nil } }

    private func link<Value: Sendable>(_ body: @Sendable (MemoryLink) -> Value) -> Value? {
        let link = state.withLock { $0.link }
        return network.perform { _ in link.map(body) }
    }

    func say(_ texts: [String]) {
        link { link in for text in texts { link.send(Array(text.utf8)) } }
    }
    func close(code: UInt16) { link { $0.close(code: code) } }
    func hangUp() { network.cut() }
    func letIn(_ isOpen: Bool) { network.setUp(isOpen) }
    func pass(_ milliseconds: Int) async { await network.advance(by: .milliseconds(milliseconds)) }

    func connected(_ link: MemoryLink) -> Bool {
        state.withLock { $0.link = link }
        return true
    }

    func received(_ text: [UInt8], from link: MemoryLink) {
        state.withLock { $0.heard.append(String(decoding: text, as: UTF8.self)) }
    }

    func closed(_ link: MemoryLink) {
        state.withLock { if $0.link === link { $0.link = nil } }
    }
}

/// A server on a socket, by the library of the gateway.
// Safety: what is not a constant is touched on the loop, or in the lock.
final class SocketEnd: Peer, ServerDelegate, @unchecked Sendable {
    private struct State {
        var heard: [String] = []
        var isLettingIn = true
    }

    private let state = Mutex(State())
    private let loop: ServiceLoop
    private var server: Server?
    private var socket: SocketID?
    private var buffer = SendBuffer()
    private let ended = DispatchSemaphore(value: 0)
    let endpoint: ClientEndpoint

    init() throws {
        loop = try ServiceLoop()
        let server = try Server(
            loop: loop,
            listeners: [
                Listener(name: "public", address: "127.0.0.1", port: 0, serves: [.webSockets])
            ])
        self.server = server
        endpoint = ClientEndpoint(host: "127.0.0.1", port: server.port(of: "public") ?? 0)
        server.delegate = self
        Thread.detachNewThread { [loop, ended] in
            loop.run()
            ended.signal()
        }
    }

    deinit {
        loop.stop()
        ended.wait()
    }

    func transport() -> any ClientTransport { LoopTransport() }
    var heard: [String] { state.withLock { $0.heard } }
    var isInCompany: Bool { onLoop { $0.socket != nil } }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (SocketEnd) -> Value) -> Value
    {
        awaited(by: loop.post) { [unowned self] in body(self) }
    }

    func say(_ texts: [String]) {
        onLoop { end in
            for text in texts {
                end.buffer.removeAll()
                end.buffer.append(Frame.frame(.text, Array(text.utf8)))
                if let socket = end.socket { _ = end.server?.send(socket, &end.buffer) }
            }
        }
    }

    func close(code: UInt16) {
        onLoop { end in
            if let socket = end.socket { end.server?.close(socket, code: code, reason: "") }
        }
    }

    func hangUp() { onLoop { end in if let socket = end.socket { end.server?.terminate(socket) } } }
    func letIn(_ isOpen: Bool) { state.withLock { $0.isLettingIn = isOpen } }
    func pass(_ milliseconds: Int) async { try? await Task.sleep(for: .milliseconds(milliseconds)) }

    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision {
        state.withLock { $0.isLettingIn } ? .accept : .refuse(HTTPResponse(status: 403))
    }
    func connected(_ socket: SocketID, _ request: UpgradeRequest) { self.socket = socket }
    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool) {
        state.withLock { $0.heard.append(String(decoding: bytes, as: UTF8.self)) }
    }
    func pong(_ socket: SocketID) {}
    func writable(_ socket: SocketID) {}
    func closed(_ socket: SocketID) { if self.socket == socket { self.socket = nil } }
    func request(_ request: HTTPRequest, _ responder: HTTPResponder) {}
}
