import JSON

/// How users reacted to a message with one key, as in `protocol.md` 6.
public struct Reaction: Sendable, Hashable {
    /// How many users a message names for each key.
    public static let namedUsers = 10

    /// What they reacted with: 1 to 64 bytes of UTF-8, compared by bytes.
    public var key: String
    /// How many users did.
    public var count: Int
    /// The first of them, oldest first, at most `namedUsers`.
    public var users: [String]

    /// Reactions with one key.
    public init(key: String, count: Int, users: [String]) {
        self.key = key
        self.count = count
        self.users = users
    }
}

extension [Reaction] {
    /// The reactions in a message's `reactions`; nil if the value is something else, which an
    /// earlier version may have stored under that name.
    package init?(_ value: RawJSON) {
        guard let elements = value.array else { return nil }
        var reactions: [Reaction] = []
        reactions.reserveCapacity(elements.count)
        for element in elements {
            guard let object = element.object, let key = object["key"]?.string,
                let count = object["count"]?.int, count > 0, let users = object["users"]?.array
            else { return nil }
            let names = users.compactMap(\.string)
            guard names.count == users.count else { return nil }
            reactions.append(Reaction(key: key, count: count, users: names))
        }
        self = reactions
    }

    /// Writes the member `reactions`, unless there are none.
    func write(to writer: inout JSONWriter) {
        guard !isEmpty else { return }
        writer.key("reactions")
        writer.reactions(self)
    }
}

extension JSONWriter {
    /// Writes the reactions to a message as one value.
    package mutating func reactions(_ reactions: [Reaction]) {
        beginArray()
        for reaction in reactions {
            beginObject()
            member("key", string: reaction.key)
            member("count", int: reaction.count)
            member("users", strings: reaction.users)
            endObject()
        }
        endArray()
    }
}
