import Chat
import Ports
import Wire

/// What is asked of the cache, the upstream and the shell: each question has a number, under which
/// it waits with what its answer is for, and goes out with the turn. Shared by the machines of an
/// engine that ask.
final class Questions {
    /// What an answer is for.
    enum Purpose {
        case load(String)
        /// The same for a stream that is in memory and lacks its last message.
        case refresh(String)
        /// The answer goes into the reply to the call.
        case answer(Call)
        /// The same for `findBoundaries`, which asked for places up to this head.
        case boundaries(Call, head: Head)
        case write(Call)
        /// The cache was told to keep something of these.
        case store([Stream])
        /// The cache has dropped something, and is asked for what it holds.
        case reload(Stream, beginning: Int)
        /// The first of two answers.
        case shown(Call)
        /// Where the message with the id of the call's anchor is.
        case place(Call, id: String, field: String)
        /// Whether the cache saw what a holder says.
        case proof(FetchQueue.Subject, HeadProof)
        /// What a user has not read.
        case unread(ID, reading: Int)
        case fetch(FetchQueue.Question)
    }

    private var open: [UInt64: Purpose] = [:]
    private var decided = Decided()
    /// The number of the latest question.
    private(set) var last: UInt64 = 0

    // MARK: - What is asked

    /// Has the upstream do it.
    func act(_ effect: Turn.UpstreamEffect) { decided.append(.upstream(effect)) }

    /// Has the cache keep it.
    func store(_ writes: [StoreWrite], of streams: [Stream]) {
        decided.append(.store(token: number(for: .store(streams)), writes))
    }

    /// Asks the cache under a number that was given to the question.
    func read(_ query: Query, as number: UInt64) {
        decided.append(Turn.Read(token: number, query: query))
    }

    /// A number for a question.
    func number(for purpose: Purpose) -> UInt64 {
        last += 1
        open[last] = purpose
        return last
    }

    /// What was decided since the last time.
    func takeDecided() -> Turn { decided.take() }

    // MARK: - What waits for an answer

    /// What the question is for; nil if nobody waits for the answer.
    subscript(_ number: UInt64) -> Purpose? { open[number] }

    /// The question has its answer, or serves nobody any more.
    @discardableResult
    func close(_ number: UInt64) -> Purpose? { open.removeValue(forKey: number) }

    /// The call waits on, for the stream to be where its answer was read.
    func reopen(_ number: UInt64, for call: Call) { open[number] = .answer(call) }

    /// Whether what the cache says of the messages of this conversation is for a call.
    func isRead(_ conversation: String) -> Bool {
        open.values.contains {
            switch $0 {
            case .answer(let call), .shown(let call):
                call.request.conversation?.isSameID(conversation) ?? false
            case .load, .refresh, .boundaries, .write, .store, .reload, .place, .proof, .unread,
                .fetch:
                false
            }
        }
    }

    /// The numbers under which the cache was told to keep something of these, in order.
    func stores(of streams: [Stream]) -> [UInt64] {
        open.keys.filter { number in
            guard case .store(let others) = open[number] else { return false }
            return others.contains { other in streams.contains { $0 === other } }
        }.sorted()
    }
}
