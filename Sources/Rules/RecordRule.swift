import JSON
import Ports
import Wire

/// What becomes of slot 0: title, metadata, participants and admins. All that one call changes of
/// it is one change of the log.
package enum RecordRule: Sendable {
    /// Sets these fields.
    case update(ConversationFields)
    /// Sets these fields, participants and admins included: who is not named is out.
    case put(ConversationFields)
    case add([NewParticipant])
    case remove([String])
    case promote([String])
    case demote([String])
    /// The caller goes.
    case leave

    /// The users whose membership it depends on, beside the caller and the admins; nil: all.
    package func named(by user: String?) -> [String]? {
        switch self {
        case .update: []
        case .put(let fields): fields.participants == nil ? fields.admins ?? [] : nil
        case .add(let users): users.map(\.user)
        case .remove(let users), .promote(let users), .demote(let users): users
        case .leave: user.map { [$0] } ?? []
        }
    }

    /// The `rev` that the caller has seen. If there is one, the view must have `shown`.
    package var ifRev: Int? {
        switch self {
        case .update(let fields), .put(let fields): fields.ifRev
        case .add, .remove, .promote, .demote, .leave: nil
        }
    }

    /// Whether it names all participants, so that lost member rows don't matter.
    package var mends: Bool {
        if case .put(let fields) = self { fields.participants != nil } else { false }
    }

    /// The conversation to create where there is none.
    package func creation(within limits: LogLimits) throws(RequestError) -> Creation {
        // A missing conversation has no rev to compare.
        guard case .put(let fields) = self, fields.ifRev == nil else { throw .noConversation }
        return try Creation(fields, by: nil, isPut: true, within: limits)
    }

    /// What the call is answered with, once it is done.
    /// - Parameter isNew: whether somebody joined.
    package func outcome(_ view: ConversationView, isNew: Bool) -> Outcome {
        switch self {
        case .leave: .done
        // There it says whether the call made the conversation.
        case .put: .conversation(view, isNew: false)
        case .update, .add, .remove, .promote, .demote: .conversation(view, isNew: isNew)
        }
    }

    /// The change of the record; nil if nothing changes.
    /// - Parameter user: the caller, who takes part; nil: the server API.
    /// - Throws: `forbidden`; `bad_request`, if a new admin does not take part; `conflict`, if the
    ///   call names another `rev`; `too_large`, if a value would pass a limit.
    package func decide<Member>(
        on view: RecordView<Member>, by user: String?, within limits: LogLimits
    ) throws(RequestError) -> RecordChange<Member>? {
        try checkRight(of: user, view.admins)
        var fields: ConversationFields?
        var moves = Moves()
        switch self {
        case .update(let given): fields = given
        case .put(let given):
            fields = given
            moves = Moves(put: given, upon: view.members.map(\.user), view.admins)
        case .add(let users): moves.join = users
        case .remove(let users): moves.leave = users
        case .promote(let users): moves.promote = users
        case .demote(let users): moves.demote = users
        case .leave: moves.leave = user.map { [$0] } ?? []
        }
        let members = try MembershipChange(
            moves, people: view.people, present: Set(view.members.map(\.user.id)),
            ruling: Set(view.admins.map(\.id)), within: limits)
        let said = fields.flatMap { view.said.changed(by: $0) }
        var described: [Member] = []
        for participant in members.described where participant.hasFields {
            guard var member = view.members.first(where: { $0.user.isSameID(participant.user) }),
                let said = try member.said.changed(by: participant, within: limits)
            else { continue }
            member.said = said
            described.append(member)
        }
        guard !members.isEmpty || !described.isEmpty || said != nil || view.isMemberless
        else { return nil }
        try view.shown?.check(ifRev: ifRev)
        if let said { try limits.check(said, insteadOf: view.said) }
        return RecordChange(said: said, members: members, described: described)
    }

    private func checkRight(of user: String?, _ admins: [String]) throws(RequestError) {
        switch self {
        case .put: break
        case .leave: guard user != nil else { throw .needsUser }
        // Users who remove only themselves leave.
        case .remove(let users) where users.allSatisfy { user?.isSameID($0) == true }: break
        case .update, .add, .remove, .promote, .demote:
            // If there are no admins, every participant may.
            guard let user, !admins.isEmpty, !admins.contains(where: user.isSameID) else { return }
            throw .adminsOnly
        }
    }

    /// Checks that the caller may delete the conversation: without admins, no user may.
    package static func checkDeletion(by user: String?, isAdmin: Bool) throws(RequestError) {
        guard user == nil || isAdmin else { throw .adminsDelete }
    }
}

/// A participant, as a store shows it.
package protocol MemberView {
    var user: String { get }
    var name: String? { get set }
    var metadata: RawJSON? { get set }
    var unknown: [JSONMember] { get set }
}

/// What a store shows of a conversation.
package struct RecordView<Member: MemberView> {
    package var said: Description
    /// The number of participants.
    package var people: Int
    /// At least those whom the rule names, each once.
    package var members: [Member]
    /// All of them.
    package var admins: [String]
    /// Whether member rows are lost, so that any change is one.
    package var isMemberless: Bool
    /// As replies show it: for a rule with `ifRev`.
    package var shown: ConversationView?

    package init(
        _ said: Description, people: Int, members: [Member], admins: [String],
        isMemberless: Bool = false, shown: ConversationView?
    ) {
        self.said = said
        self.people = people
        self.members = members
        self.admins = admins
        self.isMemberless = isMemberless
        self.shown = shown
    }
}

/// A decided change of slot 0.
package struct RecordChange<Member: MemberView> {
    /// Nil if it stays.
    package let said: Description?
    package let members: MembershipChange
    /// Participants who stay, with other fields.
    package let described: [Member]
}

/// A decided new conversation. Only its creator's limit and its id depend on what is there.
package struct Creation: Sendable {
    package let said: Description
    package let members: MembershipChange
    /// The client that creates it; nil: the server API.
    package let creator: String?

    /// - Parameter user: the caller, who becomes participant and admin; nil: the server API, which
    ///   does not take part.
    package init(
        _ fields: ConversationFields, by user: String?, isPut: Bool = false,
        within limits: LogLimits
    ) throws(RequestError) {
        said = try Description(fields, isPut: isPut).new(within: limits)
        var moves = Moves(put: fields, upon: [], [])
        if let user {
            moves.join.insert(NewParticipant(user: user), at: 0)
            moves.promote.insert(user, at: 0)
        }
        members = try MembershipChange(moves, within: limits)
        creator = user
    }

    /// The participants.
    package var users: [String] { members.joining.map(\.user) }

    /// Why it can't have its id. Only those who take part learn what has it.
    /// - Parameter takesPart: whether the creator takes part in what has it.
    package func refusalAsTaken(takesPart: Bool) -> RequestError {
        creator == nil || takesPart ? .conversationTaken : .conversationOfOthers
    }
}

extension ConversationFields {
    /// Who takes part in the distinct conversation of the user and these.
    package func people(with user: String) -> [String] { ([user] + (participants ?? [])).unique }
}

extension ConversationView {
    /// Whether a change of slot 0 is allowed.
    /// - Parameter ifRev: the `rev` that the caller has seen; nil: any.
    /// - Throws: `conflict`, with the conversation as it is.
    fileprivate func check(ifRev: Int?) throws(RequestError) {
        guard let ifRev, ifRev != record.rev else { return }
        let text = "ifRev: \(ifRev), but the conversation has rev \(record.rev)"
        throw .conflict(.revChanged, text) { json in
            json.key("conversation")
            json.conversation(record, lastMessage: lastMessage, head: head, reader: reader)
        }
    }
}

extension MemberView {
    fileprivate var said: Description {
        get { Description(.participant, title: name, metadata: metadata, unknown: unknown) }
        set {
            name = newValue.title
            metadata = newValue.metadata
            unknown = newValue.unknown
        }
    }
}

extension Description {
    fileprivate func changed(by fields: ConversationFields) -> Description? {
        changed(title: fields.title, metadata: fields.metadata, unknown: fields.unknownFields)
    }

    /// A present participant's fields after the given ones are applied; nil if nothing changes.
    fileprivate func changed(
        by participant: NewParticipant, within limits: LogLimits
    ) throws(RequestError) -> Description? {
        let after = changed(
            title: participant.name.map { .some($0) }, metadata: participant.metadata,
            unknown: UnknownFields(participant.unknown))
        if let after { try limits.check(after, insteadOf: self) }
        return after
    }
}

extension NewParticipant {
    fileprivate var hasFields: Bool { name != nil || metadata != nil || !unknown.isEmpty }
}
