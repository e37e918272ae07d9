import Chat
import Wire

/// Whether the log that is asked and listened to is the one that a replica knows: after a failover
/// another master may go on under the same epoch, and another log may take the name. Part of a
/// replica; it keeps what the origin has said of heads that holders saw (head proofs), and which
/// logs of the name have ended.
struct LogIdentity {
    /// It is the log that the stream knows. Until that is so, nothing of it is taken.
    private(set) var isConfirmed = false
    /// Logs that had this name and ended: the feed told of them, and the origin, asked after that,
    /// of the one that the stream knows. What else an unbroken feed tells of them comes late.
    private var ended: Set<String> = []
    /// Other logs that the feed has told of, as long as the origin has not said which one counts.
    private var suspected: Set<String> = []
    /// What the log said of head proofs. Bounded.
    private var proofs: [HeadProof: Bool] = [:]
    /// Those that the cache, or the origin, is asked about.
    private var asked: Set<HeadProof> = []

    /// Logs of one name that are remembered; what is forgotten is asked about again.
    private static let endedLimit = 100
    private static let proofLimit = 1000

    /// The feed, or the log behind it, may be another one: what was found before does not count.
    mutating func begin(inSameFeed: Bool) {
        if !inSameFeed { (ended, suspected) = ([], []) }
        isConfirmed = false
        proofs = [:]
        asked = []
    }

    /// It is the log that the stream knows.
    /// - Returns: whether that is news.
    mutating func confirm() -> Bool {
        guard !isConfirmed else { return false }
        isConfirmed = true
        ended.formUnion(suspected)
        suspected = []
        return true
    }

    /// The feed has told of logs of this name; to be called before the origin is asked.
    /// - Parameter own: the epoch that the stream knows.
    /// - Returns: whether the origin is to be asked which of them counts: not if all have ended.
    mutating func suspect(_ epochs: Set<String>, own: String?) -> Bool {
        guard !epochs.isSubset(of: ended) else { return false }
        if ended.count + suspected.count > Self.endedLimit { (ended, suspected) = ([], []) }
        suspected.formUnion(epochs.subtracting([own ?? ""]))
        return true
    }

    // MARK: - Head proofs

    /// Whether the log has what a holder saw; nil if nobody has said.
    func holds(_ proof: HeadProof) -> Bool? { proofs[proof] }

    /// Somebody is to be asked for it.
    /// - Returns: whether nobody is yet.
    mutating func ask(_ proof: HeadProof) -> Bool { asked.insert(proof).inserted }

    mutating func note(_ proof: HeadProof, holds: Bool) {
        asked.remove(proof)
        if proofs.count >= Self.proofLimit { proofs.removeAll() }
        proofs[proof] = holds
    }

    /// There was no answer.
    mutating func giveUp(_ proof: HeadProof) { asked.remove(proof) }
}

/// What a holder says that it saw of a log: the mark at a rev.
struct HeadProof: Hashable {
    let rev: Int
    let mark: String

    init(_ head: Head) {
        rev = head.rev
        mark = head.mark
    }
}
