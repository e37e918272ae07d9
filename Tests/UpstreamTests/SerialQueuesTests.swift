import Ports
import Synchronization
import Testing
import Wire

@testable import Upstream

/// One piece of work at a time for each conversation.
@Suite struct SerialQueuesTests {
    /// What has begun, and how each piece is ended.
    private final class Log: Sendable {
        let begun = Mutex<[String]>([])
        let ends = Mutex<[String: Ending]>([:])

        struct Ending { let run: @Sendable () -> Void }

        func begin(_ name: String, _ over: @escaping @Sendable () -> Void) {
            begun.withLock { $0.append(name) }
            ends.withLock { $0[name] = Ending(run: over) }
        }

        func end(_ name: String) { ends.withLock { $0.removeValue(forKey: name) }?.run() }

        var names: [String] { begun.withLock(\.self) }
    }

    private func enter(_ queues: SerialQueues, _ log: Log, _ name: String, by user: String) {
        Payer.$current.withValue(Payer(user: user.id)) {
            queues.enter("c") { over in log.begin(name, over) }
        }
    }

    @Test func usersTakeTurnsAndOneIsDoneAtATime() {
        let (queues, log) = (SerialQueues(patience: .seconds(3600)), Log())
        for number in 1...3 { enter(queues, log, "a\(number)", by: "ann") }
        enter(queues, log, "b1", by: "ben")
        queues.enter("other") { over in log.begin("other", over) }
        #expect(log.names == ["a1", "other"])
        for name in ["a1", "a2", "b1", "a3"] { log.end(name) }
        #expect(Set(log.names) == ["a1", "other", "a2", "b1", "a3"])
        #expect((log.names.firstIndex(of: "b1") ?? 9) < (log.names.firstIndex(of: "a3") ?? 0))
        enter(queues, log, "late", by: "ann")
        #expect(log.names.last == "late")
    }

    @Test func thousandsThatAreOverAtOnceAreNoCallsWithinEachOther() {
        let (queues, log) = (SerialQueues(patience: .seconds(3600)), Log())
        let done = Mutex(0)
        enter(queues, log, "first", by: "ann")
        for _ in 0..<10_000 {
            queues.enter("c") { over in
                done.withLock { $0 += 1 }
                over()
            }
        }
        #expect(done.withLock(\.self) == 0)
        log.end("first")
        #expect(done.withLock(\.self) == 10_000)
    }
}
