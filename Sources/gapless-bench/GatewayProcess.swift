import Glibc
import JSON

/// A real gateway that this process started, alone on its core, with its cache in a directory of
/// its own. Both are gone when the measurement lets go of it.
final class GatewayProcess {
    private static let key = "bench-key-0123456789abcdef"

    let port: Int
    let process: pid_t
    private let internalPort: Int
    private let directory: String
    private var hasEnded = false

    /// Starts it and waits until it is ready.
    ///
    /// - Parameter settings: further `KEY=VALUE` words.
    /// - Throws: `BenchError.failure` where it does not come up, with the end of what it said.
    init(
        program: String, settings: [String], directory parent: String, on machine: Machine
    ) throws(BenchError) {
        directory = try Self.makeDirectory(in: parent)
        port = try Socket.freePort()
        internalPort = try Socket.freePort()
        let keys = "\(directory)/api-keys"
        try Files.write("\(Self.key)\n", to: keys)
        let own = [
            "listen.public=127.0.0.1:\(port)", "listen.internal=127.0.0.1:\(internalPort)",
            "cache.path=\(directory)/gapless.db", "auth.api_key_file=\(keys)",
            // Publishers send as fast as they can, and connections wait for the slowest step.
            "limits.requests_per_second=1000000", "limits.connect_timeout=600s",
            "log.level=warning",
        ]
        let words = [program, "serve"] + (own + settings).flatMap { ["--set", $0] }
        let log = "\(directory)/log"
        process = try machine.onGatewayCore { () throws(BenchError) in
            try Self.spawn(words, log: log)
        }
        try waitUntilReady()
    }

    deinit {
        // Nothing of it is kept, so there is nothing to drain for.
        if !hasEnded {
            kill(process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
        }
        let suffixes = ["", "-wal", "-shm", ".lock"]
        for name in suffixes.map({ "gapless.db\($0)" }) + ["api-keys", "log"] {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    private static func makeDirectory(in parent: String) throws(BenchError) -> String {
        var template = Array("\(parent)/gapless-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .failure("making a directory in \(parent): errno \(errno)")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func spawn(_ words: [String], log: String) throws(BenchError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        let arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, words[0], &actions, nil, arguments + [nil], environ)
        guard code == 0 else { throw .failure("starting \(words[0]): errno \(code)") }
        return child
    }

    private func waitUntilReady() throws(BenchError) {
        let deadline = Clock.now() + 30 * Clock.second
        while Clock.now() < deadline {
            try Interruption.check()
            var status: Int32 = 0
            hasEnded = waitpid(process, &status, WNOHANG) == process
            guard !hasEnded else { break }
            if let probe = try? get("/health/ready"), probe.status == 200 { return }
            usleep(20_000)
        }
        let log = Files.text("\(directory)/log") ?? ""
        throw .failure("starting the gateway: not ready; it said:\n\(log.suffix(1000))")
    }

    // MARK: - What it says of itself

    func figures() throws(BenchError) -> ProcessFigures { try ProcessFigures(of: process) }

    private func get(_ path: String) throws(BenchError) -> HTTPConnection.Response {
        try HTTPConnection(port: internalPort).send("GET", path)
    }

    /// What is wrong by its own account: nothing, if its books balance and it is well.
    /// - Throws: `BenchError.failure` where it does not answer.
    func faults() throws(BenchError) -> [String] {
        let health = try? JSONObject(try get("/health").body)
        let error = health?["accounting"]?.object?["error"]?.int
        let status = health?["status"]?.string
        var faults: [String] = []
        if error != 0 { faults.append("accounting error \(error.map(String.init) ?? "unknown")") }
        if status != "ok" { faults.append("health is \(status ?? "unknown")") }
        return faults
    }

    /// One sample of its metrics, named with its labels as it is written there; nil if it has none
    /// of that name.
    /// - Throws: `BenchError.failure` where it does not answer.
    func metric(_ name: String) throws(BenchError) -> Int? {
        let text = String(decoding: try get("/metrics").body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
        return line.flatMap { Int($0.dropFirst(name.utf8.count + 1)) }
    }

    func api() throws(BenchError) -> ServerAPI {
        ServerAPI(try HTTPConnection(port: port, key: Self.key))
    }
}
