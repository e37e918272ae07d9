import Glibc

/// A real gateway that this process started, alone on its core, with its cache in a directory of
/// its own. It is gone when the measurement lets go of it.
final class GatewayProcess {
    private static let key = "bench-key-0123456789abcdef"

    let port: Int
    let process: pid_t
    /// From its start until it said that it is ready.
    private(set) var startSpan: Nanoseconds = 0
    private let operations: Operations
    private let directory: ScratchDirectory
    private let allocationsFile: String
    private var hasEnded = false

    /// Starts it and waits until it is ready.
    ///
    /// - Parameter settings: further `KEY=VALUE` words.
    /// - Throws: `BenchError.failure` where it does not come up, with the end of what it said.
    init(
        program: String, settings: [String], in directory: ScratchDirectory, on machine: Machine
    ) throws(BenchError) {
        self.directory = directory
        port = try Socket.freePort()
        let internalPort = try Socket.freePort()
        operations = Operations(.loopback(internalPort))
        allocationsFile = "\(directory.path)/allocations"
        let keys = "\(directory.path)/api-keys"
        try Files.write("\(Self.key)\n", to: keys)
        let own = [
            "listen.public=127.0.0.1:\(port)", "listen.internal=127.0.0.1:\(internalPort)",
            "cache.path=\(directory.path)/gapless.db", "auth.api_key_file=\(keys)",
            // Publishers send as fast as they can, and connections wait for the slowest step.
            "limits.requests_per_second=1000000", "limits.connect_timeout=600s",
            "limits.connections_per_user=0", "limits.bytes_per_second=0B",
            "limits.participants=1000000",
            "log.level=warning",
        ]
        let words = [program, "serve"] + (own + settings).flatMap { ["--set", $0] }
        let log = "\(directory.path)/log"
        let start = Clock.now()
        let variables = ["COUNTED_ALLOCATIONS=\(allocationsFile)"]
        process = try machine.onGatewayCore { () throws(BenchError) in
            try Child.spawn(words, log: log, adding: variables)
        }
        try waitUntilReady(since: start)
    }

    deinit {
        // Nothing of it is kept, so there is nothing to drain for.
        if !hasEnded { Child.kill(process) }
    }

    /// Has it end as an operator would, and waits until it has; its files stay in their directory.
    /// - Throws: `BenchError.failure` where it does not end well.
    func stop() throws(BenchError) {
        kill(process, SIGTERM)
        let status = Child.wait(process)
        hasEnded = true
        guard status == 0 else { throw .failure("stopping the gateway: it ended with \(status)") }
    }

    /// Asks a thousand times a second: more would cost the gateway what is measured.
    private func waitUntilReady(since start: Nanoseconds) throws(BenchError) {
        let deadline = start + 30 * Clock.second
        while Clock.now() < deadline {
            try Interruption.check()
            hasEnded = Child.exitStatus(process) != nil
            guard !hasEnded else { break }
            if operations.isReady {
                startSpan = Clock.now() - start
                return
            }
            usleep(1000)
        }
        let log = Files.text("\(directory.path)/log") ?? ""
        throw .failure("starting the gateway: not ready; it said:\n\(log.suffix(1000))")
    }

    // MARK: - What it says of itself

    func figures() throws(BenchError) -> ProcessFigures { try ProcessFigures(of: process) }

    /// What is wrong by its own account: nothing, if its books balance and it is well.
    /// - Throws: `BenchError.failure` where it does not answer.
    func faults() throws(BenchError) -> [String] { try operations.faults() }

    /// One sample of its metrics.
    /// - Throws: `BenchError.failure` where it does not answer.
    func metric(_ name: String) throws(BenchError) -> Int? { try operations.metric(name) }

    /// How often it has asked for memory.
    /// - Throws: `BenchError.failure` where the program does not count that.
    func allocations() throws(BenchError) -> Int {
        guard let number = Files.number(allocationsFile) else {
            throw .failure("reading \(allocationsFile): --gateway is not gapless-counted")
        }
        return number
    }

    func api() throws(BenchError) -> ServerAPI {
        ServerAPI(try HTTPConnection(port: port, key: Self.key))
    }
}
