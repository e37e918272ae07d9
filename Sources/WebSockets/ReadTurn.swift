import Ports

/// How much input of large reads one turn of the loop processes, and whose. A peer that sends much
/// waits for the next turns, so that a small request waits for one of them and not for all.
///
/// Those who wait take turns by the bytes that were processed for them: owners first, then the
/// connections of each (`FairQueue`). So a user with twenty connections has the share of one with
/// one, and before anybody's turn comes, each other owner has at most one read.
struct ReadTurn {
    /// A connection whose input waits: it is not read meanwhile, so it has one read in the queue.
    private struct Waiting {
        let id: SocketID
        let bytes: Int
    }

    private var waiting = FairQueue<Waiting>()
    /// Bytes that were processed in this turn.
    private var bytes = 0
    private var isReleasing = false
    /// A job that goes on in the next turn was posted.
    private var isPosted = false

    /// A read of this size is processed at once, some 0.1 ms of work.
    private static let small = 4 << 10
    /// After so many bytes of a turn, some 1 ms of work, other large reads wait.
    private static let limit = 32 << 10

    mutating func begin() { bytes = 0 }

    /// Whether to process a read of so many bytes now.
    mutating func admits(_ count: Int) -> Bool {
        // What is released was counted when it was taken from the queue.
        if isReleasing { return true }
        guard count <= Self.small || waiting.isEmpty && bytes < Self.limit else { return false }
        bytes += count
        return true
    }

    /// A read of so many bytes was not admitted.
    /// - Parameter payer: whose share it takes.
    /// - Returns: whether a job must be posted that goes on in the next turn.
    mutating func wait(_ id: SocketID, _ bytes: Int, for payer: Payer) -> Bool {
        waiting.append(Waiting(id: id, bytes: bytes), for: payer, cost: bytes)
        return post()
    }

    private mutating func post() -> Bool {
        guard !isPosted else { return false }
        isPosted = true
        return true
    }

    /// The posted job runs.
    mutating func beginRelease() { (isPosted, isReleasing) = (false, true) }

    /// The connection whose turn it is, as far as the turn allows.
    /// - Parameter isHere: whether there still is such a connection; one that is gone takes nothing
    ///   of its owner's share.
    mutating func takeNext(where isHere: (SocketID) -> Bool) -> SocketID? {
        while bytes < Self.limit, let piece = waiting.popFirst(isFree: true) {
            guard isHere(piece.element.id) else { continue }
            bytes += piece.element.bytes
            waiting.charge(piece.payer, piece.cost)
            return piece.element.id
        }
        return nil
    }

    /// - Returns: whether a job must be posted for the rest.
    mutating func endRelease() -> Bool {
        isReleasing = false
        return !waiting.isEmpty && post()
    }
}
