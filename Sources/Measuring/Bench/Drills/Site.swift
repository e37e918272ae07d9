import Glibc

/// The gateway under a drill: its endpoints, and its process if the drill started it. Such a
/// process is killed with the drill.
package final class Site {
    let endpoint: Endpoint
    let operations: Operations
    private let key: String
    private let command: [String]
    /// The command that starts a third-party client, for the drill that judges one.
    let client: [String]
    let log: String
    private var process: pid_t?
    /// The process that drains, until its end was seen.
    private var predecessor: pid_t?

    /// - Parameters:
    ///   - key: the key of the server API.
    ///   - command: the command that starts the gateway; empty if it runs already.
    ///   - client: the command that starts a client to be judged; empty if there is none.
    ///   - log: the file for their output.
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

    /// Whether the drill may stop and restart the gateway.
    var isOwned: Bool { !command.isEmpty }

    func api() throws(BenchError) -> ServerAPI {
        ServerAPI(try HTTPConnection(endpoint, key: key))
    }

    /// Starts the gateway, if it is the drill's, and waits until it is ready.
    /// - Throws: `BenchError.failure` if it is not ready in time.
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

    /// Kills the gateway, as a crash would, and restarts it at once, as a supervisor would.
    /// - Throws: `BenchError.failure`
    func restart() throws(BenchError) {
        if let process { Child.kill(process) }
        process = nil
        try start()
    }

    /// Makes the gateway drain, and once it is no longer ready starts its successor with the same
    /// command.
    /// - Throws: `BenchError.failure` if it stays ready.
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

    /// The exit code of the process that drained; nil while it runs, and after it was returned
    /// once.
    func predecessorStatus() -> Int32? {
        guard let status = predecessor.flatMap(Child.exitStatus) else { return nil }
        predecessor = nil
        return status
    }

    /// The gateway's resident memory; nil if the process is not the drill's.
    var residentBytes: Int? {
        process.flatMap { try? ProcessFigures(of: $0) }?.residentBytes
    }

    private func start() throws(BenchError) { process = try Child.spawn(command, log: log) }
}
