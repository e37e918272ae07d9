import Ports
import Synchronization
import Wire

/// Has one piece of work at a time done for each conversation, users in turns: what is decided upon
/// a view of it would otherwise be decided again by all who were slower. An origin that takes long
/// holds up one piece, not the line: the rest is then done at once.
final class Lanes: Sendable {
    /// A piece of work, which calls what it is given when it is over.
    typealias Work = @Sendable (_ over: @escaping @Sendable () -> Void) -> Void

    private struct Piece {
        let payer: Payer
        let work: Work
    }

    private struct Lane {
        var line = FairQueue<Piece>()
        /// When the piece began that is not over; nil if none is.
        var busySince: ContinuousClock.Instant?
        /// A thread is at it, and goes on with the next one if the piece is over when it returns:
        /// thousands that fail at once are no thousands of calls within each other.
        var isLooping = false
    }

    /// Who waits longer for the piece before waits no more.
    private static let patience = Duration.seconds(1)

    private let lanes = Mutex<[ID: Lane]>([:])

    /// Does it when its turn has come.
    func enter(_ conversation: String, _ work: @escaping Work) {
        let piece = Piece(payer: .current, work: work)
        let mayPass = lanes.withLock { lanes in
            var lane = lanes[conversation.id] ?? Lane()
            if let since = lane.busySince, .now - since > Self.patience { return true }
            lane.line.append(piece, for: piece.payer, cost: 1)
            lanes[conversation.id] = lane
            return false
        }
        if mayPass { return work({}) }
        goOn(conversation.id)
    }

    private func leave(_ conversation: ID) {
        let late = lanes.withLock { lanes -> [Piece] in
            guard let since = lanes[conversation]?.busySince else { return [] }
            lanes[conversation]?.busySince = nil
            guard .now - since > Self.patience else { return [] }
            return lanes[conversation]?.line.removeAll { _ in true } ?? []
        }
        for piece in late { Self.run(piece) {} }
        goOn(conversation)
    }

    private func goOn(_ conversation: ID) {
        let isFirst = lanes.withLock { lanes in
            guard let lane = lanes[conversation], lane.busySince == nil, !lane.isLooping else {
                return false
            }
            lanes[conversation]?.isLooping = true
            return true
        }
        guard isFirst else { return }
        while let piece = next(conversation) {
            Self.run(piece) { [self] in leave(conversation) }
        }
    }

    private func next(_ conversation: ID) -> Piece? {
        lanes.withLock { lanes in
            guard var lane = lanes[conversation] else { return nil }
            guard lane.busySince == nil, let piece = lane.line.popFirst() else {
                lane.isLooping = false
                lanes[conversation] = lane.busySince == nil ? nil : lane
                return nil
            }
            lane.busySince = .now
            lanes[conversation] = lane
            return piece.element
        }
    }

    private static func run(_ piece: Piece, over: @escaping @Sendable () -> Void) {
        Payer.$current.withValue(piece.payer) { piece.work(over) }
    }
}
