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
    func mayOwe(_ told: ToldReading) -> Bool { newest > told.through }

    /// Takes what has changed since it was called last. What is unread is told first.
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
        news.sort {
            ($0.state.unreadCount > 0 ? 1 : 0, $0.conversation.text)
                < ($1.state.unreadCount > 0 ? 1 : 0, $1.conversation.text)
        }
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
    }

    /// What to tell a connection now, newest first.
    func news(for told: ToldReading) -> News {
        var news = News(told: told)
        for (number, conversation) in order.reversed() {
            guard number > told.through else { break }
            guard let said = said[conversation], said.number == number,
                !told.above.contains(number), told.answered[conversation] != said.state
            else { continue }
            guard news.readers.count < Self.limit else {
                news.isAll = false
                return news
            }
            news.readers.append((conversation, said.state))
            news.told.above.insert(number)
            news.told.answered[conversation] = nil
        }
        news.told.through = newest
        news.told.above = []
        return news
    }
}

/// Up to where a connection was told of a `ReadingLog`.
struct ToldReading {
    /// Everything up to this number.
    var through = 0
    /// What it was told above it.
    var above: Set<Int> = []
    /// What answers about the list showed since it was told everything last.
    var answered: [ID: ReaderState] = [:]
}
