import Chat
import Ports
import Wire

/// Questions and orders to the cache, the upstream and the shell. Each has a number, under which
/// its purpose is kept until the answer, and goes out with the turn. Shared by the parts of an
/// engine that ask.
final class Questions {
    /// The purpose of an answer.
    enum Purpose {
        case load(String)
        /// A reload for a stream in memory that lacks its last message.
        case refresh(String)
        /// Whether the log has the change that the call must not miss.
        case reach(Call)
        /// The answer goes into the reply to the call.
        case answer(Call)
        /// The same for `findBoundaries`, asked as of this head.
        case boundaries(Call, head: Head)
        case write(Call)
        /// The origin's answer is the reply to the call.
        case asked(Call)
        /// Writes to the cache about these streams.
        case store([Stream])
        /// The cache was trimmed, and is asked for what it holds.
        case reload(Stream, beginning: Int)
        /// The cached phase of a two-phase reply.
        case shown(Call)
        /// The seq of the message whose id anchors the call.
        case place(Call, id: String, field: String)
        /// Whether the cache saw the head that a holder claims.
        case proof(FetchQueue.Subject, HeadProof)
        /// A user's unread counts.
        case unread(ID, reading: Int)
        /// A user's unread count of one conversation.
        case unreadIn(ID, of: ID)
        case fetch(FetchQueue.Question)
        /// Who takes part in a conversation of which users are watched.
        case room(ID)
        /// Who is there.
        case presence
    }

    private var open: [UInt64: Purpose] = [:]
    /// What was decided since `takeDecided`, in order.
    private var decided = Turn()
    /// The number of the latest question.
    private(set) var last: UInt64 = 0

    // MARK: - Asking

    /// Queues a call of the upstream.
    func act(_ call: UpstreamCall) { decided.effects.append(.upstream(call)) }

    /// Queues writes to the cache.
    func store(_ writes: [StoreWrite], of streams: [Stream]) {
        decided.effects.append(.store(token: number(for: .store(streams)), writes))
    }

    /// Reads the cache, under the question's number.
    func read(_ query: Query, as number: UInt64) {
        decided.reads.append(Turn.Read(token: number, query: query))
    }

    /// A number for a question.
    func number(for purpose: Purpose) -> UInt64 {
        last += 1
        open[last] = purpose
        return last
    }

    /// Everything decided since the last call.
    func takeDecided() -> Turn {
        var turn = Turn()
        swap(&turn, &decided)
        return turn
    }

    // MARK: - Pending questions

    /// The purpose of the question; nil if its answer is not awaited.
    subscript(_ number: UInt64) -> Purpose? { open[number] }

    /// The question was answered, or its answer is no longer awaited.
    @discardableResult
    func close(_ number: UInt64) -> Purpose? { open.removeValue(forKey: number) }

    /// The call still waits, for the stream to reach the position of its answer.
    func reopen(_ number: UInt64, for call: Call) { open[number] = .answer(call) }

    /// Whether a call awaits messages of this conversation from the cache.
    func isRead(_ conversation: String) -> Bool {
        open.values.contains {
            guard let call = $0.answered else { return false }
            return call.request.conversation?.isSameID(conversation) ?? false
        }
    }

    /// The numbers of the pending writes about these streams, ascending.
    func stores(of streams: [Stream]) -> [UInt64] {
        open.keys.filter { number in
            guard case .store(let others) = open[number] else { return false }
            return others.contains { other in streams.contains { $0 === other } }
        }.sorted()
    }
}
