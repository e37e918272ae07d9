import Chat
import Ports
import Rules
import Wire

/// What a gateway knows of the users whom its connections watch: as the origin answered last, and
/// when it must be asked again. A value without a clock: a test drives it.
///
/// Everything that is told comes from a reading, by the origin's clock. A notification, the time at
/// which a state ends by itself, and a lease that lapsed or is held again only cause a reading.
struct KnownPresence {
    private struct User {
        /// The connections, and how many of their watches name the user.
        var watchers: [SessionID: Int] = [:]
        /// As of the last reading; nil before the first.
        var shown: UserPresence?
        /// The number of the call that asked for that reading.
        var readBy = 0
        /// Gateways where the user is, as far as none said that it ended.
        var gateways: [String] = []
        /// Whether it is to be read, and whether that is under way.
        var isQueued = false
        var isAsked = false
    }

    /// How many users one call reads.
    var limit = 500

    private var users: [ID: User] = [:]
    private var queue = PresenceQueue<ID>()
    /// When a state may be another though nobody says anything.
    private var ends: [ID: Timestamp] = [:]
    /// Watched users by the gateways where they are, and whether those leases held.
    private var byGateway: [String: Set<ID>] = [:]
    private var held: [String: Bool] = [:]
    /// The number of the call that took users last.
    private(set) var call = 0

    /// Whether users are to be read.
    var isDue: Bool { !queue.isEmpty }

    /// The user as of the last reading, which may be outdated; nil before the first, and of one
    /// whom nobody watches.
    func shown(_ user: ID) -> UserPresence? { users[user]?.shown }

    /// The same if nothing is known to have happened since; watchers are told nothing else.
    func current(_ user: ID) -> UserPresence? {
        guard let known = users[user], !known.isQueued, !known.isAsked else { return nil }
        return known.shown
    }

    /// Whether the user may be shown to a question which came after that call: nothing is known to
    /// have happened since the last reading, or it was asked for later. What happens all the time
    /// delays no answer; it is told behind it.
    func answers(_ user: ID, after call: Int) -> Bool {
        current(user) != nil || users[user].map { $0.shown != nil && $0.readBy > call } ?? false
    }

    // MARK: - Who is watched

    /// The connections that watch the user.
    func watchers(of user: ID) -> some Sequence<SessionID> { (users[user]?.watchers ?? [:]).keys }

    mutating func watch(_ user: ID, by session: SessionID) {
        users[user, default: User()].watchers[session, default: 0] += 1
        if users[user]?.shown == nil { ask(user) }
    }

    mutating func unwatch(_ user: ID, by session: SessionID) {
        guard let known = users[user], let count = known.watchers[session] else { return }
        users[user]?.watchers[session] = count == 1 ? nil : count - 1
        guard users[user]?.watchers.isEmpty == true else { return }
        users[user] = nil
        ends[user] = nil
        for gateway in known.gateways { leave(gateway, user) }
    }

    private mutating func leave(_ gateway: String, _ user: ID) {
        byGateway[gateway]?.remove(user)
        guard byGateway[gateway]?.isEmpty == true else { return }
        byGateway[gateway] = nil
        held[gateway] = nil
    }

    // MARK: - What causes a reading

    /// What the origin has of the user changed.
    mutating func ask(_ user: ID) {
        guard users[user]?.isQueued == false else { return }
        users[user]?.isQueued = true
        queue.append(user)
    }

    /// Something may have changed without a word.
    mutating func askAll() { ask(Array(users.keys)) }

    private mutating func ask(_ some: some Sequence<ID>) { for user in some { ask(user) } }

    /// Time has passed.
    mutating func advance(to now: Timestamp) {
        let due = ends.filter { $0.value <= now }.keys
        for user in due { ends[user] = nil }
        ask(due)
    }

    /// The users to read now.
    mutating func take() -> [String] {
        call += 1
        var taken: [String] = []
        while taken.count < limit, let user = queue.popFirst() {
            guard users[user]?.isQueued == true else { continue }
            users[user]?.isQueued = false
            users[user]?.isAsked = true
            taken.append(user.text)
        }
        return taken
    }

    /// The reading of these users failed.
    mutating func failed(_ asked: [String]) {
        for user in asked {
            users[user.id]?.isAsked = false
            ask(user.id)
        }
    }

    // MARK: - Readings

    /// Takes an answer of the origin.
    /// - Parameter asked: the users whom it was asked for.
    /// - Returns: those who are shown otherwise than before.
    mutating func took(
        _ reading: PresenceReading, _ asked: [String], _ rule: PresenceRule, at now: Timestamp
    ) -> [ID] {
        var changed: [ID] = []
        for text in asked {
            let user = text.id
            guard var known = users[user] else { continue }
            let judged = rule.judge(user, reading)
            let shown = judged.shown(text)
            if shown != known.shown { changed.append(user) }
            known.shown = shown
            known.readBy = call
            known.isAsked = false
            ends[user] = judged.until.map { now.adding(max(1, $0 - reading.now)) }
            for gateway in known.gateways { leave(gateway, user) }
            known.gateways = []
            for entry in reading.users[user] ?? [] where entry.end == nil {
                known.gateways.append(entry.gateway)
                byGateway[entry.gateway, default: []].insert(user)
                let isHeld = rule.holds(renewed: entry.renewed, at: reading.now)
                // If it was otherwise for others, the leases of this answer show that below.
                held[entry.gateway] = held[entry.gateway] ?? isHeld
            }
            users[user] = known
        }
        for (gateway, wasHeld) in held {
            let isHeld = rule.holds(renewed: reading.leases[gateway], at: reading.now)
            guard isHeld != wasHeld else { continue }
            held[gateway] = isHeld
            ask(byGateway[gateway] ?? [])
        }
        return changed
    }
}
