import JSON
import Ports
import Rules
import Wire

/// The change of slot 0 that a call asks for. Values that are so already are no change.
struct RecordChange {
    var title: String?? = nil
    var metadata: RawJSON? = nil
    /// Unknown fields to set; the others stay.
    var unknown = UnknownFields([])
    var join: [NewParticipant] = []
    var leave: [String] = []
    var promote: [String] = []
    var demote: [String] = []
    /// Required `rev` of slot 0; a change of nothing is no conflict.
    var ifRev: Int? = nil

    /// All users that it names.
    var named: [String] { leave + join.map(\.user) + promote + demote }
}

extension RecordChange {
    /// Sets these fields.
    init(_ fields: ConversationFields) {
        self.init(
            title: fields.title, metadata: fields.metadata, unknown: fields.unknownFields,
            ifRev: fields.ifRev)
    }

    /// Sets these fields, participants and admins included: who is not named is out.
    /// - Parameters:
    ///   - users: who takes part.
    ///   - admins: those of them who are admins.
    init(
        put fields: ConversationFields, users: @autoclosure () throws -> [String],
        admins: @autoclosure () throws -> [String]
    ) rethrows {
        self.init(fields)
        if let participants = fields.participants {
            join = participants.map { NewParticipant(user: $0) }
            leave = try users().excluding(participants)
        }
        if let rulers = fields.admins {
            promote = rulers
            demote = try admins().excluding(rulers)
        }
    }

    /// The change that an operation is; nil if it is no change of a record that is there.
    init?(_ operation: Operation) {
        switch operation {
        case .update(_, let fields): self.init(fields)
        case .addParticipants(_, let users): self.init(join: users)
        case .removeParticipants(_, let users): self.init(leave: users)
        case .addAdmins(_, let users): self.init(promote: users)
        case .removeAdmins(_, let users): self.init(demote: users)
        case .send, .edit, .delete, .create, .findDistinct, .put, .deleteConversation, .leave,
            .markRead:
            return nil
        }
    }
}

extension Operation {
    /// Whether only admins may change a record so: users who remove only themselves leave.
    func needsAdmin(by user: String?) -> Bool {
        guard case .removeParticipants(_, let users) = self else { return true }
        return !users.allSatisfy { user?.isSameID($0) == true }
    }
}

/// The effect of a `RecordChange` on membership: who really joins, leaves, becomes admin or ceases
/// to be one, each once.
struct MembershipChange {
    /// The numbers of participants and admins before the change.
    private let standing: (people: Int, rulers: Int)
    private(set) var joining: [NewParticipant] = []
    private(set) var leaving: [String] = []
    private(set) var promoting: [String] = []
    private(set) var demoting: [String] = []
    /// Users in `join` who take part already; only their fields may change.
    private(set) var described: [NewParticipant] = []
    /// The number of admins afterwards.
    private let rulers: Int
    /// Users to be made admin who don't take part.
    private(set) var strangers: [String] = []

    /// - Parameters:
    ///   - standing: the number of participants before the change, and of admins among them.
    ///   - present: at least the users named by the change who take part before it.
    ///   - ruling: the admins among `present`.
    init(
        _ change: RecordChange, standing: (people: Int, rulers: Int) = (0, 0),
        present: Set<ID> = [], ruling: Set<ID> = []
    ) {
        self.standing = standing
        var (present, ruling) = (present, ruling)
        let named = ruling.count
        for user in change.leave where present.remove(user.id) != nil {
            leaving.append(user)
            ruling.remove(user.id)
        }
        present.reserveCapacity(present.count + change.join.count)
        for participant in change.join {
            if present.insert(participant.user.id).inserted {
                joining.append(participant)
            } else {
                described.append(participant)
            }
        }
        for user in change.demote where ruling.remove(user.id) != nil {
            demoting.append(user)
        }
        for user in change.promote {
            if !present.contains(user.id) {
                strangers.append(user)
            } else if ruling.insert(user.id).inserted {
                promoting.append(user)
            }
        }
        rulers = standing.rulers - named + ruling.count
    }

    /// The members of a new conversation.
    init(of fields: ConversationFields, within limits: LogLimits) throws(RequestError) {
        self.init(
            RecordChange(
                join: (fields.participants ?? []).map { NewParticipant(user: $0) },
                promote: fields.admins ?? []))
        guard strangers.isEmpty else { throw .strangersCannotRule }
        try hold(to: limits)
    }

    /// Checks the numbers of participants and admins, and the fields of new participants, against
    /// the limits; removes fields given as `null`.
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

    /// The number of participants afterwards.
    var people: Int { standing.people - leaving.count + joining.count }

    var isEmpty: Bool {
        joining.isEmpty && leaving.isEmpty && promoting.isEmpty && demoting.isEmpty
    }
}

extension Description {
    /// A present participant's fields after the given ones are applied; nil if nothing changes.
    func changed(
        by participant: NewParticipant, within limits: LogLimits
    ) throws(RequestError) -> Description? {
        let after = changed(
            title: participant.name.map { .some($0) }, metadata: participant.metadata,
            unknown: UnknownFields(participant.unknown))
        if let after { try limits.check(after, insteadOf: self) }
        return after
    }
}

extension [String] {
    /// Without duplicates, compared as ids (byte by byte).
    var unique: [String] {
        var seen: Set<ID> = []
        return filter { seen.insert($0.id).inserted }
    }

    /// The strings that are not in `others`, compared as ids (byte by byte).
    func excluding(_ others: [String]) -> [String] {
        let taken = Set(others.map(\.id))
        return filter { !taken.contains($0.id) }
    }
}

extension RequestError {
    static let strangersCannotRule = RequestError(
        .notParticipant,
        "admins: not a participant (accepted: those who take part in the conversation)")
    static let adminsOnly = RequestError(
        .notAdmin, "conversation: only its admins may do this")
    static let adminsDelete = RequestError(
        .notAdmin, "conversation: only its admins may delete it")
    static let serverPuts = RequestError(
        .serverOnly, "conversation: only the server API may put one")
    static let needsUser = RequestError(
        .userNeeded,
        "user: missing (accepted: a call of a user, the server API has no place in a conversation)")
    static let idTaken = RequestError(
        .messageIDTaken, "id: taken by another message of this conversation")
}
