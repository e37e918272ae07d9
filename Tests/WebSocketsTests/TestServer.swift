import Foundation
import Synchronization
import TestSupport

@testable import WebSockets

/// A server on a loop of its own thread, with a delegate that echoes and keeps a record. Everything
/// about it is looked at on the loop, by `onLoop`.
// Safety: `server` and `echo` are touched on the loop thread only.
final class TestServer: @unchecked Sendable {
    let loop: ServiceLoop
    let server: Server
    let echo: Echo
    private let ended = DispatchSemaphore(value: 0)

    init(
        limits: ServerLimits = ServerLimits(), address: String = "127.0.0.1",
        serves: Listener.Services = [.webSockets, .http], tls: TLSFiles? = nil, number: Int = 0,
        sharing others: [TestServer] = [], firstFrame: Int = .max
    ) throws {
        var limits = limits
        limits.firstFrame = firstFrame
        loop = try ServiceLoop()
        echo = Echo()
        server = try Server(
            loop: loop,
            listeners: [
                Listener(name: "public", address: address, port: 0, tls: tls, serves: serves)
            ],
            limits: limits, number: number, delegate: echo)
        server.share("public", with: others.map(\.server))
        echo.server = server
        loop.onTurnEnd = { [echo] in echo.turns += 1 }
        Thread.detachNewThread { [loop, ended] in
            loop.run()
            ended.signal()
        }
    }

    deinit {
        loop.stop()
        ended.wait()
    }

    var port: UInt16 { onLoop { $0.server.port(of: "public") ?? 0 } }

    /// Runs on the loop and waits for it.
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (TestServer) -> Value) -> Value {
        // The server outlives the wait, and the loop must not keep it alive.
        awaited(by: loop.post) { [unowned self] in body(self) }
    }

    /// Runs while the loop stands still: what is sent meanwhile is all there in its next turn.
    func whileLoopWaits(_ body: () throws -> Void) rethrows {
        let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        loop.post {
            begun.signal()
            done.wait()
        }
        begun.wait()
        defer { done.signal() }
        try body()
    }

    /// How many turns the loop has until an alarm rings that it sets now.
    func turns(duringMilliseconds time: Int) -> Int {
        let done = DispatchSemaphore(value: 0)
        let before = onLoop { server in
            let alarm = server.loop.alarm { done.signal() }
            alarm.set(milliseconds: time)
            return server.echo.turns
        }
        done.wait()
        return onLoop { $0.echo.turns } - before
    }

    /// What `Server.reloadCertificate` says; to be called on the loop.
    func reloaded() -> Result<Bool, WebSocketError> {
        Result { () throws(WebSocketError) in try server.reloadCertificate() }
    }

    /// Waits until something holds on the loop.
    ///
    /// - Returns: false if it does not within ten seconds.
    func eventually(_ condition: @escaping @Sendable (TestServer) -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < end {
            if onLoop(condition) { return true }
            usleep(2000)
        }
        return false
    }
}

/// Answers what it is sent, and remembers what happened.
final class Echo: ServerDelegate {
    weak var server: Server?
    var turns = 0
    var open: [SocketID] = []
    var upgrades: [UpgradeRequest] = []
    var requests: [HTTPRequest] = []
    var closed: [SocketID] = []
    var writable: [SocketID] = []
    var pongs = 0
    var messages: [[UInt8]] = []
    /// The turns in which they came.
    var messageTurns: Set<Int> = []
    /// How many requests came before the last of them.
    var requestsBeforeLast = 0
    /// How many messages came before the head of the last request, and before its body.
    var messagesBeforeHead = 0
    var messagesBeforeRequest = 0
    /// Throttles the client that says it, before the next of its messages is read.
    var stopWord: [UInt8]?
    /// What an upgrade is answered with; nil accepts it.
    var refusal: HTTPResponse?
    var admission = Admission.accept(bodyLimit: nil, isFree: false)
    /// Requests whose path is "/later" wait here.
    var waiting: [HTTPResponder] = []
    /// Requests whose path is "/stream" get an answer without an end.
    var streams: [SocketID] = []
    var largeBody: [UInt8] = []
    private var buffer = SendBuffer()

    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision {
        upgrades.append(request)
        return refusal.map { .refuse($0) } ?? .accept
    }

    func connected(_ socket: SocketID, _ request: UpgradeRequest) { open.append(socket) }

    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool) {
        requestsBeforeLast = requests.count
        messages.append(bytes)
        messageTurns.insert(turns)
        buffer.removeAll()
        buffer.append(Frame.frame(isBinary ? .binary : .text, bytes))
        _ = server?.send(socket, &buffer)
        if bytes == stopWord { server?.throttle(socket, true) }
    }

    func pong(_ socket: SocketID) { pongs += 1 }
    func writable(_ socket: SocketID) { writable.append(socket) }

    func closed(_ socket: SocketID) {
        closed.append(socket)
        open.removeAll { $0 == socket }
    }

    func admit(_ request: RequestHead) -> Admission {
        messagesBeforeHead = messages.count
        return admission
    }

    func request(_ request: HTTPRequest, _ responder: HTTPResponder) {
        requests.append(request)
        messagesBeforeRequest = messages.count
        switch request.path {
        case "/later": waiting.append(responder)
        case "/stream":
            if let socket = responder.stream(HTTPResponse(status: 200)) { streams.append(socket) }
        case "/large": responder.respond(HTTPResponse(status: 200, body: largeBody))
        case "/empty": responder.respond(HTTPResponse(status: 204))
        default:
            let line = "\(request.method.rawValue) \(request.path) \(request.query ?? "-") "
            responder.respond(
                HTTPResponse(
                    status: 200, headers: [.init("Content-Type", "text/plain")],
                    body: Array(line.utf8) + request.body))
        }
    }
}

/// The generator of all seeded tests.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
