import ClientCore
import ClientSystem
import Dispatch
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Safety: every property is used on the queue only, except `session` and `client`, which `start`
// sets before anything else has a reference.
/// The transport for Apple's platforms: a WebSocket task of `URLSession`, on a queue. On other
/// systems it compiles, but refuses to start: the `URLSession` of Linux needs a libcurl with
/// WebSocket support, which Debian's lacks. Use `LoopTransport` there.
public final class URLSessionTransport: NSObject, ClientTransport, @unchecked Sendable {
    /// Why it does not start.
    public struct Refusal: Error, CustomStringConvertible {
        /// What was requested, and what to do instead.
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
    private var isOpen = false

    /// The system's clocks.
    public var now: Instant { SystemClock.now() }

    /// Starts the queue.
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

    /// See `ClientTransport`.
    public func post(_ job: @escaping @Sendable () -> Void) { turn { _ in job() } }

    /// See `ClientTransport`.
    public func stop() {
        queue.async { [self] in
            abandon()
            setAlarm(milliseconds: nil)
            session?.invalidateAndCancel()
            client = nil
        }
    }

    /// See `ClientTransport`.
    public func preconditionOnLoop() {
        precondition(DispatchQueue.getSpecific(key: key) == true, "not on the transport's queue")
    }

    /// See `ClientTransport`.
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

    /// See `ClientTransport`.
    public func connect() -> UInt {
        abandon()
        number += 1
        guard let session, let url else { return number }
        let task = session.webSocketTask(with: url)
        // More than any frame of a gateway; the default limit is 1 MiB.
        task.maximumMessageSize = 64 << 20
        self.task = task
        task.resume()
        return number
    }

    /// See `ClientTransport`.
    public func send(_ text: [UInt8]) {
        guard isOpen, let task else { return }
        // A failure here also fails the task, which reports it.
        task.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
    }

    /// See `ClientTransport`.
    public func abandon() {
        task?.cancel(with: .goingAway, reason: nil)
        task = nil
        isOpen = false
    }

    /// Runs one event as a turn of the loop; nothing after `stop`.
    private func turn(_ body: @escaping @Sendable (any ClientTransportDelegate) -> Void) {
        queue.async { [self] in
            guard let client else { return }
            body(client)
            self.client?.turnEnded()
        }
    }

    /// Receives one message at a time.
    private func readOn() {
        guard isOpen, let task else { return }
        task.receive { [weak self] result in
            self?.turn { [weak self] client in
                guard let self, self.task === task, case .success(let message) = result else {
                    return
                }
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
    /// See `URLSessionWebSocketDelegate`.
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

    /// See `URLSessionWebSocketDelegate`.
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        end(webSocketTask, code: UInt16(exactly: closeCode.rawValue))
    }

    /// See `URLSessionWebSocketDelegate`.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        end(task, code: nil)
    }
}
