import Cache
import Configuration
import Crypto
import Engine
import Glibc
import Ports
import Rules
import SQLite
import Upstream
import WebSockets
import Wire

/// Runs the gateway until it is stopped: the composition root. It makes all parts of the process,
/// each after those that it depends on, and ends them in reverse.
/// - Returns: the exit code of the process.
package func serve(
    _ configuration: Configuration, configurationFile: String?, overrides: ConfigurationOverrides
) -> Int32 {
    let log = Logger(configuration.log)
    defer { log.flush() }
    SQLiteLibrary.keepNoMemoryStatistics()
    // The parent may have blocked signals, and threads inherit the mask: unblock them first.
    var none = sigset_t()
    sigemptyset(&none)
    sigprocmask(SIG_SETMASK, &none, nil)
    do {
        if let problem = Process.descriptorProblem { throw StartError(description: problem) }
        return try Service(
            configuration, ConfigurationSource(file: configurationFile, overrides: overrides), log
        ).run()
    } catch {
        log.say(.startFailed, ["error": "\(error)"])
        return 1
    }
}

/// Logs why a gateway does not start, a line for each problem of its configuration.
package func refuse(_ error: ConfigurationError) {
    let log = Logger(error.log)
    for problem in error.problems { log.say(.startFailed, ["error": "\(problem)"]) }
    log.flush()
}

/// Why a gateway does not start, where no part of it says so.
private struct StartError: Error, CustomStringConvertible {
    let description: String
}

/// Where the configuration comes from, for a reload.
private struct ConfigurationSource {
    let file: String?
    let overrides: ConfigurationOverrides

    func load() throws -> Configuration {
        try Configuration.load(file: file, overrides: overrides)
    }
}

/// The parts of a running gateway, and its stop.
private final class Service {
    private enum Phase {
        case starting, serving, stopping
        /// Stopping, and a successor listens at its ports.
        case left

        var isStopping: Bool { self == .stopping || self == .left }
    }

    private let configuration: Configuration
    private let source: ConfigurationSource
    private let log: Logger
    private let loop: ServiceLoop
    private let server: Server
    private let driver: Driver
    /// How the upstream's threads reach the driver, which owns the upstream: emptied at the end to
    /// break the cycle.
    private let onLoop = LoopBox<Driver>()
    private let upstream: any Upstream
    private let slowReads: SlowReads
    private let replica: ReplicaCache?
    private var supervisor = Supervisor.ofProcess()
    private var phase = Phase.starting
    private var exitCode: Int32 = 0
    /// The time of the next look at the certificate.
    private var certificateDue = ContinuousClock.now
    private let watch: LoopWatch

    init(
        _ configuration: Configuration, _ source: ConfigurationSource, _ log: Logger
    ) throws {
        self.configuration = configuration
        self.source = source
        self.log = log
        watch = LoopWatch(log)
        let credentials = try Credentials(configuration.auth, configuration.listen)
        var options = Store.Options(
            path: configuration.cache.path, origin: configuration.upstream.kind.rawValue)
        // Longer than a predecessor drains; the reconnect slots of its clients begin later.
        options.succession = .milliseconds(configuration.drain.deadline) + .seconds(10)
        options.isChecked = true
        let store = try Store(options)
        log.sayOpening(of: store)
        // The limit of a reply, less what surrounds its messages.
        let bytes = configuration.limits.replyBytes
        let reader = try Reader(store, bytes: bytes)
        let slowReader = try Reader(store, bytes: bytes)
        loop = try ServiceLoop { message in log.say(.libraryWarning, ["said": message]) }
        switch configuration.upstream.kind {
        case .redis:
            upstream = try Redis(configuration, bytes: bytes, log)
            replica = try ReplicaCache(store, retention: Retention(configuration.cache))
        case .postgres:
            upstream = try PostgresUpstream(configuration, bytes: bytes, log)
            replica = try ReplicaCache(store, retention: Retention(configuration.cache))
        case .embedded:
            upstream = try Embedded(store, configuration, bytes: bytes) { [loop, onLoop] failure in
                loop.post { onLoop.value?.cache.wrote(failure) }
            }
            log.sayRenewal(of: store)
            replica = nil
        }
        server = try Server(
            loop: loop, listeners: Listener.all(of: configuration),
            limits: ServerLimits(configuration))
        slowReads = SlowReads(slowReader) { [loop, onLoop] read, result in
            loop.post { onLoop.value?.finished(read, result) }
        }
        let instruments = Instruments(log: log)
        let inbox = UpstreamInbox(loop)
        driver = try Driver(
            Entrance(configuration, credentials, log),
            CacheFile(store, reader, replica, path: configuration.cache.path, instruments),
            instruments, loop: loop, server: server, slowReads: slowReads, upstream: upstream,
            inbox: inbox)
        try openLoops()
        onLoop.value = driver
        driver.http.bodies = BodyWorker(loop) { [onLoop] in onLoop.value?.http.decoded($0) }
        server.delegate = driver
        loop.onTurnEnd = { [driver] in driver.endTurn() }
        loop.every(milliseconds: 100) { [unowned self] in tick() }
        driver.cache.onDamage = { [unowned self] in cacheIsDamaged() }
        loop.onSignal = { [unowned self] signal in received(signal) }
        upstream.start { [onLoop] outputs in
            let now = ContinuousClock.now
            inbox.deliver(outputs) { onLoop.value?.deliver($0, since: now) }
        }
    }

    /// Starts worker loops that share the public listener's connections.
    private func openLoops() throws {
        let count = WorkerLoops.count(configuration.fanout.loops) - 1
        guard count > 0 else { return }
        driver.output.sides = try WorkerLoops(
            count, of: driver, beside: server, on: loop,
            listener: Listener.all(of: configuration)[0],
            limits: ServerLimits(configuration))
    }

    func run() throws -> Int32 {
        let secure = configuration.listen.tls.certificate != nil
        let host = configuration.listen.public.host
        let port = server.port(of: "public") ?? 0
        log.say(
            .listening,
            [
                "version": Release.version, "commit": Release.commit, "public": "\(host):\(port)",
                "internal":
                    "\(configuration.listen.internal.host):\(server.port(of: "internal") ?? 0)",
                "upstream": upstream.kind, "cache": configuration.cache.path,
                "auth": configuration.auth.mode.rawValue,
                "loops": "\(WorkerLoops.count(configuration.fanout.loops))",
            ])
        for warning in Preflight.warnings(configuration) { log.say(warning.event, warning.fields) }
        if driver.http.page != nil {
            log.say(.pageServed, ["url": "\(secure ? "https" : "http")://\(host):\(port)/"])
        }
        driver.output.sides?.begin()
        watch.begin()
        loop.run()
        driver.output.sides?.end()
        upstream.stop()
        slowReads.stop()
        driver.http.bodies?.stop()
        replica?.stop()
        onLoop.value = nil
        log.say(.stopped)
        return exitCode
    }

    // MARK: - Signals

    private func received(_ signal: Int32) {
        switch signal {
        case SIGHUP:
            reload()
        case SIGUSR1, SIGUSR2:
            log.say(.signalIgnored, ["signal": "\(signal)"])
        case _ where phase.isStopping:
            log.say(.stoppingAtOnce, ["signal": "\(signal)"])
            loop.stop()
        default: drain(because: "signal \(signal)")
        }
    }

    private func drain(because reason: String) {
        guard !phase.isStopping else { return }
        phase = .stopping
        supervisor?.stopping()
        driver.cache.store.leave()
        log.say(
            .draining,
            [
                "reason": reason, "connections": "\(server.connectionCount)",
                "window_ms": "\(driver.entrance.configuration.drain.window)",
            ])
        driver.engine.beginDrain(
            window: driver.entrance.configuration.drain.window,
            deadline: driver.entrance.configuration.drain.deadline,
            succession: configuration.upstream.kind == .embedded ? .after : .beside,
            at: driver.now())
        driver.renewDoor()
    }

    /// The gateway can no longer trust the cache's coverage. A new process begins with an empty
    /// cache, and clients come back to it with what they hold; the exit code makes the supervisor
    /// start it.
    private func cacheIsDamaged() {
        do {
            log.say(.cacheDamaged, ["put_aside": try driver.cache.store.quarantine()])
        } catch {
            log.say(.cacheDamaged, ["error": "\(error)"])
        }
        exitCode = 1
        drain(because: "damage")
    }

    private func reload() {
        if !phase.isStopping { supervisor?.reloading() }
        defer { if !phase.isStopping { supervisor?.ready(driver.board.line) } }
        do {
            let new = try source.load()
            let changes = driver.entrance.configuration.changes(to: new)
            let next = try driver.entrance.configuration.reloaded(with: new)
            let credentials = try Credentials(next.auth, next.listen)
            let isCertificateNew = try server.reloadCertificate()
            certificateDue = .now
            let level = driver.entrance.configuration.log.level
            driver.adopt(credentials, next)
            log.showing(level, or: next.log.level) {
                for change in changes { log.say(.reloaded, ["change": change.description]) }
                if isCertificateNew { log.say(.reloaded, ["change": "the certificate"]) }
                if changes.isEmpty, !isCertificateNew {
                    log.say(.reloaded, ["change": "none but the files of auth"])
                }
            }
        } catch {
            log.say(.reloadFailed, ["error": "\(error)"])
        }
    }

    private func tick() {
        watch.beat()
        driver.tick()
        if phase == .starting {
            // The loop runs, and the listeners were open before it did.
            phase = .serving
            supervisor?.ready(driver.board.line)
        }
        supervisor?.beat { driver.board.line }
        lookAtCertificate()
        if phase == .stopping { leavePortsToSuccessor() }
        if phase.isStopping, driver.engine.isDrained { loop.stop() }
    }

    /// Logs once a day that the certificate will expire soon, and every hour once it has.
    private func lookAtCertificate() {
        let now = ContinuousClock.now
        guard now >= certificateDue, let days = server.certificateDaysLeft else { return }
        certificateDue = now + (days < 0 ? .seconds(3600) : .seconds(86_400))
        let fields: KeyValuePairs = [
            "days": "\(days)", "file": configuration.listen.tls.certificate ?? "",
        ]
        if days < 0 {
            log.say(.certificateExpired, fields)
        } else if days < Snapshot.certificateNotice {
            log.say(.certificateExpires, fields)
        }
    }

    /// While draining, leaves the ports to a successor that listens there already.
    private func leavePortsToSuccessor() {
        guard configuration.upstream.kind != .embedded, server.leave("public") else { return }
        phase = .left
        _ = server.leave("internal")
        log.say(.successorListens, ["listener": "public"])
    }
}

extension Embedded {
    /// Reads the configuration.
    /// - Throws: `CacheError`, if the file can't be opened.
    fileprivate convenience init(
        _ store: Store, _ configuration: Configuration, bytes: Int,
        onWritable: @escaping @Sendable (CacheError?) -> Void
    ) throws(CacheError) {
        try self.init(
            store, bytes: bytes, limits: configuration.limits.log,
            pace: WriterPace(isOnOneCore: Process.isOnOneCore), onWritable: onWritable)
    }
}

extension Redis {
    /// Reads the configuration.
    /// - Throws: `RedisError`, if the URL or one of the files can't be used.
    fileprivate convenience init(_ configuration: Configuration, bytes: Int, _ log: Logger) throws {
        let options = try RedisOptions(configuration, bytes: bytes)
        self.init(options, limits: configuration.limits.log) { log.say($0, of: Redis.kind) }
    }
}

extension PostgresUpstream {
    /// Reads the configuration.
    /// - Throws: `PostgresError`, if the URL or its file can't be used, or the database has no
    ///   schema that this program works with.
    fileprivate convenience init(_ configuration: Configuration, bytes: Int, _ log: Logger) throws {
        let options = try PostgresOptions(configuration, bytes: bytes)
        try options.checkSchema()
        self.init(options, limits: configuration.limits.log) {
            log.say($0, of: PostgresUpstream.kind)
        }
    }
}

extension Retention {
    /// Reads the configuration.
    init(_ cache: Configuration.Cache) {
        self.init(messages: cache.retainMessages, age: cache.retainAge)
    }
}

extension Logger {
    /// A line of the upstream.
    func say(_ notice: UpstreamNotice, of kind: String) {
        say(notice.event, ["origin": kind, "notice": notice.text])
    }
}

/// Carries a value of the loop's thread through closures that other threads hold.
// Safety: the value is set before another thread knows of the box, read on the loop only, by jobs
// that were posted to it, and taken out when the loop has ended and runs no more of them.
private final class LoopBox<Value>: @unchecked Sendable {
    var value: Value?
}

extension ServerLimits {
    /// Reads the configuration.
    fileprivate init(_ configuration: Configuration) {
        self.init()
        inboundFrame = configuration.limits.inboundFrame
        httpConnections = configuration.listen.httpConnections
    }
}
