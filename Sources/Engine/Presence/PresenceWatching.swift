import Chat
import Wire

/// What one connection watches, and what it was told.
struct PresenceWatching {
    let conversations: [PresenceWatch]
    /// Rooms asked after this turn, and users read after that call, answer the call.
    let turn: Int
    let call: Int
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
    private(set) var nextAt: Timestamp
    /// Whether the call was answered.
    private(set) var isAnswered = false

    init(
        _ conversations: [PresenceWatch], after turn: Int, _ call: Int, at now: Timestamp
    ) {
        self.conversations = conversations
        self.turn = turn
        self.call = call
        nextAt = now
    }

    /// Who is watched now.
    struct Scope {
        var users: [ID] = []
        var visible: Set<ID> = []
        var unsure: Set<ID> = []
        /// Those who are left out since there are too many.
        var beyond: Set<ID> = []

        mutating func cut(to limit: Int) {
            guard users.count > limit else { return }
            beyond = Set(users[limit...])
            users.removeLast(users.count - limit)
            visible.subtract(beyond)
        }
    }

    /// Who is to be watched, by who takes part: first those who are watched already.
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
        if !users.isEmpty {
            let old = users.filter(seen.contains)
            let oldOnes = Set(old)
            scope.users = old + scope.users.filter { !oldOnes.contains($0) }
        }
        return scope
    }

    /// Takes the scope.
    /// - Returns: the users whom it newly shows, and those whom it shows no longer.
    mutating func adopt(_ scope: Scope) -> (begun: [ID], ended: [ID]) {
        let begun = scope.users.filter { scope.visible.contains($0) && !visible.contains($0) }
        let ended = users.filter { visible.contains($0) && !scope.visible.contains($0) }
        pending.formUnion(unsure.symmetricDifference(scope.unsure))
        users = scope.users
        visible = scope.visible
        unsure = scope.unsure
        pending.formUnion(begun)
        pending.formUnion(ended)
        for user in scope.beyond { told[user] = nil }
        pending.subtract(scope.beyond)
        return (begun, ended)
    }

    /// How the user is shown to this connection; nil: it is not known, or may be outdated.
    func shown(_ user: ID, _ known: KnownPresence) -> UserPresence? {
        guard !visible.contains(user) else { return known.current(user) }
        return UserPresence(user: user.text, state: unsure.contains(user) ? .unknown : .absent)
    }

    /// The answer to the call; from here on changes are told.
    mutating func answer(_ known: KnownPresence) -> [UserPresence] {
        isAnswered = true
        let answer = users.map {
            shown($0, known) ?? known.shown($0) ?? UserPresence(user: $0.text, state: .unknown)
        }
        for user in answer { told[user.user.id] = user }
        return answer
    }

    /// The user may be shown otherwise.
    mutating func note(_ user: ID) {
        if visible.contains(user) { pending.insert(user) }
    }

    /// Any may be shown otherwise.
    mutating func noteAll() { pending.formUnion(visible) }

    var hasPending: Bool { !pending.isEmpty }

    /// What is to be told now.
    mutating func take(
        _ known: KnownPresence, interval: Int64, at now: Timestamp
    ) -> [UserPresence] {
        var changes: [UserPresence] = []
        var rest: Set<ID> = []
        for user in pending {
            guard let shown = shown(user, known) else {
                rest.insert(user)
                continue
            }
            guard !shown.isTold(by: told[user]) else { continue }
            changes.append(shown)
            told[user] = shown
        }
        let watched = Set(users)
        for user in pending where !watched.contains(user) { told[user] = nil }
        pending = rest
        if !changes.isEmpty { nextAt = now.adding(interval) }
        return changes
    }
}

extension UserPresence {
    /// Milliseconds by which moments of one state may differ: each saying counts from its own way
    /// to the origin.
    private static let tolerance: Int64 = 2000

    /// Whether the watcher knows it already: the last event had the same state and the same moment.
    fileprivate func isTold(by told: UserPresence?) -> Bool {
        guard let told, told.state == state else { return false }
        guard state == .present || state == .away, let since, let before = told.since else {
            return told.since == since
        }
        return abs(since.milliseconds - before.milliseconds) <= Self.tolerance
    }
}
