import Chat
import Wire

/// A connection's requests that are not answered yet. A subscription and its end, for one
/// conversation or for the list, must not overtake each other: what comes behind one that is under
/// way is held. Part of a session.
struct RequestsUnderWay {
    private var ids: Set<Int> = []
    /// What they weigh together.
    private(set) var weight = 0
    /// Conversations with a subscription under way, and the id of its request.
    private var busy: [ID: Int] = [:]
    /// Requests that wait because one for the same conversation is under way.
    private var held: [(conversation: ID, call: Call)] = []

    /// Who waits for answers of this weight is not read until some of them are given.
    static let weightLimit = 100

    /// A request has come.
    /// - Returns: whether its id is not in use.
    mutating func begin(_ id: Int, weight: Int) -> Bool {
        guard ids.insert(id).inserted else { return false }
        self.weight += weight
        return true
    }

    /// It is answered, in one way or the other.
    /// - Returns: whether it was under way.
    mutating func end(_ id: Int, weight: Int) -> Bool {
        guard ids.remove(id) != nil else { return false }
        self.weight -= weight
        return true
    }

    // MARK: - In order

    /// A subscription to the conversation is under way.
    mutating func occupy(_ conversation: ID, by id: Int) { busy[conversation] = id }

    /// The subscription is answered.
    /// - Returns: whether it was this one that was under way.
    mutating func release(_ conversation: ID, by id: Int) -> Bool {
        guard busy[conversation] == id else { return false }
        busy[conversation] = nil
        return true
    }

    /// Holds the call if a subscription to the conversation is under way that is not its own.
    /// - Returns: whether it has.
    mutating func hold(_ call: Call, behind conversation: ID) -> Bool {
        guard let ahead = busy[conversation], ahead != call.id else { return false }
        held.append((conversation, call))
        return true
    }

    /// The next call about the conversation that can go on.
    mutating func takeHeld(_ conversation: ID) -> Call? {
        guard busy[conversation] == nil,
            let next = held.firstIndex(where: { $0.conversation == conversation })
        else { return nil }
        return held.remove(at: next).call
    }

    /// What is held is not to be answered.
    mutating func dropHeld() { held.removeAll() }
}
