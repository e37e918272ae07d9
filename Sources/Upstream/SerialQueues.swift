import Ports
import Synchronization
import Wire

/// A serial queue for each conversation: one piece of its work at a time, users in turns: what is
/// decided upon a view of it would otherwise be decided again by all who were slower. An origin
/// that takes long holds up one piece, not the line: the rest is then done at once.
final class SerialQueues: Sendable {
    /// A piece of work, which calls what it is given when it is over.
    typealias Work = @Sendable (_ over: @escaping @Sendable () -> Void) -> Void

    private struct Piece {
        let payer: Payer
        let work: Work
    }

    private struct Queue {
        var line = FairQueue<Piece>()
        /// When the piece began that is not over; nil if none is.
        var busySince: ContinuousClock.Instant?
        /// A thread is at it, and goes on with the next one if the piece is over when it returns:
        /// thousands that fail at once are no thousands of calls within each other.
        var isLooping = false
    }

    /// Who waits longer for the piece before waits no more.
    private let patience: Duration
    private let queues = Mutex<[ID: Queue]>([:])

    init(patience: Duration = .seconds(1)) { self.patience = patience }

    /// Does it when its turn has come.
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
