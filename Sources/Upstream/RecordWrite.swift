import Chat
import JSON
import Ports
import Rules
import Wire

/// A decided change of slot 0 as a server is asked to write it, of a conversation that was seen or
/// of a new one. A value.
struct RecordWrite: Sendable {
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

    init(_ change: RecordChange<StoredMember>, of view: StoredConversation) {
        let members = change.members
        said = change.said ?? view.said
        epoch = view.head.epoch
        recordRev = String(view.recordRev)
        mends = view.isMemberless
        joining = members.joining.map(\.user)
        leaving = members.leaving
        distinct = ""
        creator = ""
        people = members.people
        isWhole = view.isWhole
        (users, admins) = members.applied(to: view.users, admins: view.admins)
        // Users who only become admin, or cease to be one, keep place and fields.
        var present: [ID: StoredMember] = [:]
        for user in members.promoting + members.demoting {
            if let member = view.member(user) { present[user.id] = member }
        }
        for member in change.described { present[member.user.id] = member }
        for user in leaving { present[user.id] = nil }
        written =
            view.users.compactMap { user in
                present[user.id].map { ($0.user, $0.joined, $0.fields) }
            } + members.joining.map(Self.joined)
    }

    /// - Parameter people: the key of a distinct one's participants.
    init(_ creation: Creation, people: String?) {
        let members = creation.members
        said = creation.said
        epoch = ""
        recordRev = ""
        mends = false
        creator = creation.creator ?? ""
        (users, admins) = members.applied(to: [], admins: [])
        written = members.joining.map(Self.joined)
        leaving = []
        joining = users
        distinct = people ?? ""
        self.people = members.people
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
    /// Whether somebody joined, or the conversation is new.
    var isNew: Bool { isCreation || !joining.isEmpty }
}

extension StoredMember: MemberView {
    fileprivate var fields: [UInt8] {
        Self.fields(name: name, metadata: metadata, unknown: unknown, joinedSeq: joinedSeq)
    }
}

extension StoredConversation {
    fileprivate var said: Description {
        Description(.conversation, title: title, metadata: metadata, unknown: unknown)
    }

    /// What a rule is asked on.
    var seen: RecordView<StoredMember> {
        RecordView(
            said, people: memberCount, members: members, admins: admins,
            isMemberless: isMemberless, shown: shown)
    }
}
