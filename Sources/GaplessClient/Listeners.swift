import ClientCore
import Wire

/// Who listens to what. Touched on the client's thread.
struct Listeners {
    /// Who listens to a conversation.
    private struct Listener {
        let queue: UpdateQueue<ConversationUpdate>
        /// How many messages it wants to begin with.
        let limit: Int
        /// The places that it looks at.
        var places = Coverage()
    }

    private var conversations: [ID: [Int: Listener]] = [:]
    private var lists: [Int: UpdateQueue<ConversationsUpdate>] = [:]
    private var states: [Int: UpdateQueue<ConnectionState>] = [:]

    // MARK: Conversations

    mutating func add(
        _ queue: UpdateQueue<ConversationUpdate>, _ number: Int, to conversation: String,
        limit: Int
    ) {
        conversations[conversation.id, default: [:]][number] = Listener(queue: queue, limit: limit)
    }

    /// How many messages a conversation begins with, so that each listener has what it wants; nil
    /// if nobody listens.
    func limit(of conversation: String) -> Int? {
        conversations[conversation.id]?.values.map(\.limit).max()
    }

    /// - Returns: whether nobody listens to the conversation any more.
    mutating func remove(_ number: Int, of conversation: String) -> Bool {
        let id = conversation.id
        conversations[id]?[number] = nil
        guard conversations[id]?.isEmpty ?? true else { return false }
        conversations[id] = nil
        return true
    }

    func tell(_ conversation: String, _ update: ConversationUpdate) {
        let weight = update.messageCount
        for listener in (conversations[conversation.id] ?? [:]).values {
            listener.queue.push(update, weight: weight)
        }
    }

    /// - Returns: the places of the conversation that anybody looks at.
    mutating func watch(_ places: Coverage, _ number: Int, of conversation: String) -> Coverage {
        let id = conversation.id
        guard conversations[id]?[number] != nil else { return Coverage() }
        conversations[id]?[number]?.places = places
        return (conversations[id] ?? [:]).values.reduce(Coverage()) { $0.union($1.places) }
    }

    // MARK: The list, and the state

    mutating func add(_ queue: UpdateQueue<ConversationsUpdate>, _ number: Int) {
        lists[number] = queue
    }

    mutating func add(_ queue: UpdateQueue<ConnectionState>, _ number: Int) {
        states[number] = queue
    }

    /// - Returns: whether nobody listens to the list any more.
    mutating func removeList(_ number: Int) -> Bool {
        lists[number] = nil
        return lists.isEmpty
    }

    mutating func removeState(_ number: Int) { states[number] = nil }

    func tell(_ update: ConversationsUpdate) { for queue in lists.values { queue.push(update) } }
    func tell(_ state: ConnectionState) { for queue in states.values { queue.push(state) } }

    // MARK: All

    /// Whether somebody is so far behind that nothing more should come.
    var isFull: Bool {
        conversations.values.contains { $0.values.contains(where: \.queue.isFull) }
            || lists.values.contains(where: \.isFull)
    }

    mutating func endAll() {
        for all in conversations.values { for listener in all.values { listener.queue.end() } }
        for queue in lists.values { queue.end() }
        for queue in states.values { queue.end() }
        self = Listeners()
    }
}

extension ConversationUpdate {
    /// How many messages it carries.
    fileprivate var messageCount: Int {
        switch self {
        case .began(let snapshot): snapshot.messages.count + snapshot.shown.count
        case .resumed(let frame), .changed(let frame), .page(_, .success(let frame)):
            frame.messages.count
        case .shown(let messages): messages.count
        case .drafts(let drafts): drafts.count
        default: 1
        }
    }
}
