import Chat
import JSON

/// How a user is there by one connection: `protocol.md` 2, Who is there.
public enum ConnectionPresence: String, Sendable, Hashable, CaseIterable {
    case present, away
    /// As if the connection had ended.
    case hidden
}

/// Whether a user is there.
public enum PresenceState: String, Sendable, Hashable, CaseIterable {
    case present, away, absent
    /// Nobody knows now: the gateway that knew is cut off, or the origin lost it.
    case unknown
}

/// Whether one user is there, and since when.
public struct UserPresence: Sendable, Hashable {
    /// The user's id.
    public var user: String
    /// Whether the user is there.
    public var state: PresenceState
    /// Since when, by the origin's clock; nil where that is not known.
    public var since: Timestamp?

    /// Whether one user is there.
    public init(user: String, state: PresenceState, since: Timestamp? = nil) {
        self.user = user
        self.state = state
        self.since = since
    }
}

/// Users to watch: those of one conversation.
public struct PresenceWatch: Sendable, Hashable {
    /// The conversation in which they and the caller take part.
    public var conversation: String
    /// The users; nil: all who take part.
    public var users: [String]?

    /// Users of one conversation; without `users`, all who take part.
    public init(conversation: String, users: [String]? = nil) {
        self.conversation = conversation
        self.users = users
    }
}

extension JSONWriter {
    /// `[{user, state, since?}, …]`
    package mutating func presence(_ users: some Sequence<UserPresence>) {
        beginArray()
        for user in users {
            beginObject()
            member("user", string: user.user)
            member("state", string: user.state.rawValue)
            if let since = user.since { member("since", moment: since) }
            endObject()
        }
        endArray()
    }
}
