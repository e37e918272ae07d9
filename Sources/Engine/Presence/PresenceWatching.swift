import Chat
import Wire

/// What one connection watches, and what it was told.
struct PresenceWatching {
    let conversations: [PresenceWatch]
    /// The users in the order of the answer.
    private(set) var users: [ID] = []
    /// Those whom the caller may watch; the others are absent.
    private(set) var visible: Set<ID> = []
    /// Those of whom it is not known whether the caller may watch them.
    private var unsure: Set<ID> = []
    private var told: [ID: UserPresence] = [:]
    /// Those of whom there may be something to tell.
    private var pending: Set<ID> = []
    /// When the next event may be sent.
    private var nextAt: Timestamp
    /// Whether it is known who takes part.
    private(set) var isScoped = false
    /// Whether the call was answered.
    private(set) var isAnswered = false

    init(_ conversations: [PresenceWatch], at now: Timestamp) {
        self.conversations = conversations
        nextAt = now
    }

    /// Who is watched now.
    struct Scope {
        var users: [ID] = []
        var visible: Set<ID> = []
        var unsure: Set<ID> = []
    }

    /// Who is to be watched, by who takes part.
    func scope(of caller: ID, _ rooms: PresenceRooms) -> Scope {
        var scope = Scope()
        var seen: Set<ID> = []
        for conversation in conversations {
            let room = rooms[conversation.conversation.id]
            let members = room?.members ?? []
            let takesPart = members.contains(caller)
            let users: [ID]
            if let named = conversation.users {
                users = named.map(\.id)
            } else {
                users = takesPart ? members.sorted { $0.text < $1.text } : []
            }
            for user in users {
                if seen.insert(user).inserted { scope.users.append(user) }
                if takesPart, members.contains(user) { scope.visible.insert(user) }
                if room?.members == nil { scope.unsure.insert(user) }
            }
        }
        return scope
    }

    /// Takes the scope.
    /// - Returns: the users whom it newly shows, and those whom it shows no longer.
    mutating func adopt(_ scope: Scope) -> (begun: [ID], ended: [ID]) {
        let begun = scope.users.filter { scope.visible.contains($0) && !visible.contains($0) }
        let ended = users.filter { visible.contains($0) && !scope.visible.contains($0) }
        isScoped = true
        pending.formUnion(unsure.symmetricDifference(scope.unsure))
        users = scope.users
        visible = scope.visible
        unsure = scope.unsure
        pending.formUnion(begun)
        pending.formUnion(ended)
        return (begun, ended)
    }

    /// Who takes part has changed: the call can't be answered yet.
    mutating func unscope() { isScoped = false }

    /// How the user is shown to this connection; nil: it is not known yet.
    func shown(_ user: ID, _ known: KnownPresence) -> UserPresence? {
        guard !visible.contains(user) else { return known.shown(user) }
        return UserPresence(user: user.text, state: unsure.contains(user) ? .unknown : .absent)
    }

    /// The answer to the call; from here on changes are told.
    mutating func answer(_ known: KnownPresence, at now: Timestamp) -> [UserPresence] {
        isAnswered = true
        let answer = users.map {
            shown($0, known) ?? UserPresence(user: $0.text, state: .unknown)
        }
        for user in answer { told[user.user.id] = user }
        return answer
    }

    /// The user may be shown otherwise.
    mutating func note(_ user: ID) {
        if visible.contains(user) { pending.insert(user) }
    }

    var hasPending: Bool { !pending.isEmpty }

    /// Whether there may be something to tell, and it is time.
    func isDue(at now: Timestamp) -> Bool { isAnswered && !pending.isEmpty && now >= nextAt }

    /// What is to be told now.
    mutating func take(
        _ known: KnownPresence, interval: Int64, at now: Timestamp
    ) -> [UserPresence] {
        var changes: [UserPresence] = []
        for user in pending.sorted(by: { $0.text < $1.text }) {
            // Of one who was not read yet, the reading will note it.
            guard let shown = shown(user, known) else { continue }
            if !shown.isTold(by: told[user]) { changes.append(shown) }
            told[user] = shown
        }
        let watched = Set(users)
        for user in pending where !watched.contains(user) { told[user] = nil }
        pending = []
        if !changes.isEmpty { nextAt = now.adding(interval) }
        return changes
    }
}

extension UserPresence {
    /// Whether what was told says it: the same state, and of one who is not there, since when.
    fileprivate func isTold(by told: UserPresence?) -> Bool {
        guard let told, told.state == state else { return false }
        return state == .present || state == .away || told.since == since
    }
}
