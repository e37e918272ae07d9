import Cache
import Chat
import FoundationEssentials
import Ports
import Rules
import SQLite
import Synchronization
import Wire

@testable import Upstream

/// A log driven without a thread, batch by batch: a batch can be rolled back, and the process can
/// end and begin between two of them.
final class DrivenLog {
    typealias Call = (operation: Operation, caller: Caller)

    let directory: String
    let store: Store
    let connection: Connection
    let reader: Reader
    private(set) var log: MessageLog
    private let tail: Int
    private let told = Told()

    init(tail: Int) throws {
        directory = try Origin.makeDirectory()
        store = try Store(
            Store.Options(
                path: directory + "/gapless.db", origin: Embedded.kind, durability: .normal,
                isChecked: false, wait: .seconds(30)))
        connection = try Connection(path: store.options.path, access: .readWrite)
        _ = try connection.integer("PRAGMA wal_autocheckpoint = 0")
        reader = try Reader(store)
        self.tail = tail
        log = try Self.log(store, connection, reader, tail, told)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private static func log(
        _ store: Store, _ connection: Connection, _ reader: Reader, _ tail: Int, _ told: Told
    ) throws -> MessageLog {
        let outlet = Outlet()
        outlet.open { told.take($0) }
        return try MessageLog(
            connection, reader, PresentLimits(LogLimits()), tailLimit: tail,
            clock: { told.now }, outlet: outlet, witness: store.witness)
    }

    /// The time of day, in milliseconds.
    var now: Int64 {
        get { told.now.milliseconds }
        set { told.set(newValue) }
    }

    /// As another process would find it.
    func restart() throws { log = try Self.log(store, connection, reader, tail, told) }

    /// Does all of it in one transaction.
    /// - Returns: what was told, in its order.
    @discardableResult
    func perform(_ calls: [Call]) throws -> [UpstreamOutput] {
        let jobs = try begin(calls)
        try connection.execute("COMMIT")
        log.committed(jobs)
        return told.takeAll()
    }

    /// Does all of it, and then the disk fails.
    func lose(_ calls: [Call]) throws {
        let jobs = try begin(calls)
        try connection.execute("ROLLBACK")
        let error = CacheError(.disk, doing: "write", on: "a log", seen: "it fails", detail: "here")
        log.rolledBack(jobs, because: error)
        _ = told.takeAll()
    }

    private func begin(_ calls: [Call]) throws -> [UpstreamCall] {
        let jobs = calls.enumerated().map { number, call in
            UpstreamCall.perform(call.operation, by: call.caller, token: UInt64(number))
        }
        try connection.execute("BEGIN IMMEDIATE")
        for job in jobs { try log.write(job) }
        try log.settle()
        return jobs
    }
}

/// What a log told, and the time that it is told.
private final class Told: Sendable {
    private let outputs = Mutex<[UpstreamOutput]>([])
    private let milliseconds = Mutex<Int64>(1_795_000_000_000)

    var now: Timestamp { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
    func set(_ value: Int64) { milliseconds.withLock { $0 = value } }

    func take(_ more: [UpstreamOutput]) { outputs.withLock { $0 += more } }

    func takeAll() -> [UpstreamOutput] {
        outputs.withLock { outputs in
            defer { outputs = [] }
            return outputs
        }
    }
}
