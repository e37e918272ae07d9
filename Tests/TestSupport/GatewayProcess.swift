import Foundation
import Glibc

/// A real `gapless serve` on free ports, with its files in a temporary directory. It is killed,
/// and the directory removed, when the test lets go of it; between `start` calls (after `kill` or
/// `terminate`) its files and ports stay, so that a restart is one.
package final class GatewayProcess {
    package static let apiKey = "test-key-0123456789abcdef"

    package let directory: URL
    package let port: Int
    package let internalPort: Int
    package var settings: [String: String]
    /// A configuration file below the settings, for keys that a reload is to change.
    package var file: URL?
    /// What the program is started by, from the next start on: a command and its words that become
    /// the program in the same process, as `nsenter` and `fiu-run` do.
    package var launcher: [String]
    /// Which program it is from the next start on; nil: the one that was built.
    package var program: String?
    private var child: ChildProcess?
    private var redis: RedisProcess?

    /// Makes the directory and starts the process.
    ///
    /// - Parameter settings: Further configuration keys and their values.
    /// - Throws: `TestFailure` where it does not come up, with the end of its log.
    package init(
        settings: [String: String] = [:], launcher: [String] = [], starts: Bool = true
    ) throws {
        // As with loops, for gateways that name no other way.
        let isOnOneCore = ProcessInfo.processInfo.environment["TEST_ONE_CORE"] != nil
        self.launcher = isOnOneCore && launcher.isEmpty ? Self.onOneCore : launcher
        let name = "gapless-test-\(UUID().uuidString)"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        port = try Port.free()
        internalPort = try Port.free()
        let keyFile = directory.appendingPathComponent("api-keys")
        try Data("\(Self.apiKey)\n".utf8).write(to: keyFile)
        var all = [
            "listen.public": "127.0.0.1:\(port)", "listen.internal": "127.0.0.1:\(internalPort)",
            "cache.path": directory.appendingPathComponent("gapless.db").path,
            "auth.api_key_file": keyFile.path,
            // Tests share names, and ask faster than people do.
            "limits.requests_per_second": "5000",
        ]
        if Self.upstream == "redis", settings["upstream.kind"] == nil {
            let redis = try RedisProcess()
            self.redis = redis
            all["upstream.kind"] = "redis"
            all["upstream.redis.url"] = redis.url
            // A client that asks for something that the cache lacks is to get it, on a busy machine
            // too.
            all["sync.wait"] = "30s"
        }
        if Self.upstream == "postgres", settings["upstream.kind"] == nil {
            all["upstream.kind"] = "postgres"
            all["upstream.postgres.url"] = try PostgresProcess.sharedDatabase()
            all["sync.wait"] = "30s"
        }
        // The same for gateways that don't name their loops.
        if let loops = ProcessInfo.processInfo.environment["TEST_LOOPS"] {
            all["fanout.loops"] = loops
        }
        all.merge(settings) { _, given in given }
        self.settings = all
        if starts { try start() }
    }

    /// Its settings on a command line.
    package var flags: [String] {
        settings.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] }
    }

    /// Starts a gateway that has one core, whose loop commits by itself.
    package static let onOneCore = ["taskset", "--cpu-list", "0"]

    deinit {
        child?.kill()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Starts it and waits until it is ready.
    ///
    /// - Throws: `TestFailure` where it ends, or is not ready in time.
    package func start(waits: Bool = true) throws {
        precondition(!isRunning, "the gateway runs already")
        let more = file.map { ["--config", $0.path] } ?? []
        let words = try launcher + [program ?? Self.binary(), "serve"] + more + flags
        // Looks a command up where the shell would.
        let program = launcher.isEmpty ? words[0] : "/usr/bin/env"
        let child = try ChildProcess(
            program, launcher.isEmpty ? Array(words.dropFirst()) : words,
            log: directory.appendingPathComponent("log").path)
        self.child = child
        guard waits else { return }
        // A debug build on a machine that is busy with other tests, or under a sanitizer.
        let isReady = Deadline.after(.seconds(60)).poll {
            child.exitStatus != nil || (try? health("/health/ready").status) == 200
        }
        guard isReady, child.exitStatus == nil else {
            let status = child.exitStatus.map { "ended with \($0)" } ?? "is not ready in time"
            throw TestFailure("the gateway \(status); its log ends:\n\(log.suffix(2000))")
        }
    }

    /// Whether gateways that don't name their upstream have one elsewhere (`TEST_UPSTREAM`): a
    /// Redis of their own, or a database of their own. The contract is the same for every origin.
    package static let isMirror = upstream != "embedded"
    package static let upstream =
        ProcessInfo.processInfo.environment["TEST_UPSTREAM"] ?? "embedded"

    package var isRunning: Bool { child != nil && child?.exitStatus == nil }

    package var processID: pid_t? { child?.processID }

    /// Sends SIGTERM and waits for the end.
    ///
    /// - Returns: The exit code; 128 + n where signal n ended it.
    /// - Throws: `TestFailure` where it goes on beyond the deadline.
    package func terminate(_ deadline: Deadline = .after(.seconds(60))) throws -> Int32 {
        signal(SIGTERM)
        return try waitForExit(deadline)
    }

    /// Sends SIGKILL, the crash.
    package func kill() { child?.kill() }

    package func signal(_ number: Int32) { child?.send(number) }

    /// - Throws: `TestFailure` where it goes on beyond the deadline.
    package func waitForExit(_ deadline: Deadline = .after(.seconds(60))) throws -> Int32 {
        guard let child else { throw TestFailure("the gateway was never started") }
        _ = deadline.poll { child.exitStatus != nil }
        guard let status = child.exitStatus else {
            throw TestFailure("the gateway runs on; its log ends:\n\(log.suffix(2000))")
        }
        return status
    }

    /// Whether the log has this text. A line is written beside the loop, so it may come a moment
    /// after the answer to which it belongs.
    package func logs(_ text: String) -> Bool {
        Deadline.after(.seconds(10)).poll { log.contains(text) }
    }

    /// Everything that all starts wrote to standard output and error.
    package var log: String {
        let data = try? Data(contentsOf: directory.appendingPathComponent("log"))
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    /// What is on the internal listener.
    ///
    /// - Throws: `TestFailure` where nobody answers.
    package func health(_ path: String = "/health") throws -> HTTPConnection.Response {
        try HTTPConnection(port: internalPort).send("GET", path, deadline: .after(.seconds(10)))
    }

    package func api(learnsWrites: Bool = true) -> ServerAPI {
        ServerAPI(port: port, apiKey: Self.apiKey, learnsWrites: learnsWrites)
    }

    /// A client that has said `connect`.
    ///
    /// - Throws: `TestFailure` or `ChatTestClient.RequestFailed`.
    package func client(_ user: String) throws -> ChatTestClient {
        let client = try ChatTestClient(port: port)
        try client.connect(user: user)
        return client
    }

    /// The built program: what `TESTED_PROGRAM` names, else the one beside the test bundle.
    package static func binary() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        if let named = environment["TESTED_PROGRAM"] { return named }
        var folders = [URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()]
        let arguments = CommandLine.arguments
        if let at = arguments.firstIndex(of: "--test-bundle-path"), at + 1 < arguments.count {
            folders.insert(URL(fileURLWithPath: arguments[at + 1]), at: 0)
        }
        for folder in folders {
            let path = folder.deletingLastPathComponent().appendingPathComponent("gapless").path
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw TestFailure("no gapless beside the tests; build it, or set TESTED_PROGRAM")
    }
}

extension GatewayProcess {
    /// What the kernel knows of the process.
    package struct Figures: Sendable {
        package var residentBytes: Int
        package var openDescriptors: Int
        /// User and system time together, in seconds.
        package var cpuSeconds: Double
    }

    /// - Throws: `TestFailure` where it does not run.
    package func figures() throws -> Figures {
        guard let processID, isRunning else { throw TestFailure("the gateway does not run") }
        return try Self.figures(of: processID)
    }

    /// - Throws: Foundation's error where there is no such process.
    package static func figures(of processID: pid_t) throws -> Figures {
        let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kilobytes = resident.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        let descriptors = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(processID)/fd")
        let stat = try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        // Fields 14 and 15, counted from behind the name, which may hold spaces.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        let ticks = fields.count > 13 ? (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0) : 0
        return Figures(
            residentBytes: kilobytes * 1024, openDescriptors: descriptors.count,
            cpuSeconds: Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK))))
    }
}

extension GatewayProcess {
    /// The numbers of `/metrics` by name and labels, as they stand there.
    ///
    /// - Throws: `TestFailure` where nobody answers.
    package func metrics() throws -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in try health("/metrics").text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            numbers[String(line[..<space])] = Int(line[line.index(after: space)...])
        }
        return numbers
    }

    /// How often the origin was asked, by kind.
    ///
    /// - Throws: `TestFailure` where nobody answers.
    package func fetches() throws -> [String: Int] {
        let prefix = "gapless_origin_fetches_total{kind=\""
        let counts = try metrics().filter { $0.key.hasPrefix(prefix) }
        return Dictionary(
            uniqueKeysWithValues: counts.map {
                (String($0.key.dropFirst(prefix.count).dropLast(2)), $0.value)
            })
    }
}
