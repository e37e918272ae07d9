import ClientCore
import JSON

/// Where others mention the user: a part of it, oldest first.
public struct MentionsResponse: Sendable, Hashable {
    /// A message.
    public struct Place: Sendable, Hashable {
        /// Its id.
        public let id: String
        /// Its place in the conversation.
        public let seq: Int
    }

    /// The messages, oldest first.
    public let places: [Place]
    /// How many there are in all.
    public let total: Int

    init(_ answer: JSONObject) throws {
        places = (answer["places"]?.array ?? []).compactMap { value in
            guard let place = value.object, let id = place["id"]?.string,
                let seq = place["seq"]?.int
            else { return nil }
            return Place(id: id, seq: seq)
        }
        total = try answer.integer("total")
    }
}
