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
        /// The pages that it has asked for.
        var pages: Set<Int> = []
    }

    private var conversations: [ID: [Int: Listener]] = [:]
    private var lists: [Int: UpdateQueue<ConversationsUpdate>] = [:]
    private var states: [Int: UpdateQueue<ConnectionState>] = [:]
    private var totals: [Int: UpdateQueue<UnreadSum>] = [:]
    private var presences: [Int: UpdateQueue<PresenceList>] = [:]

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

    /// - Returns: whether the conversation has no listener left.
    mutating func remove(_ number: Int, of conversation: String) -> Bool {
        let id = conversation.id
        conversations[id]?[number] = nil
        guard conversations[id]?.isEmpty ?? true else { return false }
        conversations[id] = nil
        return true
    }

    mutating func tell(_ conversation: String, _ update: ConversationUpdate) {
        if case .page(let token, let result) = update {
            return answer(token, result, update, conversation.id)
        }
        let weight = update.messageCount
        for listener in (conversations[conversation.id] ?? [:]).values {
            listener.queue.push(update, weight: weight)
        }
    }

    /// A page comes to who asked for it.
    private mutating func answer(
        _ token: Int, _ result: Result<MessagesFrame, ClientError>, _ update: ConversationUpdate,
        _ id: ID
    ) {
        guard let number = conversations[id]?.first(where: { $1.pages.contains(token) })?.key else {
            return
        }
        if (try? result.get())?.isCached != true { conversations[id]?[number]?.pages.remove(token) }
        conversations[id]?[number]?.queue.push(update, isAnswer: true)
    }

    /// A listener asks for a page under a number.
    /// - Returns: whether it still listens.
    mutating func expect(_ token: Int, _ number: Int, of conversation: String) -> Bool {
        conversations[conversation.id]?[number]?.pages.insert(token) != nil
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

    /// - Returns: whether the list has no listener left.
    mutating func removeList(_ number: Int) -> Bool {
        lists[number] = nil
        return lists.isEmpty
    }

    mutating func add(_ queue: UpdateQueue<UnreadSum>, _ number: Int) {
        totals[number] = queue
    }

    mutating func add(_ queue: UpdateQueue<PresenceList>, _ number: Int) {
        presences[number] = queue
    }

    mutating func removePresence(_ number: Int) { presences[number] = nil }
    mutating func removeState(_ number: Int) { states[number] = nil }
    mutating func removeTotal(_ number: Int) { totals[number] = nil }

    func tell(_ update: ConversationsUpdate) { for queue in lists.values { queue.push(update) } }
    func tell(_ state: ConnectionState) { for queue in states.values { queue.push(state) } }
    func tell(_ total: UnreadSum) { for queue in totals.values { queue.push(total) } }
    func tell(_ list: PresenceList) { for queue in presences.values { queue.push(list) } }

    // MARK: All

    mutating func endAll() {
        for all in conversations.values { for listener in all.values { listener.queue.end() } }
        for queue in lists.values { queue.end() }
        for queue in states.values { queue.end() }
        for queue in totals.values { queue.end() }
        for queue in presences.values { queue.end() }
        self = Listeners()
    }
}
