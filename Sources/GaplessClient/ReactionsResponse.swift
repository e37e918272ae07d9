import Chat
import ClientCore
import JSON

/// A page of the reactions to a message.
public struct ReactionsResponse: Sendable, Hashable {
    /// One user's reaction.
    public struct Entry: Sendable, Hashable {
        /// The id of the user.
        public let user: String
        /// What they react with.
        public let key: String
        /// When it began.
        public let at: Timestamp
    }

    /// The reactions of the page, oldest first.
    public let reactions: [Entry]
    /// How many there are in all.
    public let total: Int
    /// The cursor of the next page; nil if there is none.
    public let next: String?

    init(_ answer: JSONObject) throws {
        reactions = (answer["reactions"]?.array ?? []).compactMap { value in
            guard let entry = value.object, let user = entry["user"]?.string,
                let key = entry["key"]?.string, let at = entry["at"]?.string.flatMap(Timestamp.init)
            else { return nil }
            return Entry(user: user, key: key, at: at)
        }
        total = try answer.integer("total")
        next = answer["next"]?.string
    }
}
