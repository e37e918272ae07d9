import Glibc

/// A real gateway that this process started, alone on its core, with its cache in its own
/// directory. It is killed when this object is released.
final class GatewayProcess {
    private static let key = "bench-key-0123456789abcdef"

    let port: Int
    let process: pid_t
    /// Whether it keeps the log itself, so that what is in it ends with this object.
    let isOrigin: Bool
    /// From its start until it was ready.
    private(set) var startSpan: Nanoseconds = 0
    private let operations: Operations
    private let directory: ScratchDirectory
    private let allocationsFile: String
    private var hasEnded = false

    /// Starts it and waits until it is ready.
    ///
    /// - Parameter settings: further `KEY=VALUE` settings.
    /// - Throws: `BenchError.failure` if it does not become ready, with the end of its log.
    init(
        program: String, settings: [String], in directory: ScratchDirectory, on machine: Machine
    ) throws(BenchError) {
        self.directory = directory
        isOrigin = !settings.contains { $0.hasPrefix("upstream.kind=") }
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
        // Its data is thrown away, so there is no reason to drain.
        if !hasEnded { Child.kill(process) }
    }

    /// Stops it as an operator would, and waits for its end; its files stay in their directory.
    /// - Throws: `BenchError.failure` if its exit code is not 0.
    func stop() throws(BenchError) {
        kill(process, SIGTERM)
        let status = Child.wait(process)
        hasEnded = true
        guard status == 0 else { throw .failure("stopping the gateway: it ended with \(status)") }
    }

    /// Polls a thousand times a second: more would cost the gateway the time that is measured.
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

    /// The faults that it reports of itself; empty if its accounting balances and it is healthy.
    /// - Throws: `BenchError.failure` if it does not answer.
    func faults() throws(BenchError) -> [String] { try operations.faults() }

    /// One sample of its metrics.
    /// - Throws: `BenchError.failure` if it does not answer.
    func metric(_ name: String) throws(BenchError) -> Int? { try operations.metric(name) }

    /// The number of its memory allocations.
    /// - Throws: `BenchError.failure` if the program does not count them.
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
