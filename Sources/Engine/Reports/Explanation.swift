import Chat
import Wire

/// The fate of one message: the answer to `explain`.
package struct Explanation: Sendable {
    /// Which message is asked about, and the origin's answer about it.
    package struct Question: Sendable {
        package var conversation: String
        package var seq: Int?
        package var id: String?
        /// If given, only this user is asked about.
        package var user: String?
        package var origin = Origin.unasked
        /// The oldest place that the origin still has, if it said so.
        package var floor: Int?

        package init(conversation: String, seq: Int?, id: String?, user: String?) {
            self.conversation = conversation
            self.seq = seq
            self.id = id
            self.user = user
        }
    }

    /// The origin's answer about the message.
    package enum Origin: Sendable {
        case message(EncodedMessage)
        /// The origin has no such message, or no longer.
        case none
        case unasked
        /// The origin could not be asked, and why.
        case away(String)
    }

    /// An event in the life of the message.
    package struct Step: Sendable {
        package var at: Timestamp
        /// A fate, or a word of the journal.
        package var what: String
        /// Names and values in order: who was concerned, and the numbers.
        package var facts: [(name: String, value: Fact)] = []
    }

    package enum Fact: Sendable, Hashable {
        case text(String)
        case number(Int)
    }

    /// A connection and its state of the message; without a session, a user.
    package struct Reader: Sendable {
        package var session: SessionID?
        package var user: String
        package var isConnected = false
        package var isSubscribed = false
        package var fate = Fate.notWatching
        package var at: Timestamp?
        package var steps: [Step] = []
        /// The event that last brought it, and whether the outcome of that is known.
        var told: Journal.Serial = 0
        var isSettled = true

        mutating func became(_ fate: Fate, at: Timestamp, _ facts: [(String, Fact)] = []) {
            self.fate = fate
            self.at = at
            note(fate.rawValue, at: at, facts)
        }

        mutating func note(_ what: String, at: Timestamp, _ facts: [(String, Fact)] = []) {
            guard steps.count < Explanation.stepLimit else { return }
            steps.append(Step(at: at, what: what, facts: facts.map { (name: $0.0, value: $0.1) }))
        }
    }

    package var conversation: String
    package var seq: Int?
    package var id: String?
    package var fate: Fate
    package var origin: Origin
    /// From when on the journal is complete; nil if there is none.
    package var begins: Timestamp?
    package var steps: [Step]
    /// By user and session, at most `readerLimit`.
    package var readers: [Reader]
    /// How many readers each fate has, also those beyond `readerLimit`.
    package var counts: [Fate: Int]

    /// How many readers an answer lists, and how many steps of each.
    package static let readerLimit = 1000
    static let stepLimit = 100
}
