import ClientCore
import ClientSystem
import Dispatch
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Safety: every property is touched on the queue only, but `session` and `client`, which `start`
// sets before anybody else has this.
/// The transport for Apple's platforms: a WebSocket task of `URLSession`, on a queue. Elsewhere it
/// compiles, and refuses to start: the `URLSession` of Linux needs a libcurl that speaks WebSocket,
/// and Debian's does not. Use `LoopTransport` there.
public final class URLSessionTransport: NSObject, ClientTransport, @unchecked Sendable {
    /// Why it does not start.
    public struct Refusal: Error, CustomStringConvertible {
        /// What was asked for, and what to do instead.
        public let description: String
    }

    private let queue = DispatchQueue(label: "gapless.client")
    private let key = DispatchSpecificKey<Bool>()
    private var client: (any ClientTransportDelegate)?
    private var session: URLSession?
    private var url: URL?
    private var task: URLSessionWebSocketTask?
    private var number: UInt = 0
    private var alarm = 0
    private var (isOpen, isPaused, isReading) = (false, false, false)

    /// The clocks of the system.
    public var now: Instant { SystemClock.now() }

    /// Begins the queue.
    /// - Throws: `Refusal`.
    public func start(
        _ client: any ClientTransportDelegate, to endpoint: ClientEndpoint
    ) throws {
        #if !canImport(Darwin)
        throw Refusal(
            description: "URLSession speaks WebSocket on Apple's platforms only: leave"
                + " `transport` out, or give a LoopTransport()")
        #else
        guard endpoint.trustedRoots == nil else {
            throw Refusal(description: "trustedRoots: URLSession trusts the system's roots")
        }
        guard let url = URL(string: endpoint.url) else {
            throw Refusal(description: "\(endpoint.url): URLSession takes no such URL")
        }
        queue.setSpecific(key: key, value: true)
        let calls = OperationQueue()
        calls.underlyingQueue = queue
        self.url = url
        self.client = client
        session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: calls)
        #endif
    }

    /// As `ClientTransport` has it.
    public func post(_ job: @escaping @Sendable () -> Void) { turn { _ in job() } }

    /// As `ClientTransport` has it.
    public func stop() {
        queue.async { [self] in
            abandon()
            setAlarm(milliseconds: nil)
            session?.invalidateAndCancel()
            client = nil
        }
    }

    /// As `ClientTransport` has it.
    public func preconditionOnLoop() {
        precondition(DispatchQueue.getSpecific(key: key) == true, "not on the transport's queue")
    }

    /// As `ClientTransport` has it.
    public func setAlarm(milliseconds: Int?) {
        alarm += 1
        guard let milliseconds else { return }
        let due = alarm
        queue.asyncAfter(deadline: .now() + .milliseconds(max(1, milliseconds))) { [weak self] in
            guard let self, alarm == due else { return }
            client?.alarmRang()
            client?.turnEnded()
        }
    }

    /// As `ClientTransport` has it.
    public func connect() -> UInt {
        abandon()
        number += 1
        guard let session, let url else { return number }
        let task = session.webSocketTask(with: url)
        // Above any frame of a gateway; by itself it would end with one of more than 1 MiB.
        task.maximumMessageSize = 64 << 20
        self.task = task
        task.resume()
        return number
    }

    /// As `ClientTransport` has it.
    public func send(_ text: [UInt8]) {
        guard isOpen, let task else { return }
        // What fails here fails the task too, which is told then.
        task.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
    }

    /// As `ClientTransport` has it.
    public func abandon() {
        task?.cancel(with: .goingAway, reason: nil)
        task = nil
        (isOpen, isPaused, isReading) = (false, false, false)
    }

    /// As `ClientTransport` has it.
    public func pauseReading(_ isPaused: Bool) {
        self.isPaused = isPaused
        readOn()
    }

    /// Something that happened, as one turn of the loop; nothing after `stop`.
    private func turn(_ body: @escaping @Sendable (any ClientTransportDelegate) -> Void) {
        queue.async { [self] in
            guard let client else { return }
            body(client)
            self.client?.turnEnded()
        }
    }

    /// Takes one message, and then the next: what is not taken stays with the peer.
    private func readOn() {
        guard isOpen, !isPaused, !isReading, let task else { return }
        isReading = true
        task.receive { [weak self] result in
            self?.turn { [weak self] client in
                guard let self, self.task === task, case .success(let message) = result else {
                    return
                }
                isReading = false
                // The protocol has no binary frames.
                if case .string(let text) = message { client.received(number, Array(text.utf8)) }
                readOn()
            }
        }
    }

    private func end(_ task: URLSessionTask, code: UInt16?) {
        guard task === self.task else { return }
        abandon()
        client?.closed(number, code: code)
        client?.turnEnded()
    }
}

extension URLSessionTransport: URLSessionWebSocketDelegate {
    /// From the session.
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        guard webSocketTask === task else { return }
        isOpen = true
        client?.opened(number)
        client?.turnEnded()
        readOn()
    }

    /// From the session.
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        end(webSocketTask, code: UInt16(exactly: closeCode.rawValue))
    }

    /// From the session.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        end(task, code: nil)
    }
}
