import Cache
import Chat
import Engine
import Ports
import SQLite
import Wire

/// The file of `cache.path`: reads it, writes it if the origin lives elsewhere, and knows whether
/// it can be written. Lives on the loop.
final class CacheFile {
    let store: Store
    let reader: Reader
    /// The cache of an origin that lives elsewhere; nil if the store itself is the origin.
    let replica: ReplicaCache?
    /// Called once, when the cache of an origin elsewhere turns out to be damaged.
    var onDamage: (() -> Void)?
    private let path: String
    private let log: Logger
    private let clock: LoopClock
    private let measurements: Measurements
    /// Whether the file counts as writable, for readiness.
    private var readiness = CacheReadiness()
    private var messages = 0

    init(
        _ store: Store, _ reader: Reader, _ replica: ReplicaCache?, path: String,
        _ instruments: Instruments
    ) {
        self.store = store
        self.reader = reader
        self.replica = replica
        self.path = path
        log = instruments.log
        clock = instruments.clock
        measurements = instruments.measurements
    }

    var snapshot: Snapshot.Cache {
        // A file whose disk hangs is not asked: it may hang, too.
        if !readiness.isHung { messages = (try? reader.messageCount()) ?? 0 }
        return Snapshot.Cache(
            isWritable: !readiness.isLost, failure: readiness.failure, event: readiness.event,
            messages: messages, bytes: store.bytes, freeBytes: store.freeBytes,
            wait: store.waits.longest() ?? .zero)
    }

    // MARK: - Reads

    /// An answer of the file, or of another reader of it; an error of the file is logged.
    func read(_ answer: () throws -> Answer) -> Result<Answer, RequestError> {
        do {
            return .success(try answer())
        } catch let error as RequestError {
            return .failure(error)
        } catch {
            log.say(.cacheReadFailed, ["error": "\(error)"])
            note(error)
            return .failure(.cacheUnreadable)
        }
    }

    func answer(_ query: Query) -> Result<Answer, RequestError> {
        read { try reader.answer(query) }
    }

    /// Starts a new cache if the error says that this one is damaged.
    func note(_ error: any Error) {
        guard replica != nil, let error = error as? CacheError, error.code == .damaged else {
            return
        }
        onDamage?()
        onDamage = nil
    }

    // MARK: - Writes

    /// Writes what the engine has decided, in one transaction.
    /// - Returns: whether it is in the file.
    func write(_ writes: [StoreWrite]) -> Bool {
        guard let replica else { return false }
        let began = ContinuousClock.now
        do {
            try replica.perform(writes, at: clock.timeOfDay)
            measurements.committed(writes.count, since: began, isInFile: true)
            if !readiness.isWritable, replica.checkpointFailure == nil { wrote(nil) }
            return true
        } catch {
            measurements.committed(writes.count, since: began, isInFile: false)
            log.say(.cacheWriteFailed, ["error": "\(error)"])
            wrote(error)
            note(error)
            return false
        }
    }

    /// Records the result of a write.
    /// - Parameter failure: the error; nil if the write succeeded.
    func wrote(_ failure: (any Error)?) {
        if let failure {
            let event = (failure as? CacheError)?.event ?? .cacheUnwritable
            readiness.fail("\(failure)", event, at: clock.now())
        } else {
            readiness.succeed(at: clock.now())
        }
        noteReadiness()
    }

    /// Logs a file that can't be written at once, then every minute while that lasts.
    private func noteReadiness() {
        switch readiness.look(at: clock.now()) {
        case .lost(let seconds):
            log.say(
                readiness.event,
                ["path": path, "error": readiness.failure, "for_s": "\(seconds)"])
        case .back: log.say(.cacheWritable)
        case nil: break
        }
    }

    // MARK: - Once a second

    /// Probes whether the file can be written: a gateway that is not ready gets no traffic, and
    /// without traffic it would never learn that it can write again. Tidies it, if that is due.
    /// - Returns: a conversation of which messages were trimmed.
    func probe() -> String? {
        readiness.waited(store.waits.longest(), at: clock.now())
        noteReadiness()
        guard let replica else { return nil }
        do {
            try replica.look()
        } catch {
            wrote(error)
            return nil
        }
        if readiness.isWritable, let failure = replica.checkpointFailure {
            log.say(.checkpointFailed, ["error": "\(failure)"])
            wrote(failure)
            note(failure)
        }
        if !readiness.isWritable {
            guard (try? replica.probe()) != nil else { return nil }
            wrote(nil)
        }
        do {
            guard replica.isTidyingDue else { return nil }
            return try replica.tidy(at: clock.timeOfDay)
        } catch {
            log.say(.tidyingFailed, ["error": "\(error)"])
            if error.isOfTheDisk { wrote(error) }
            note(error)
            return nil
        }
    }
}

extension RequestError {
    static let cacheUnreadable = RequestError(.cacheUnreadable, "the cache can't be read")
}

extension CacheError {
    /// What the operator is told while the file is open.
    fileprivate var event: LogEvent {
        switch code {
        case .inUse: .cacheLocked
        case .foreign: .cacheChanged
        default: .cacheUnwritable
        }
    }
}
