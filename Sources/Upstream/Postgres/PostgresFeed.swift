import JSON
import Ports
import Synchronization
import Wire

/// The feed, made from doorbells: a notification says that a conversation changed, then the changes
/// above its position are read. A position is a head from an answer of this generation, and rises
/// only by an unbroken chain of revs; before there is one, a doorbell is remembered. Any thread.
final class PostgresFeed: Sendable {
    private struct Entry {
        /// nil until an answer of this generation has brought one.
        var position: Head?
        /// Whether something changed since the last question.
        var isRung = false
        var isAsking = false
        /// When the last question failed, until it is known whether the feed broke too.
        var failedAt: ContinuousClock.Instant?
        /// Callers that wait until the feed has delivered a change, by its rev.
        var waiting: [(epoch: String, rev: Int, then: @Sendable () -> Void)] = []
        /// Unique: an answer for an earlier entry is ignored.
        let number: Int
    }

    private struct State {
        var conversations: [ID: Entry] = [:]
        var lists: Set<ID> = []
        var listLog = PostgresListLog()
        /// List events that are delivered together with the conversation's change.
        var listed: [ID: [UpstreamOutput]] = [:]
        /// Conversations whose last question failed.
        var failed: Set<ID> = []
        /// 0 while not listening.
        var generation = 0
        private var entries = 0

        /// Starts an entry for a subscribed conversation, without a position.
        mutating func begin(_ conversation: ID) {
            entries += 1
            released += conversations[conversation]?.waiting.map { $0.then } ?? []
            conversations[conversation] = Entry(number: entries)
        }

        /// Callbacks to run once the lock is released, and what was put into the outlet delivered.
        var released: [@Sendable () -> Void] = []

        /// Releases the callers whose change the feed has delivered.
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

    /// A question for a chain of changes.
    private struct Question {
        let conversation: ID
        let entry: Int
        let position: Head
        let generation: Int
        let askedAt = ContinuousClock.now
    }

    /// The most changes of one answer.
    static let part = 500
    /// The most lists in one question.
    private static let listsTogether = 1000

    private let pool: PostgresPool
    private let links: PostgresLinks
    private let bytes: Int
    /// The time within which a broken feed is noticed.
    private let deadline: Duration
    private let outlet: Outlet
    private let damaged: @Sendable (_ conversation: String, _ part: String) -> Void
    private let state = Mutex(State())

    init(
        _ options: PostgresOptions, _ pool: PostgresPool, _ links: PostgresLinks,
        _ outlet: Outlet,
        damaged: @escaping @Sendable (String, String) -> Void
    ) {
        self.pool = pool
        self.links = links
        bytes = options.bytes
        deadline = options.deadline
        self.outlet = outlet
        self.damaged = damaged
    }

    // MARK: what is wanted

    func subscribe(_ conversation: ID) {
        change { state in
            if state.conversations[conversation] == nil { state.begin(conversation) }
            guard state.generation > 0 else { return }
            outlet.put([.subscribed(conversation: conversation.text, generation: state.generation)])
        }
    }

    func unsubscribe(_ conversation: ID) {
        change { state in
            state.released += state.conversations[conversation]?.waiting.map { $0.then } ?? []
            state.conversations[conversation] = nil
        }
    }

    /// Calls back once the feed has delivered the caller's own change, if it delivers that
    /// conversation at all: the result of a write comes after its event.
    func whenTold(_ conversation: ID, upTo head: Head, then: @escaping @Sendable () -> Void) {
        let (waits, question) = state.withLock { state -> (Bool, Question?) in
            guard state.generation > 0, let entry = state.conversations[conversation],
                let position = entry.position, position.epoch == head.epoch,
                position.rev < head.rev
            else { return (false, nil) }
            state.conversations[conversation]?.waiting.append((head.epoch, head.rev, then))
            // No need to wait for the doorbell.
            state.conversations[conversation]?.isRung = true
            return (true, begin(conversation, &state))
        }
        if !waits { return then() }
        if let question { ask(question) }
    }

    /// Changes the state; then delivers what this put into the outlet, and calls back.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, released) = state.withLock { state in
            defer { state.released = [] }
            return (body(&state), state.released)
        }
        outlet.deliver()
        for then in released { then() }
        return value
    }

    func subscribeList(_ user: ID) {
        change { state in
            state.lists.insert(user)
            if state.generation > 0 { outlet.put([.subscribedList(user: user.text)]) }
        }
    }

    func unsubscribeList(_ user: ID) {
        state.withLock { _ = $0.lists.remove(user) }
    }

    // MARK: generations

    /// `LISTEN` is acknowledged: from here on every change of every conversation rings.
    /// - Parameter place: in the logs of lists, from before that.
    func opened(_ generation: Int, place: Int = 0) {
        change { state in
            state.generation = generation
            state.listLog.open(at: place)
            outlet.put(
                state.conversations.keys.map {
                    .subscribed(conversation: $0.text, generation: generation)
                } + state.lists.map { .subscribedList(user: $0.text) })
        }
    }

    func closed() {
        change { state in
            guard state.generation > 0 else { return }
            let ended = state.generation
            state.generation = 0
            state.listed = [:]
            state.failed = []
            for id in Array(state.conversations.keys) { state.begin(id) }
            outlet.put([.lapsed(generation: ended)])
        }
    }

    // MARK: positions

    /// Learns a head from an answer of this generation. Answers can overtake each other, and the
    /// engine may continue from an older head than the first one; then so does the feed.
    func learn(_ head: Head?, of conversation: ID, generation: Int) {
        let question = change { state -> Question? in
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
        if let question { ask(question) }
    }

    /// Starts a question for the conversation's chain, if one is due.
    private func begin(_ conversation: ID, _ state: inout State) -> Question? {
        guard let entry = state.conversations[conversation], entry.isRung, !entry.isAsking,
            entry.failedAt == nil, let position = entry.position
        else { return nil }
        state.conversations[conversation]?.isRung = false
        state.conversations[conversation]?.isAsking = true
        return Question(
            conversation: conversation, entry: entry.number, position: position,
            generation: state.generation)
    }

    /// Doorbells of these conversations.
    func noteDoorbells(_ conversations: [ID]) {
        var questions: [Question] = []
        let (lists, since) = state.withLock { state -> ([ID], Int) in
            for conversation in conversations {
                state.conversations[conversation]?.isRung = true
                if let question = begin(conversation, &state) { questions.append(question) }
            }
            return (Array(state.lists), state.listLog.place)
        }
        pool.read(
            listQuestions(lists, about: conversations, since: since) + questions.map(asked))
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
        let next = change { state -> Question? in
            guard let entry = state.conversations[conversation], entry.number == question.entry,
                let position = entry.position
            else { return nil }
            // A read in another generation proves nothing about this one.
            guard links.generation == question.generation else {
                startAnew(conversation, &state)
                return nil
            }
            state.conversations[conversation]?.isAsking = false
            guard position == question.position else {
                // The position went back meanwhile.
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
                outlet.put([.part(events)] + listed)
                state.release(conversation)
            case .ended:
                state.conversations[conversation]?.position = nil
                state.release(conversation)
                outlet.put([
                    .feed(
                        .deleted(
                            conversation: conversation.text, epoch: position.epoch,
                            participants: []))
                ])
            case .damaged(let part):
                state.released.append { [damaged] in damaged(conversation.text, part) }
                // The engine asks again from time to time; the feed continues from the head of that
                // answer.
                state.begin(conversation)
            case .broken: startAnew(conversation, &state)
            case nil where .now - question.askedAt < deadline / 4:
                // Usually the feed breaks at the same moment. Then the conversation keeps its
                // position, and what the gateway knows as of it.
                state.conversations[conversation]?.isRung = true
                state.conversations[conversation]?.failedAt = .now
                state.failed.insert(conversation)
            case nil: startAnew(conversation, &state)
            }
            outlet.put(state.listed.removeValue(forKey: conversation) ?? [])
            return begin(conversation, &state)
        }
        if let next { ask(next) }
    }

    /// The feed was alive at this moment: changes that could not be read before it are missing.
    func noteAlive(at moment: ContinuousClock.Instant) {
        let questions = change { state in
            for conversation in state.failed {
                let failedAt = state.conversations[conversation]?.failedAt
                guard failedAt.map({ $0 < moment }) ?? true else { continue }
                state.failed.remove(conversation)
                if failedAt != nil { startAnew(conversation, &state) }
            }
            let missed = state.listLog.takeMissed()
            return listQuestions(
                Array(state.lists), about: missed.conversations, since: missed.place)
        }
        if !questions.isEmpty { pool.read(questions) }
    }

    /// What is missing is unknown: the engine must compare heads and catch up.
    private func startAnew(_ conversation: ID, _ state: inout State) {
        state.begin(conversation)
        guard state.generation > 0 else { return }
        outlet.put([.subscribed(conversation: conversation.text, generation: state.generation)])
    }

    // MARK: lists

    private func listQuestions(
        _ users: [ID], about conversations: [ID], since place: Int
    ) -> [(question: [UInt8], then: PostgresPool.Completion)] {
        guard !conversations.isEmpty else { return [] }
        return stride(from: 0, to: users.count, by: Self.listsTogether).map { start in
            let asked = users[start...].prefix(Self.listsTogether)
            var question = JSONWriter()
            question.beginObject()
            question.member("q", string: "listed")
            question.member("users", strings: asked.map(\.text))
            question.member("conversations", strings: conversations.map(\.text))
            question.member("since", int: place)
            question.endObject()
            return (question.bytes, { [self] in tookLists($0, about: conversations, since: place) })
        }
    }

    private func tookLists(
        _ result: Result<PostgresAnswer, RequestError>, about conversations: [ID],
        since place: Int
    ) {
        change { state in
            guard state.generation > 0 else { return }
            guard case .success(let answer) = result else {
                // It is asked again as soon as the feed is known to live.
                return state.listLog.miss(conversations, since: place)
            }
            state.listLog.note(answer["place"]?.place)
            let rows = answer["listed"]?.array ?? []
            var events: [UpstreamOutput] = []
            let entries = rows.compactMap { PostgresListEntry($0) }.sorted { $0.place < $1.place }
            for entry in entries where state.lists.contains(entry.user.id) {
                guard state.listLog.isNew(entry.place) else { continue }
                let event = UpstreamOutput.feed(
                    .listed(user: entry.user, conversation: entry.conversation, isIn: entry.isIn))
                let conversation = entry.conversation.id
                if state.conversations[conversation]?.isAsking == true {
                    state.listed[conversation, default: []].append(event)
                } else {
                    events.append(event)
                }
            }
            outlet.put(events)
        }
    }

    /// Delivers events that are no changes of a log, while listening.
    func tell(_ events: [FeedEvent]) {
        change { state in
            guard state.generation > 0 else { return }
            let told = events.filter { event in
                switch event {
                case .read(let id, let user, _):
                    state.conversations[id.id] != nil || state.lists.contains(user.id)
                case .typing(let id, _, _, _): state.conversations[id.id] != nil
                case .message, .record, .deleted, .listed: true
                }
            }
            outlet.put(told.map { .feed($0) })
        }
    }
}
