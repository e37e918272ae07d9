import Chat
import Wire

/// The user's numbers of each conversation (marker, unread messages, unread mentions) as
/// connections are told of them. What is to be told gets a number that rises; so of each connection
/// few numbers are kept, however many conversations there are. Owned by `UnreadCount`.
struct ReadingLog {
    /// A conversation's numbers as they are told, and the number of that.
    private struct Said {
        var state: ReaderState
        var number: Int
    }

    /// The most conversations that one event names.
    static let limit = 100

    private var said: [ID: Said] = [:]
    /// By number; entries whose conversation was said again since don't count.
    private var order: [(number: Int, conversation: ID)] = []
    private var newest = 0
    /// What may differ from what is said.
    private var changed: Set<ID> = []

    /// The conversation's numbers may have changed.
    mutating func note(_ conversation: ID) { changed.insert(conversation) }

    /// The user no longer takes part.
    mutating func drop(_ conversation: ID) {
        said[conversation] = nil
        changed.remove(conversation)
    }

    /// Whether a connection may have something to be told.
    func mayOwe(_ told: ToldReading) -> Bool {
        newest > told.through || !told.answered.isEmpty
    }

    /// Takes what has changed since it was called last. What changes all the time takes turns: what
    /// got its number last, and may not have been told, comes first. Of what is new, what is unread
    /// comes first.
    mutating func publish(_ state: (ID) -> ReaderState?) {
        guard !changed.isEmpty else { return }
        var news: [(conversation: ID, state: ReaderState)] = []
        for conversation in changed {
            guard let state = state(conversation), said[conversation]?.state != state else {
                continue
            }
            news.append((conversation, state))
        }
        changed.removeAll()
        func rank(_ conversation: ID, _ state: ReaderState) -> (Int, Int, String) {
            let number = said[conversation]?.number ?? 0
            return (-number, state.unreadCount > 0 ? 0 : 1, conversation.text)
        }
        news.sort { rank($0.conversation, $0.state) < rank($1.conversation, $1.state) }
        for (conversation, state) in news {
            newest += 1
            said[conversation] = Said(state: state, number: newest)
            order.append((newest, conversation))
        }
        guard order.count > 2 * said.count + Self.limit else { return }
        order.removeAll { said[$0.conversation]?.number != $0.number }
    }

    /// What to tell a connection.
    struct News {
        var readers: [(conversation: ID, state: ReaderState)] = []
        /// What the connection has been told then.
        var told: ToldReading
        /// Whether there is nothing more.
        var isAll = true

        /// - Returns: false if the event has no room left.
        fileprivate mutating func add(_ conversation: ID, _ state: ReaderState) -> Bool {
            guard readers.count < ReadingLog.limit else {
                isAll = false
                return false
            }
            readers.append((conversation, state))
            told.answered[conversation] = nil
            return true
        }
    }

    /// What to tell a connection now: what changed first comes first.
    /// - Parameter isSettled: whether no answer may know more. Then what answers showed otherwise
    ///   is told too.
    func news(for told: ToldReading, isSettled: Bool) -> News {
        var news = News(told: told)
        let first = order.lastIndex { $0.number <= told.through }.map { $0 + 1 } ?? 0
        for (number, conversation) in order[first...] {
            if let said = said[conversation], said.number == number,
                told.answered[conversation] != said.state
            {
                guard news.add(conversation, said.state) else { return news }
            }
            news.told.through = number
        }
        guard isSettled else { return news }
        for (conversation, shown) in news.told.answered.sorted(by: { $0.key.text < $1.key.text }) {
            if let state = said[conversation]?.state, state != shown {
                guard news.add(conversation, state) else { return news }
            }
        }
        news.told.answered = [:]
        return news
    }
}

/// Up to where a connection was told of a `ReadingLog`.
struct ToldReading {
    /// Everything up to this number.
    var through = 0
    /// What answers showed, until that is settled.
    var answered: [ID: ReaderState] = [:]
}
