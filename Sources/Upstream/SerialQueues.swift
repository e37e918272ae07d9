import Ports
import Synchronization
import Wire

/// A serial queue per conversation; users take turns. Without it, each slower caller would have to
/// repeat a decision that it made on an outdated view. A slow origin holds up one piece of work,
/// not the queue: once a piece has run longer than `patience`, new callers run at once, and all
/// that are queued run as soon as it ends.
final class SerialQueues: Sendable {
    /// A piece of work; calls `over` when it is done.
    typealias Work = @Sendable (_ over: @escaping @Sendable () -> Void) -> Void

    private struct Piece {
        let payer: Payer
        let work: Work
    }

    private struct Queue {
        var line = FairQueue<Piece>()
        /// When the running piece started; nil if none is running.
        var busySince: ContinuousClock.Instant?
        /// A thread is running the queue and takes the next piece if one ends before it returns: a
        /// loop instead of thousands of nested calls when thousands of pieces fail at once.
        var isLooping = false
    }

    /// How long a piece may run before others no longer wait for it.
    private let patience: Duration
    private let queues = Mutex<[ID: Queue]>([:])

    init(patience: Duration = .seconds(1)) { self.patience = patience }

    /// Runs `work` when its turn comes.
    func enter(_ conversation: String, _ work: @escaping Work) {
        let piece = Piece(payer: .current, work: work)
        let mayPass = queues.withLock { queues in
            let since = queues[conversation.id]?.busySince
            if let since, ContinuousClock.now - since > patience { return true }
            queues[conversation.id, default: Queue()].line.append(
                piece, for: piece.payer, cost: 1)
            return false
        }
        if mayPass { return work({}) }
        goOn(conversation.id)
    }

    private func leave(_ conversation: ID) {
        let late = queues.withLock { queues -> [Piece] in
            guard let since = queues[conversation]?.busySince else { return [] }
            queues[conversation]?.busySince = nil
            guard ContinuousClock.now - since > patience else { return [] }
            return queues[conversation]?.line.removeAll { _ in true } ?? []
        }
        for piece in late { Self.run(piece) {} }
        goOn(conversation)
    }

    private func goOn(_ conversation: ID) {
        let isFirst = queues.withLock { queues in
            guard let queue = queues[conversation], queue.busySince == nil, !queue.isLooping else {
                return false
            }
            queues[conversation]?.isLooping = true
            return true
        }
        guard isFirst else { return }
        while let piece = next(conversation) {
            Self.run(piece) { [self] in leave(conversation) }
        }
    }

    private func next(_ conversation: ID) -> Piece? {
        queues.withLock { queues in
            let isBusy = queues[conversation]?.busySince != nil
            if !isBusy, let piece = queues[conversation]?.line.popFirst() {
                queues[conversation]?.busySince = .now
                return piece.element
            }
            if isBusy {
                queues[conversation]?.isLooping = false
            } else {
                queues[conversation] = nil
            }
            return nil
        }
    }

    private static func run(_ piece: Piece, over: @escaping @Sendable () -> Void) {
        Payer.$current.withValue(piece.payer) { piece.work(over) }
    }
}
