import ClientCore

// Safety: every property is touched on the network's queue only; `start`, which others call, goes
// there first.
/// The transport of one client on a `MemoryNetwork`, for the tests of apps.
public final class MemoryTransport: ClientTransport, @unchecked Sendable {
    /// What is on its way to the client.
    enum News {
        case opened
        case text([UInt8])
        case close(UInt16?)
    }

    private let network: MemoryNetwork
    private var client: (any ClientTransportDelegate)?
    private var jobs: [@Sendable () -> Void] = []
    private var inbox: [News] = []
    private var lastNumber: UInt = 0
    private var link: MemoryLink?
    private var (isOpen, isAwake) = (false, false)
    private(set) var alarm: Int64?

    init(_ network: MemoryNetwork) { self.network = network }

    /// The time of the network.
    public var now: Instant { network.now }

    /// Joins the network. Where it connects to is the network's peer, whatever the endpoint says.
    public func start(_ client: any ClientTransportDelegate, to endpoint: ClientEndpoint) throws {
        network.perform { _ in
            precondition(self.client == nil, "a transport is started once")
            self.client = client
        }
        network.join(self)
    }

    /// Runs a job on the network's queue, after those that were posted before.
    public func post(_ job: @escaping @Sendable () -> Void) {
        network.later { [self] in
            guard let client else { return }
            job()
            if self.client != nil { client.turnEnded() }
        }
    }

    /// Runs the work in a task; the network's time waits for it.
    public func begin(_ work: @escaping @Sendable () async -> Void) { network.begin(work) }

    /// As `ClientTransport` has it.
    public func stop() {
        network.later { [self] in
            abandon()
            alarm = nil
            client = nil
            network.leave(self)
        }
    }

    /// As `ClientTransport` has it.
    public func preconditionOnLoop() {
        precondition(network.isOnQueue, "not on the network's queue")
    }

    /// As `ClientTransport` has it.
    public func setAlarm(milliseconds: Int?) {
        alarm = milliseconds.map { now.monotonic + Int64(max(1, $0)) }
    }

    /// As `ClientTransport` has it.
    public func connect() -> UInt {
        abandon()
        lastNumber += 1
        let link = MemoryLink(lastNumber, self)
        self.link = link
        // What the peer says at once comes behind the opening.
        inbox = [.opened]
        if !network.connected(link) { inbox = [.close(nil)] }
        wake()
        return lastNumber
    }

    /// As `ClientTransport` has it.
    public func send(_ text: [UInt8]) {
        guard isOpen, let link else { return }
        network.later { [self] in
            if link === self.link { network.received(text, from: link) }
        }
    }

    /// As `ClientTransport` has it.
    public func abandon() {
        guard let link else { return }
        self.link = nil
        isOpen = false
        inbox = []
        network.closed(link)
    }

    // MARK: From the network

    func ring() {
        alarm = nil
        client?.alarmRang()
        client?.turnEnded()
    }

    func `break`(code: UInt16?) {
        guard link != nil else { return }
        // What had not been read is lost with the connection.
        inbox = [.close(code)]
        wake()
    }

    func deliver(_ news: News, on link: MemoryLink) {
        guard link === self.link else { return }
        inbox.append(news)
        wake()
    }

    /// Tells what waits, in a job of its own.
    private func wake() {
        guard !isAwake, !inbox.isEmpty else { return }
        isAwake = true
        network.later { [self] in
            isAwake = false
            tell()
        }
    }

    private func tell() {
        guard let client, let told = link else { return }
        while told === link, !inbox.isEmpty {
            switch inbox.removeFirst() {
            case .opened:
                isOpen = true
                client.opened(told.number)
            case .text(let text): client.received(told.number, text)
            case .close(let code):
                let number = told.number
                abandon()
                client.closed(number, code: code)
            }
        }
        if self.client != nil { client.turnEnded() }
    }
}
