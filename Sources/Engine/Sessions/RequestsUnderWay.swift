import Chat
import Wire

/// A connection's unanswered requests. A subscription and its end, for one conversation or for the
/// list, must not overtake each other: a request behind a subscription under way is held. Part of a
/// session.
struct RequestsUnderWay {
    private var ids: Set<Int> = []
    /// Their total weight.
    private(set) var weight = 0
    /// Conversations with a subscription under way, and the id of its request.
    private var busy: [ID: Int] = [:]
    /// Requests held behind a subscription to the same conversation.
    private var held: [(conversation: ID, call: Call)] = []

    /// A session whose unanswered requests have this weight is not read until some are answered.
    static let weightLimit = 100

    /// A request came in.
    /// - Returns: whether its id was free.
    mutating func begin(_ id: Int, weight: Int) -> Bool {
        guard ids.insert(id).inserted else { return false }
        self.weight += weight
        return true
    }

    /// Whether by a result or by an error, the request was answered.
    /// - Returns: whether it was under way.
    mutating func end(_ id: Int, weight: Int) -> Bool {
        guard ids.remove(id) != nil else { return false }
        self.weight -= weight
        return true
    }

    // MARK: - Order

    /// A subscription to the conversation begins.
    mutating func occupy(_ conversation: ID, by id: Int) { busy[conversation] = id }

    /// The subscription was answered.
    /// - Returns: whether this one was under way.
    mutating func release(_ conversation: ID, by id: Int) -> Bool {
        guard busy[conversation] == id else { return false }
        busy[conversation] = nil
        return true
    }

    /// Holds the call if another call's subscription to the conversation is under way.
    /// - Returns: whether it was held.
    mutating func hold(_ call: Call, behind conversation: ID) -> Bool {
        guard let ahead = busy[conversation], ahead != call.id else { return false }
        held.append((conversation, call))
        return true
    }

    /// The next held call about the conversation that can go on.
    mutating func takeHeld(_ conversation: ID) -> Call? {
        guard busy[conversation] == nil,
            let next = held.firstIndex(where: { $0.conversation == conversation })
        else { return nil }
        return held.remove(at: next).call
    }

    /// Forgets the held calls, which are not answered.
    mutating func dropHeld() { held.removeAll() }
}
