import Ports
import Wire

/// Who is to join, leave, rule or not. Values that are so already are no change.
struct Moves {
    var join: [NewParticipant] = []
    var leave: [String] = []
    var promote: [String] = []
    var demote: [String] = []

    init() {}

    /// To just the participants and admins of these fields, as far as they name them.
    /// - Parameters:
    ///   - users: who takes part; of no matter if the fields don't name participants.
    ///   - admins: those of them who are admins.
    init(put fields: ConversationFields, upon users: [String], _ admins: [String]) {
        if let participants = fields.participants {
            join = participants.map { NewParticipant(user: $0) }
            leave = users.excluding(participants)
        }
        if let rulers = fields.admins {
            promote = rulers
            demote = admins.excluding(rulers)
        }
    }
}

/// The effect of a write on membership: who really joins, leaves, becomes admin or ceases to be
/// one, each once.
package struct MembershipChange: Sendable {
    package private(set) var joining: [NewParticipant] = []
    package private(set) var leaving: [String] = []
    package private(set) var promoting: [String] = []
    package private(set) var demoting: [String] = []
    /// Users to join who take part already; only their fields may change.
    private(set) var described: [NewParticipant] = []
    /// The number of participants afterwards.
    package private(set) var people: Int

    /// - Parameters:
    ///   - before: the number of participants before.
    ///   - present: at least the users of the moves who take part before.
    ///   - ruling: the admins before.
    /// - Throws: `bad_request`, if a new admin does not take part; `too_large`.
    init(
        _ moves: Moves, people before: Int = 0, present: Set<ID> = [], ruling: Set<ID> = [],
        within limits: LogLimits
    ) throws(RequestError) {
        var (present, ruling) = (present, ruling)
        let rulers = ruling.count
        for user in moves.leave where present.remove(user.id) != nil {
            leaving.append(user)
            ruling.remove(user.id)
        }
        present.reserveCapacity(present.count + moves.join.count)
        for participant in moves.join {
            if present.insert(participant.user.id).inserted {
                joining.append(participant)
            } else {
                described.append(participant)
            }
        }
        for user in moves.demote where ruling.remove(user.id) != nil { demoting.append(user) }
        for user in moves.promote {
            guard present.contains(user.id) else { throw .strangersCannotRule }
            if ruling.insert(user.id).inserted { promoting.append(user) }
        }
        people = before - leaving.count + joining.count
        try limits.check(people: (before, people), rulers: (rulers, ruling.count))
        for at in joining.indices {
            // A field given as `null` is none.
            joining[at].unknown = [].merged(with: joining[at].unknown)
            let new = joining[at]
            _ = try Description(
                .participant, title: new.name, metadata: new.metadata, unknown: new.unknown
            ).new(within: limits)
        }
    }

    /// Those who take part afterwards and the admins among them, as they joined.
    package func applied(
        to users: [String], admins: [String]
    ) -> (users: [String], admins: [String]) {
        let gone = Set(leaving.map(\.id))
        let after = users.filter { !gone.contains($0.id) } + joining.map(\.user)
        var ruling = Set(admins.map(\.id)).subtracting(gone)
        for user in demoting { ruling.remove(user.id) }
        for user in promoting { ruling.insert(user.id) }
        return (after, after.filter { ruling.contains($0.id) })
    }

    var isEmpty: Bool {
        joining.isEmpty && leaving.isEmpty && promoting.isEmpty && demoting.isEmpty
    }
}

extension [String] {
    /// Without duplicates, compared as ids (byte by byte).
    package var unique: [String] {
        var seen: Set<ID> = []
        return filter { seen.insert($0.id).inserted }
    }

    /// The strings that are not in `others`, compared as ids (byte by byte).
    func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.id))
        return filter { !taken.contains($0.id) }
    }
}
