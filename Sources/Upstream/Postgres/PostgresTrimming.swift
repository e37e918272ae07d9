import Dispatch
import JSON
import Synchronization

/// Trims what `upstream.postgres.retain`, `retain_ids` and `retain_marks` don't keep, in small
/// transactions, by one gateway at a time. If they keep everything, it still trims old entries of
/// the lists' logs: each user who joins or leaves a conversation adds one.
final class PostgresTrimming: Sendable {
    /// Pauses: after a trim that found nothing more, with `retain` or `retain_marks` set and
    /// without; and between two transactions.
    private static let rest = Duration.seconds(10)
    private static let longRest = Duration.seconds(60)
    private static let pause = Duration.milliseconds(50)

    private let options: PostgresOptions
    private let pool: PostgresPool
    private let queue = DispatchQueue(label: "gapless.postgres.trimming")
    private let isEnded = Atomic(false)

    init(_ options: PostgresOptions, _ pool: PostgresPool) {
        self.options = options
        self.pool = pool
    }

    func start() { next(after: Self.pause) }

    func stop() { isEnded.store(true, ordering: .relaxed) }

    private func next(after wait: Duration) {
        guard !isEnded.load(ordering: .relaxed) else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(wait.milliseconds))) { [weak self] in
            self?.trim()
        }
    }

    private func trim() {
        guard !isEnded.load(ordering: .relaxed) else { return }
        let isBusy = options.retain > 0 || options.retainMarks > 0
        pool.trim { [weak self] result in
            let more = (try? result.get()).flatMap { $0["more"]?.bool } ?? false
            self?.next(after: more ? Self.pause : isBusy ? Self.rest : Self.longRest)
        }
    }
}
