import JSON
import Ports
import Synchronization
import Wire

/// What the feed tells, made of doorbells: one says that a conversation has changed, and then what
/// changed above its position is read. The position of a conversation is a head that an answer of
/// this generation has told, and rises by an unbroken chain of revs only; before there is one a
/// doorbell is remembered. Any thread.
final class PostgresFeed: Sendable {
    private struct Entry {
        /// nil until an answer of this generation has told one.
        var position: Head?
        /// Something has changed since the last question.
        var isRung = false
        var isAsking = false
        /// Who waits until the feed has told of a change, by its rev.
        var waiting: [(epoch: String, rev: Int, then: @Sendable () -> Void)] = []
        /// Each entry has another: an answer for one that is gone is passed over.
        let number: Int
    }

    private struct State {
        var conversations: [ID: Entry] = [:]
        var lists: Set<ID> = []
        /// Entries of lists' logs that were told; they become visible in any order.
        var told: Set<Int> = []
        /// What came of lists and is told with the change of the conversation, in one turn.
        var listed: [ID: [UpstreamOutput]] = [:]
        /// 0 while nobody listens.
        var generation = 0
        private var entries = 0

        /// The conversation is wanted, and nothing is known of it.
        mutating func begin(_ conversation: ID) {
            entries += 1
            released += conversations[conversation]?.waiting.map { $0.then } ?? []
            conversations[conversation] = Entry(number: entries)
        }

        /// Those who wait no longer.
        var released: [@Sendable () -> Void] = []

        /// Lets those go on who waited for what the feed has told now.
        mutating func release(_ conversation: ID) {
            guard let entry = conversations[conversation], !entry.waiting.isEmpty else { return }
            let position = entry.position
            func isTold(_ epoch: String, _ rev: Int) -> Bool {
                position.map { $0.epoch != epoch || $0.rev >= rev } ?? true
            }
            released += entry.waiting.filter { isTold($0.epoch, $0.rev) }.map { $0.then }
            conversations[conversation]?.waiting.removeAll { isTold($0.epoch, $0.rev) }
        }
    }

    /// A question for a chain.
    private struct Question {
        let conversation: ID
        let entry: Int
        let position: Head
        let generation: Int
    }

    /// How many changes one question brings at most.
    static let part = 500
    /// Of so many lists it is asked in one question.
    private static let listsTogether = 1000

    private let pool: PostgresPool
    private let links: PostgresLinks
    private let bytes: Int
    private let deliver: @Sendable ([UpstreamOutput]) -> Void
    private let damaged: @Sendable (_ conversation: String, _ part: String) -> Void
    private let state = Mutex(State())

    init(
        _ options: PostgresOptions, _ pool: PostgresPool, _ links: PostgresLinks,
        deliver: @escaping @Sendable ([UpstreamOutput]) -> Void,
        damaged: @escaping @Sendable (String, String) -> Void
    ) {
        self.pool = pool
        self.links = links
        bytes = options.bytes
        self.deliver = deliver
        self.damaged = damaged
    }

    // MARK: what is wanted

    func subscribe(_ conversation: ID) {
        state.withLock { state in
            if state.conversations[conversation] == nil { state.begin(conversation) }
            guard state.generation > 0 else { return }
            deliver([.subscribed(conversation: conversation.text, generation: state.generation)])
        }
    }

    func unsubscribe(_ conversation: ID) {
        state.withLock { state in
            state.released += state.conversations[conversation]?.waiting.map { $0.then } ?? []
            state.conversations[conversation] = nil
        }
        letGo()
    }

    /// Calls back when the feed has told of the change of one's own, where it tells of it at all:
    /// the answer to a write stands behind what it did.
    func whenTold(_ conversation: ID, upTo head: Head, then: @escaping @Sendable () -> Void) {
        let (waits, question) = state.withLock { state -> (Bool, Question?) in
            guard state.generation > 0, let entry = state.conversations[conversation],
                let position = entry.position, position.epoch == head.epoch,
                position.rev < head.rev
            else { return (false, nil) }
            state.conversations[conversation]?.waiting.append((head.epoch, head.rev, then))
            // The doorbell need not be waited for.
            state.conversations[conversation]?.isRung = true
            return (true, begin(conversation, &state))
        }
        if !waits { return then() }
        if let question { ask(question) }
    }

    private func letGo() {
        let released = state.withLock { state in
            defer { state.released = [] }
            return state.released
        }
        for then in released { then() }
    }

    func subscribeList(_ user: ID) {
        state.withLock { state in
            state.lists.insert(user)
            if state.generation > 0 { deliver([.subscribedList(user: user.text)]) }
        }
    }

    func unsubscribeList(_ user: ID) {
        state.withLock { _ = $0.lists.remove(user) }
    }

    // MARK: generations

    /// The server has acknowledged that we listen: from here on it rings for every conversation.
    func opened(_ generation: Int) {
        state.withLock { state in
            state.generation = generation
            deliver(
                state.conversations.keys.map {
                    .subscribed(conversation: $0.text, generation: generation)
                } + state.lists.map { .subscribedList(user: $0.text) })
        }
    }

    func closed() {
        state.withLock { state in
            guard state.generation > 0 else { return }
            let ended = state.generation
            state.generation = 0
            state.listed = [:]
            for id in Array(state.conversations.keys) { state.begin(id) }
            deliver([.lapsed(generation: ended)])
        }
        letGo()
    }

    // MARK: positions

    /// An answer of this generation has told the conversation's head. The engine may go on from an
    /// older one than the first that came, since answers overtake each other: then so does this.
    func learn(_ head: Head?, of conversation: ID, generation: Int) {
        let question = state.withLock { state -> Question? in
            guard let head, generation == state.generation, generation > 0,
                let entry = state.conversations[conversation]
            else { return nil }
            if let position = entry.position {
                guard head.epoch == position.epoch else {
                    startAnew(conversation, &state)
                    return nil
                }
                guard head.rev < position.rev else { return nil }
                state.conversations[conversation]?.isRung = true
            }
            state.conversations[conversation]?.position = head
            return begin(conversation, &state)
        }
        letGo()
        if let question { ask(question) }
    }

    /// Whether a chain of it is to be asked for, and from where.
    private func begin(_ conversation: ID, _ state: inout State) -> Question? {
        guard let entry = state.conversations[conversation], entry.isRung, !entry.isAsking,
            let position = entry.position
        else { return nil }
        state.conversations[conversation]?.isRung = false
        state.conversations[conversation]?.isAsking = true
        return Question(
            conversation: conversation, entry: entry.number, position: position,
            generation: state.generation)
    }

    /// These conversations have changed.
    func rang(_ conversations: [ID]) {
        var questions: [Question] = []
        let lists = state.withLock { state -> [ID] in
            for conversation in conversations {
                state.conversations[conversation]?.isRung = true
                if let question = begin(conversation, &state) { questions.append(question) }
            }
            return Array(state.lists)
        }
        pool.read(listQuestions(lists, about: conversations) + questions.map(asked))
    }

    private func ask(_ question: Question) { pool.read([asked(question)]) }

    private func asked(
        _ question: Question
    ) -> (question: [UInt8], then: PostgresPool.Completion) {
        let position = question.position
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "chain")
        json.member("c", string: question.conversation.text)
        json.member("epoch", string: position.epoch)
        json.member("rev", int: position.rev)
        json.member("mark", string: position.mark)
        json.member("limit", int: Self.part)
        json.member("bytes", int: bytes)
        json.endObject()
        return (json.bytes, { [self] result in took(result, question) })
    }

    private func took(_ result: Result<PostgresAnswer, RequestError>, _ question: Question) {
        let conversation = question.conversation
        let next = state.withLock { state -> Question? in
            guard let entry = state.conversations[conversation], entry.number == question.entry,
                let position = entry.position
            else { return nil }
            // What was read beside another feed proves nothing about this one.
            guard links.generation == question.generation else {
                startAnew(conversation, &state)
                return nil
            }
            state.conversations[conversation]?.isAsking = false
            guard position == question.position else {
                // It went back meanwhile.
                state.conversations[conversation]?.isRung = true
                return begin(conversation, &state)
            }
            let link = (try? result.get()).map {
                PostgresChain($0, of: conversation.text, after: position)
            }
            switch link {
            case .part(let events, let head, let more):
                state.conversations[conversation]?.position = head
                if more { state.conversations[conversation]?.isRung = true }
                let listed = state.listed.removeValue(forKey: conversation) ?? []
                deliver(events.map { .feed($0) } + listed)
                state.release(conversation)
            case .ended:
                state.conversations[conversation]?.position = nil
                state.release(conversation)
                deliver([
                    .feed(
                        .deleted(
                            conversation: conversation.text, epoch: position.epoch,
                            participants: []))
                ])
            case .damaged(let part):
                damaged(conversation.text, part)
                // The engine asks again from time to time: the head that it is told then is the
                // place to go on from.
                state.begin(conversation)
            case .broken: startAnew(conversation, &state)
            case nil: startAnew(conversation, &state)
            }
            deliver(state.listed.removeValue(forKey: conversation) ?? [])
            return begin(conversation, &state)
        }
        letGo()
        if let next { ask(next) }
    }

    /// Nobody knows what is missing: the engine is to compare the head, and to read what it lacks.
    private func startAnew(_ conversation: ID, _ state: inout State) {
        state.begin(conversation)
        guard state.generation > 0 else { return }
        deliver([.subscribed(conversation: conversation.text, generation: state.generation)])
    }

    // MARK: lists

    private func listQuestions(
        _ users: [ID], about conversations: [ID]
    ) -> [(question: [UInt8], then: PostgresPool.Completion)] {
        var questions: [(question: [UInt8], then: PostgresPool.Completion)] = []
        for start in stride(from: 0, to: users.count, by: Self.listsTogether) {
            var question = JSONWriter()
            question.beginObject()
            question.member("q", string: "listed")
            for (key, ids) in [
                ("users", users[start..<min(users.count, start + Self.listsTogether)]),
                ("conversations", conversations[...]),
            ] {
                question.key(key)
                question.beginArray()
                for id in ids { question.string(id.text) }
                question.endArray()
            }
            question.endObject()
            let then: PostgresPool.Completion = { [self] result in
                guard case .success(let answer) = result else { return }
                tookLists(answer["listed"]?.array ?? [])
            }
            questions.append((question.bytes, then))
        }
        return questions
    }

    private func tookLists(_ rows: [RawJSON]) {
        state.withLock { state in
            guard state.generation > 0 else { return }
            var events: [UpstreamOutput] = []
            let entries = rows.compactMap { PostgresListEntry($0) }.sorted { $0.place < $1.place }
            for entry in entries where state.lists.contains(entry.user.id) {
                guard state.told.insert(entry.place).inserted else { continue }
                let event = UpstreamOutput.feed(
                    .listed(user: entry.user, conversation: entry.conversation, isIn: entry.isIn))
                let conversation = entry.conversation.id
                if state.conversations[conversation]?.isAsking == true {
                    state.listed[conversation, default: []].append(event)
                } else {
                    events.append(event)
                }
            }
            deliver(events)
            guard state.told.count > 2 * Self.remembered else { return }
            state.told = Set(state.told.sorted().suffix(Self.remembered))
        }
    }

    /// So many entries are remembered at least; those of a minute are asked for.
    private static let remembered = 20_000

    /// Events that are no changes of a log: told while somebody listens.
    func tell(_ events: [FeedEvent]) {
        state.withLock { state in
            guard state.generation > 0 else { return }
            let told = events.filter { event in
                switch event {
                case .read(let id, let user, _):
                    state.conversations[id.id] != nil || state.lists.contains(user.id)
                case .typing(let id, _, _, _): state.conversations[id.id] != nil
                case .message, .record, .deleted, .listed: true
                }
            }
            deliver(told.map { .feed($0) })
        }
    }
}

/// An entry of a user's list log.
private struct PostgresListEntry {
    var user: String
    var place: Int
    var conversation: String
    var isIn: Bool

    init?(_ row: RawJSON) {
        guard let parts = row.array, parts.count == 4, let user = parts[0].string,
            let place = parts[1].int, let conversation = parts[2].string, let isIn = parts[3].bool
        else { return nil }
        self.user = user
        self.place = place
        self.conversation = conversation
        self.isIn = isIn
    }
}
