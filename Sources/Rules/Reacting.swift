import Chat
import Ports
import Wire

/// A reaction that is to begin or to end.
package struct Reacting: Sendable {
    package var key: String
    package var isOn: Bool
    /// Whose it is.
    package var user: String

    package init(key: String, isOn: Bool, _ user: String) {
        self.key = key
        self.isOn = isOn
        self.user = user
    }
}

/// What a store shows of the reactions to a message.
package struct ReactionView: Sendable {
    /// Those that the message shows, unless an earlier version stored them.
    package var shown: [Reaction]
    /// The keys with which the user reacts to it whose reaction begins or ends, oldest first.
    package var keys: [String]
    /// The oldest user of the key whom the message does not name; nil if it names all.
    package var next: String?
    /// Whether that user takes part.
    package var takesPart: Bool

    package init(shown: [Reaction], keys: [String], next: String?, takesPart: Bool) {
        self.shown = shown
        self.keys = keys
        self.next = next
        self.takesPart = takesPart
    }
}

/// A decided reaction.
package struct Reacted: Sendable {
    package var reacting: Reacting
    /// What the message shows after it.
    package var shown: [Reaction]
}

extension Reacting {
    /// The change; nil if nothing changes.
    /// - Parameters:
    ///   - isOwn: whether the caller may begin it.
    ///   - isServer: whether the server API calls, for any participant.
    func decide(
        on view: MessageView, isOwn: Bool, isServer: Bool, within limits: LogLimits
    ) throws(RequestError) -> Reacted? {
        let message = view.message
        guard isOwn || !isOn else { throw .reactsForOthers }
        guard isOwn || view.isAdmin else { throw .adminsOnly }
        if message.isDeleted { throw message.refusedAsDeleted(ifRev: nil) }
        guard let seen = view.reactions else {
            throw RequestError(.internalFault, "the reactions were not looked up")
        }
        if isOn, isServer, !seen.takesPart { throw .strangersCannotReact }
        guard seen.keys.contains(where: key.isSameID) != isOn else { return nil }
        var shown = seen.shown
        let at = shown.firstIndex { $0.key.isSameID(key) }
        if isOn {
            try limits.check(
                reactionWithNewKey: at == nil, to: shown, own: seen.keys.count)
            shown.begin(key, of: user, at: at)
        } else if let at {
            shown.end(of: user, at: at, next: seen.next)
        }
        return Reacted(reacting: self, shown: shown)
    }

    /// The keys of a user after the change.
    /// - Parameter before: the keys without it.
    package func keys(of other: String, after before: [String]) -> [String] {
        guard user.isSameID(other) else { return before }
        let rest = before.filter { !$0.isSameID(key) }
        return isOn ? rest + [key] : rest
    }
}

extension [Reaction] {
    fileprivate mutating func begin(_ key: String, of user: String, at place: Int?) {
        guard let place else { return append(Reaction(key: key, count: 1, users: [user])) }
        self[place].count += 1
        if self[place].users.count < Reaction.namedUsers { self[place].users.append(user) }
    }

    fileprivate mutating func end(of user: String, at place: Int, next: String?) {
        self[place].count -= 1
        guard self[place].count > 0 else {
            remove(at: place)
            return
        }
        guard let named = self[place].users.firstIndex(where: user.isSameID) else { return }
        self[place].users.remove(at: named)
        if let next { self[place].users.append(next) }
    }
}
