import JSON
import Ports

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
}

/// What a `RecordChange` comes to for those who take part: who really joins, leaves, becomes admin
/// or ceases to be, each once.
struct MembershipChange {
    /// Who takes part before, in the order in which they joined.
    let users: [String]
    let admins: [String]
    private(set) var joining: [NewParticipant] = []
    private(set) var leaving: [String] = []
    private(set) var promoting: [String] = []
    private(set) var demoting: [String] = []
    /// Who takes part already, but came with fields of their own.
    private(set) var described: [NewParticipant] = []
    /// Whom the change would make admin though they don't take part.
    private(set) var strangers: [String] = []

    init(_ change: RecordChange, users: [String], admins: [String]) {
        self.users = users
        self.admins = admins
        var present = Set(users.map(\.exactID))
        var ruling = Set(admins.map(\.exactID))
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
    }

    var isEmpty: Bool {
        joining.isEmpty && leaving.isEmpty && promoting.isEmpty && demoting.isEmpty
    }
}
