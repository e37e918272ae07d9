import JSON
import Ports
import Rules
import Wire

/// What a call asks to be changed of slot 0, whichever call it is. What is so already is no change.
struct RecordChange {
    var title: String?? = nil
    var metadata: RawJSON? = nil
    /// Set beside the unknown fields that are there.
    var unknown: [JSONMember] = []
    var join: [NewParticipant] = []
    var leave: [String] = []
    var promote: [String] = []
    var demote: [String] = []
    /// Only if slot 0 has this `rev`; what changes nothing is no conflict.
    var ifRev: Int? = nil

    /// All whom it names.
    var named: [String] { leave + join.map(\.user) + promote + demote }
}

/// What a `RecordChange` comes to for those who take part: who really joins, leaves, becomes admin
/// or ceases to be, each once.
struct MembershipChange {
    /// How many take part before, and how many of them are admins.
    private let standing: (people: Int, rulers: Int)
    private(set) var joining: [NewParticipant] = []
    private(set) var leaving: [String] = []
    private(set) var promoting: [String] = []
    private(set) var demoting: [String] = []
    /// Who takes part already, but came with fields of their own.
    private(set) var described: [NewParticipant] = []
    /// How many are admins after it.
    private let rulers: Int
    /// Whom the change would make admin though they don't take part.
    private(set) var strangers: [String] = []

    /// - Parameters:
    ///   - standing: how many take part before, and how many of them are admins.
    ///   - present: those who are named by the change and take part before, at least.
    ///   - ruling: those of them who are admins.
    init(
        _ change: RecordChange, standing: (people: Int, rulers: Int) = (0, 0),
        present: Set<[UInt8]> = [], ruling: Set<[UInt8]> = []
    ) {
        self.standing = standing
        var (present, ruling) = (present, ruling)
        let named = ruling.count
        for user in change.leave where present.remove(user.exactID) != nil {
            leaving.append(user)
            ruling.remove(user.exactID)
        }
        for participant in change.join {
            if present.insert(participant.user.exactID).inserted {
                joining.append(participant)
            } else {
                described.append(participant)
            }
        }
        for user in change.demote where ruling.remove(user.exactID) != nil {
            demoting.append(user)
        }
        for user in change.promote {
            if !present.contains(user.exactID) {
                strangers.append(user)
            } else if ruling.insert(user.exactID).inserted {
                promoting.append(user)
            }
        }
        rulers = standing.rulers - named + ruling.count
    }

    /// Holds numbers, and what is said of those who join, to the limits; a field given as `null` is
    /// left out.
    /// - Throws: `too_large`.
    mutating func hold(to limits: LogLimits) throws(RequestError) {
        try limits.check(
            people: (standing.people, people), rulers: (standing.rulers, rulers))
        for at in joining.indices {
            joining[at].unknown = [].merged(with: joining[at].unknown)
            let new = joining[at]
            _ = try Description(
                .participant, title: new.name, metadata: new.metadata, unknown: new.unknown
            ).new(within: limits)
        }
    }

    /// How many take part after it.
    var people: Int { standing.people - leaving.count + joining.count }

    var isEmpty: Bool {
        joining.isEmpty && leaving.isEmpty && promoting.isEmpty && demoting.isEmpty
    }
}

extension Description {
    /// What a participant who takes part already becomes by the fields that came.
    func changed(
        by participant: NewParticipant, within limits: LogLimits
    ) throws(RequestError) -> Description? {
        let after = changed(
            title: participant.name.map { .some($0) }, metadata: participant.metadata,
            unknown: participant.unknown)
        if let after { try limits.check(after, insteadOf: self) }
        return after
    }
}
