import Chat
import Wire

/// Whether the log behind the feed and the answers is the one that a replica knows: after a
/// failover another master may go on under the same epoch, and another log may take the name. Part
/// of a replica; it keeps the origin's answers about heads that holders saw (head proofs), and the
/// former logs of the name.
struct LogIdentity {
    /// Whether the log is the one that the stream knows. Until then nothing of it is taken.
    private(set) var isConfirmed = false
    /// Former logs of this name: the feed reported them, and the origin, asked after that,
    /// confirmed the stream's one. Later events about them in an unbroken feed are late.
    private var ended: Set<String> = []
    /// Other logs that the feed reported and that the origin has not decided on yet.
    private var suspected: Set<String> = []
    /// Results of head proofs. Bounded.
    private var proofs: [HeadProof: Bool] = [:]
    /// Changes above the stream that the origin's log has, and that holders saw.
    private var expected: Set<HeadProof> = []
    /// Head proofs that the cache or the origin is being asked for.
    private var asked: Set<HeadProof> = []

    /// Former logs remembered per name; a forgotten one is asked about again.
    private static let endedLimit = 100
    private static let proofLimit = 1000

    /// The feed, or the log behind it, may be another one: earlier findings don't count.
    mutating func begin(inSameFeed: Bool) {
        if !inSameFeed { (ended, suspected) = ([], []) }
        isConfirmed = false
        (proofs, expected) = ([:], [])
        asked = []
    }

    /// The log is the one that the stream knows.
    mutating func confirm() {
        guard !isConfirmed else { return }
        isConfirmed = true
        ended.formUnion(suspected)
        suspected = []
    }

    /// The feed reported logs of this name; call this before asking the origin.
    /// - Parameter own: the epoch that the stream knows.
    /// - Returns: whether to ask the origin which one counts: not if all are known to have ended.
    mutating func suspect(_ epochs: Set<String>, own: String?) -> Bool {
        guard !epochs.isSubset(of: ended) else { return false }
        if ended.count + suspected.count > Self.endedLimit { (ended, suspected) = ([], []) }
        suspected.formUnion(epochs.subtracting([own ?? ""]))
        return true
    }

    // MARK: - Head proofs

    /// Whether the log has what a holder saw; nil if that is unknown.
    func holds(_ proof: HeadProof) -> Bool? { proofs[proof] }

    /// Whether the origin's log has it, and the stream has yet to show it in its own branch.
    func expects(_ proof: HeadProof) -> Bool { expected.contains(proof) }

    /// Whether a head proof is being asked for.
    var isAsking: Bool { !asked.isEmpty }

    /// A head proof is to be asked for.
    /// - Returns: whether it is not being asked for already, or was confirmed.
    mutating func ask(_ proof: HeadProof) -> Bool {
        !expected.contains(proof) && asked.insert(proof).inserted
    }

    mutating func note(_ proof: HeadProof, holds: Bool) {
        asked.remove(proof)
        if proofs.count >= Self.proofLimit { proofs.removeAll() }
        proofs[proof] = holds
    }

    /// The origin's log has it, above the stream.
    mutating func expect(_ proof: HeadProof) {
        asked.remove(proof)
        if expected.count >= Self.proofLimit { expected.removeAll() }
        expected.insert(proof)
    }

    /// The stream has reached this head. What it passed without its mark, or has with another one,
    /// is asked about again.
    mutating func reached(_ head: Head) {
        guard !expected.isEmpty else { return }
        for proof in expected where proof.rev <= head.rev {
            expected.remove(proof)
            if proof.rev == head.rev, proof.mark == head.mark { note(proof, holds: true) }
        }
    }

    /// No answer came, or one that counts no longer.
    mutating func giveUp(_ proof: HeadProof) {
        asked.remove(proof)
        expected.remove(proof)
    }
}

/// A holder's claim about a log: the mark at a rev.
struct HeadProof: Hashable {
    let rev: Int
    let mark: String
    /// Whether only the origin's word counts. What is known here may be of another branch.
    let isForOrigin: Bool

    init(_ head: Head, isForOrigin: Bool = false) {
        rev = head.rev
        mark = head.mark
        self.isForOrigin = isForOrigin
    }
}
