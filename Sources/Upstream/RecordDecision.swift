import Chat
import JSON
import Ports
import Rules
import Wire

/// A decided change of slot 0, on a view of the conversation or for a new one: all that its writing
/// needs. A value; nil if nothing would change.
struct RecordDecision: Sendable {
    let epoch: String
    let recordRev: String
    /// Whether the damaged member rows are to be replaced.
    let mends: Bool
    private let said: Description
    /// The members afterwards, as far as the view shows them; it always shows the admins.
    let users: [String]
    let admins: [String]
    /// The number of participants afterwards.
    let people: Int
    /// Whether `users` holds all of them.
    let isWhole: Bool
    /// The member rows to write: user, joined (empty: now), fields.
    let written: [(user: String, joined: String, fields: [UInt8])]
    /// For a distinct conversation: the key made of its participants.
    let distinct: String
    /// The client that creates the conversation; empty for the backend.
    let creator: String

    /// Users who join, and users who leave.
    let joining: [String]
    let leaving: [String]
    /// Whether somebody joined, or the conversation is new.
    let isNew: Bool

    /// A change of an existing conversation.
    /// - Throws: `bad_request`, if a new admin does not take part; `conflict`, if the change names
    ///   another `rev`; `too_large`, if a value would pass a limit.
    init?(
        _ change: RecordChange, upon view: StoredConversation, within limits: LogLimits
    ) throws(RequestError) {
        var members = MembershipChange(
            change, standing: (view.memberCount, view.admins.count),
            present: Set(view.users.map(\.id)), ruling: Set(view.admins.map(\.id)))
        guard members.strangers.isEmpty else { throw .strangersCannotRule }
        try members.hold(to: limits)
        let changed = view.said.changed(
            title: change.title, metadata: change.metadata, unknown: change.unknown)
        said = changed ?? view.said
        var described: [StoredMember] = []
        for participant in members.described {
            guard var member = view.member(participant.user),
                let said = try member.said.changed(by: participant, within: limits)
            else { continue }
            member.said = said
            described.append(member)
        }
        guard !members.isEmpty || !described.isEmpty || changed != nil || view.isMemberless
        else { return nil }
        try view.shown.check(ifRev: change.ifRev)
        if let changed { try limits.check(changed, insteadOf: view.said) }
        epoch = view.head.epoch
        recordRev = String(view.recordRev)
        mends = view.isMemberless
        joining = members.joining.map(\.user)
        leaving = members.leaving
        isNew = !joining.isEmpty
        distinct = ""
        creator = ""
        people = members.people
        isWhole = view.isWhole
        let gone = Set(leaving.map(\.id))
        users = view.users.filter { !gone.contains($0.id) } + joining
        var ruling = Set(view.admins.map(\.id)).subtracting(gone)
        for user in members.demoting { ruling.remove(user.id) }
        for user in members.promoting { ruling.insert(user.id) }
        admins = users.filter { ruling.contains($0.id) }
        // Users who only become admin, or cease to be one, keep place and fields.
        var present: [ID: StoredMember] = [:]
        for user in members.promoting + members.demoting {
            if let member = view.member(user) { present[user.id] = member }
        }
        for member in described { present[member.user.id] = member }
        written =
            view.users.filter { !gone.contains($0.id) }.compactMap { user in
                present[user.id].map { ($0.user, $0.joined, $0.fields) }
            } + members.joining.map(Self.joined)
    }

    /// A new conversation.
    init(
        _ said: Description, members: MembershipChange, people: String?, createdBy user: String?
    ) {
        creator = user ?? ""
        self.said = said
        epoch = ""
        recordRev = ""
        mends = false
        users = members.joining.map(\.user)
        let ruling = Set(members.promoting.map(\.id))
        admins = users.filter { ruling.contains($0.id) }
        written = members.joining.map(Self.joined)
        leaving = []
        joining = users
        isNew = true
        distinct = people ?? ""
        self.people = users.count
        isWhole = true
    }

    private static func joined(
        _ participant: NewParticipant
    ) -> (user: String, joined: String, fields: [UInt8]) {
        let fields = StoredMember.fields(
            name: participant.name, metadata: participant.metadata, unknown: participant.unknown)
        return (participant.user, "", fields)
    }

    var title: String? { said.title }
    var metadata: RawJSON { said.metadata ?? .emptyObject }
    var unknown: [JSONMember] { said.unknown }

    /// Whether the conversation is new.
    var isCreation: Bool { epoch.isEmpty }
}

extension StoredMember {
    fileprivate var fields: [UInt8] {
        Self.fields(name: name, metadata: metadata, unknown: unknown)
    }

    fileprivate var said: Description {
        get { Description(.participant, title: name, metadata: metadata, unknown: unknown) }
        set {
            name = newValue.title
            metadata = newValue.metadata
            unknown = newValue.unknown
        }
    }
}

extension StoredConversation {
    fileprivate var said: Description {
        Description(.conversation, title: title, metadata: metadata, unknown: unknown)
    }
}
