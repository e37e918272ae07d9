import Dispatch
import Synchronization

/// Looks whether troubles of questions, writes, signals and trims are over. Otherwise one that the
/// server has ended stays in health until somebody asks, writes or types, or the next trim is due.
final class PostgresLook: Sendable {
    private let pool: PostgresPool
    private let troubles: Troubles
    private let pause: Duration
    private let queue = DispatchQueue(label: "gapless.postgres.look")
    private let isEnded = Atomic(false)

    init(_ options: PostgresOptions, _ pool: PostgresPool, _ troubles: Troubles) {
        self.pool = pool
        self.troubles = troubles
        pause = options.deadline / 2
    }

    func start() {
        guard !isEnded.load(ordering: .relaxed) else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in
            self?.look()
            self?.start()
        }
    }

    func stop() { isEnded.store(true, ordering: .relaxed) }

    private func look() {
        for kind in ["reads", "writes", "signals", "trimming"] where troubles.has(kind) {
            // A write of nothing needs no room: it can't tell whether there is any.
            if kind == "writes", troubles.isRefusing { continue }
            pool.look(kind)
        }
    }
}
