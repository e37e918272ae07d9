import Chat
import Ports
import SQLite
import TestSupport
import Testing
import Wire

@testable import Cache

/// A replica in a file of its own, its model, and the origin that both are told of. What they say
/// is compared by `ReplicaComparison`.
final class ReplicaWorld {
    /// What is open of the file.
    struct Open {
        let store: Store
        let replica: ReplicaCache
        let reader: Reader
    }

    var origin: ReplicaOrigin
    /// Which case it is, for the report of a failure.
    var name = ""
    private(set) var isWrong = false
    private(set) var model: ReplicaModel
    private(set) var now = Timestamp(milliseconds: 0)
    var comparison = ReplicaComparison()
    private let scratch: Scratch
    private var open: Open?

    init(seed: UInt64) throws {
        origin = ReplicaOrigin(seed: seed)
        scratch = try Scratch()
        let retention =
            switch seed % 4 {
            case 0: Retention()
            case 1: Retention(messages: 4)
            case 2: Retention(age: 6_000)
            default: Retention(messages: 5, age: 9_000)
            }
        model = ReplicaModel(retention: retention)
        open = try Self.open(scratch, retention)
    }

    /// What makes transactions fail: the replica's connection alone may write, and has these beside
    /// the file.
    private static let faults = """
        CREATE TEMP TABLE fault (kind INTEGER NOT NULL);
        INSERT INTO fault VALUES (0);
        CREATE TEMP TRIGGER fault1 BEFORE INSERT ON main.coverage
            WHEN (SELECT kind FROM fault) = 1 BEGIN SELECT raise(ABORT, 'injected'); END;
        CREATE TEMP TRIGGER fault2 BEFORE INSERT ON main.message
            WHEN (SELECT kind FROM fault) = 2 BEGIN SELECT raise(ROLLBACK, 'injected'); END;
        CREATE TEMP TRIGGER fault3 AFTER UPDATE ON main.conversation
            WHEN (SELECT kind FROM fault) = 3 BEGIN SELECT raise(FAIL, 'injected'); END;
        CREATE TEMP TRIGGER fault4 AFTER DELETE ON main.coverage
            WHEN (SELECT kind FROM fault) = 4 BEGIN SELECT raise(FAIL, 'injected'); END;
        """

    private static func open(_ scratch: Scratch, _ retention: Retention) throws -> Open {
        let store = try scratch.store(origin: "redis")
        let replica = try ReplicaCache(store, retention: retention)
        try replica.connection.execute(faults)
        return Open(store: store, replica: replica, reader: try Reader(store))
    }

    func file() throws -> Open { try #require(open) }

    func expect(_ isTrue: Bool, _ claim: @autoclosure () -> String) {
        if isTrue { return }
        isWrong = true
        Issue.record("\(claim()): \(name)")
    }

    // MARK: steps

    func reopen() throws {
        try file().replica.stop()
        // Its claim to the file ends with the store.
        open = nil
        open = try Self.open(scratch, model.retention)
    }

    func tidy() throws {
        let replica = try file().replica
        if replica.isTidyingDue { try replica.tidy(at: now) }
    }

    /// A transaction: one that succeeds, is refused, or fails and then succeeds.
    func turn() throws {
        let begun = (origin: origin, model: model)
        var writes: [StoreWrite] = []
        now = Timestamp(milliseconds: now.milliseconds + 700)
        for _ in 0..<Int.random(in: 1...12, using: &origin.random) {
            let write = origin.write(model)
            try model.perform(write, at: now)
            writes.append(write)
        }
        if origin.chance(6), let contradiction = origin.contradiction(model) {
            let random = origin.random
            (origin, model) = begun
            origin.random = random
            expect(try fails(writes + [contradiction]), "a contradiction is refused")
        } else if origin.chance(3) {
            let kind = Int.random(in: 1...4, using: &origin.random)
            let faults = try file().replica.connection
            try faults.execute("UPDATE fault SET kind = \(kind)")
            let hasFailed = try fails(writes)
            try faults.execute("UPDATE fault SET kind = 0")
            guard hasFailed else { return }
            let after = model
            model = begun.model
            try compare()
            model = after
            try file().replica.perform(writes, at: now)
        } else {
            try file().replica.perform(writes, at: now)
        }
    }

    private func fails(_ writes: [StoreWrite]) throws -> Bool {
        let replica = try file().replica
        do throws(CacheError) {
            try replica.perform(writes, at: now)
            return false
        } catch {
            expect(!error.isOfTheDisk, "a fault of the data is not one of the disk")
            expect(error.conversation != nil, "the error says whose it is")
            return true
        }
    }

    /// Everything that can be asked.
    func compare() throws { try comparison.compare(self) }

    /// Whether the file holds what it claims.
    func audit() throws {
        for finding in try file().store.audit() { expect(false, finding) }
    }

    /// Tidies all up and looks whether exactly what is held is left.
    func finish() throws {
        let replica = try file().replica
        while replica.isTidyingDue { try replica.tidy(at: now) }
        try compare()
        try audit()
        let held = model.logs.values.reduce(0) { $0 + $1.messages.count }
        expect(try file().reader.messageCount() == held, "what was dropped is purged")
    }
}
