import Glibc

/// The gateway that a drill is held at: where it listens, and the process, if the drill started it.
/// A process that was started is ended with the drill.
package final class Site {
    let endpoint: Endpoint
    let operations: Operations
    private let key: String
    private let command: [String]
    /// The words that start a client that somebody else wrote, for the drill that judges one.
    let client: [String]
    let log: String
    private var process: pid_t?
    /// The one that drains, until its end was seen.
    private var predecessor: pid_t?

    /// - Parameters:
    ///   - key: of the server API.
    ///   - command: the words that start the gateway; none if it runs already.
    ///   - client: the words that start a client which is to be judged; none if there is none.
    ///   - log: where what they say goes.
    package init(
        _ endpoint: Endpoint, internal operations: Endpoint, key: String, command: [String],
        client: [String] = [], log: String
    ) {
        self.endpoint = endpoint
        self.operations = Operations(operations)
        self.key = key
        self.command = command
        self.client = client
        self.log = log
    }

    deinit {
        for process in [process, predecessor].compactMap(\.self) { Child.kill(process) }
    }

    /// Whether the drill may end the gateway and start it again.
    var isOwned: Bool { !command.isEmpty }

    func api() throws(BenchError) -> ServerAPI {
        ServerAPI(try HTTPConnection(endpoint, key: key))
    }

    /// Starts the gateway, if it is the drill's, and waits until it is ready.
    /// - Throws: `BenchError.failure` where it is not in time.
    func open() throws(BenchError) {
        if isOwned {
            guard !operations.isReady else {
                throw .failure("starting the gateway: another one listens there already")
            }
            try start()
        }
        let deadline = Clock.now() + 30 * Clock.second
        while !operations.isReady {
            try Interruption.check()
            if let process, Child.exitStatus(process) != nil {
                self.process = nil
                throw .failure("starting the gateway: it has ended (see \(log))")
            }
            guard Clock.now() < deadline else {
                throw .failure("looking for the gateway: not ready after 30 s")
            }
            usleep(20_000)
        }
    }

    /// Ends the gateway as a crash would, and starts it at once, as whoever looks after it would.
    /// - Throws: `BenchError.failure`
    func restart() throws(BenchError) {
        if let process { Child.kill(process) }
        process = nil
        try start()
    }

    /// Has the gateway drain, and once it says that it is not ready any more starts its successor
    /// with the same words.
    /// - Throws: `BenchError.failure` where it goes on being ready.
    func relieve() throws(BenchError) {
        guard let process else { throw .failure("draining the gateway: it is not the drill's") }
        (self.process, predecessor) = (nil, process)
        kill(process, SIGTERM)
        let deadline = Clock.now() + 5 * Clock.second
        while operations.isReady {
            guard Clock.now() < deadline else {
                throw .failure("draining the gateway: ready 5 s after SIGTERM")
            }
            usleep(1000)
        }
        try start()
    }

    /// The code that the one that drained exited with; nil while it runs, and once it was told.
    func predecessorStatus() -> Int32? {
        guard let status = predecessor.flatMap(Child.exitStatus) else { return nil }
        predecessor = nil
        return status
    }

    /// What the gateway holds of memory; nil if it is not the drill's.
    var residentBytes: Int? {
        process.flatMap { try? ProcessFigures(of: $0) }?.residentBytes
    }

    private func start() throws(BenchError) { process = try Child.spawn(command, log: log) }
}
