import Chat
import Dispatch
import Ports
import Synchronization
import TestSupport
import Wire

@testable import Upstream

/// An upstream under test, asked one thing at a time, with all that it delivered.
final class Subject: Sendable {
    let upstream: any Upstream
    let outputs = Outputs()

    init(_ upstream: any Upstream) {
        self.upstream = upstream
        upstream.start { [outputs] in outputs.take($0) }
    }

    deinit { upstream.stop() }

    /// Does it, or throws the `RequestError` with which it was refused.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller = .server) throws -> Outcome {
        let token = outputs.token()
        upstream.submit([.perform(operation, by: caller, token: token)])
        guard case .performed(_, let result) = try outputs.wait(for: token) else {
            throw TestFailure("another kind of answer to a write")
        }
        return try result.get()
    }

    func ask(_ query: HistoryQuery) throws -> HistoryAnswer { try askProven(query).answer }

    /// The answer, and the generation that was under way.
    func askProven(_ query: HistoryQuery) throws -> (answer: HistoryAnswer, generation: Int) {
        let token = outputs.token()
        upstream.submit([.ask(query, token: token)])
        return try answer(to: token)
    }

    func forkEpoch(_ head: Head, of conversation: String) throws -> Head {
        let token = outputs.token()
        upstream.submit([.forkEpoch(head, conversation: conversation, token: token)])
        guard case .heads(let heads, _) = try answer(to: token).answer,
            let head = heads[conversation.id]
        else { throw TestFailure("no head") }
        return head
    }

    private func answer(to token: UInt64) throws -> (answer: HistoryAnswer, generation: Int) {
        guard case .answered(_, let generation, let result) = try outputs.wait(for: token) else {
            throw TestFailure("another kind of answer to a question")
        }
        return (try result.get(), generation)
    }

    /// Only gateways of this version share the origin, if it is on a server.
    func enable() throws {
        guard let origin = upstream as? any EnablingOrigin else { return }
        let answered = DispatchSemaphore(value: 0)
        let isDone = Mutex(false)
        origin.enable { result in
            isDone.withLock { $0 = (try? result.get()) != nil }
            answered.signal()
        }
        answered.wait()
        guard isDone.withLock({ $0 }) else { throw TestFailure("the origin is not enabled") }
    }

    // MARK: short forms

    func conversation(_ id: String = "c1", of users: [String] = ["alice", "bob"]) throws {
        try perform(.put(id: id, ConversationFields(participants: users)))
    }

    @discardableResult
    func send(
        _ body: String, id: String? = nil, to conversation: String = "c1",
        by author: String = "alice"
    ) throws -> EncodedMessage {
        let message = NewMessage(author: author, content: MessageContent(id: id, body: body))
        let outcome = try perform(.send(conversation: conversation, [message]))
        guard case .messages(let messages, _, _) = outcome, let sent = messages.first else {
            throw TestFailure("no message")
        }
        return sent
    }

    func head(_ conversation: String = "c1") throws -> Head {
        guard case .heads(let heads, _) = try ask(.heads([conversation])),
            let head = heads[conversation.id]
        else { throw TestFailure("no head") }
        return head
    }

    func page(_ request: PageRequest = PageRequest(), of conversation: String = "c1") throws -> Page
    {
        guard case .page(let page) = try ask(.page(conversation: conversation, request)) else {
            throw TestFailure("no page")
        }
        return page
    }

    func changes(
        since: Int, mark: String?, limit: Int = 1000, of conversation: String = "c1"
    ) throws -> Changes {
        let query = HistoryQuery.changes(
            conversation: conversation, since: since, mark: mark, limit: limit)
        guard case .changes(let changes) = try ask(query) else { throw TestFailure("no changes") }
        return changes
    }

    /// Subscribes, and gives the generation in which the origin acknowledged it.
    @discardableResult
    func subscribe(_ conversation: String = "c1") throws -> Int {
        let before = outputs.count
        upstream.submit([.subscribe(conversation)])
        return try outputs.wait("the subscription of \(conversation)", from: before) { output in
            if case .subscribed(conversation, let generation) = output { generation } else { nil }
        }
    }

    func waitUntilOnline() throws {
        let isOnline = Deadline.standard.poll { outputs.reported == .online }
        if !isOnline { throw TestFailure("the upstream did not come online") }
    }
}

/// What an upstream delivered, from its threads to the test's.
final class Outputs: Sendable {
    private struct State {
        var nextToken: UInt64 = 1
        var all: [UpstreamOutput] = []
        var answers: [UInt64: UpstreamOutput] = [:]
        var reported: UpstreamState?
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)

    func token() -> UInt64 {
        state.withLock { state in
            defer { state.nextToken += 1 }
            return state.nextToken
        }
    }

    var count: Int { state.withLock { $0.all.count } }

    /// The state that was told last.
    var reported: UpstreamState? { state.withLock { $0.reported } }

    var all: [UpstreamOutput] { state.withLock { $0.all } }

    /// What the feed told, from the beginning.
    var events: [FeedEvent] {
        all.compactMap { if case .feed(let event) = $0 { event } else { nil } }
    }

    func take(_ outputs: [UpstreamOutput]) {
        state.withLock { state in
            state.all += outputs.flatMap(\.apart)
            for output in outputs {
                switch output {
                case .performed(let token, _), .answered(let token, _, _):
                    state.answers[token] = output
                case .state(let reported): state.reported = reported
                case .presence(let token, _): state.answers[token] = output
                case .feed, .part, .subscribed, .subscribedList, .lapsed, .disconnect, .damaged,
                    .presenceChanged, .presenceFollowed:
                    break
                }
            }
        }
        arrivals.signal()
    }

    func wait(
        for token: UInt64, _ deadline: Deadline = .standard
    ) throws -> UpstreamOutput {
        while true {
            if let answer = state.withLock({ $0.answers.removeValue(forKey: token) }) {
                return answer
            }
            let limit = DispatchTime.now() + .milliseconds(Int(deadline.milliseconds))
            guard arrivals.wait(timeout: limit) == .success else {
                throw TestFailure("nothing answered")
            }
        }
    }

    /// Waits for an output behind the first `from` ones.
    func wait<Value>(
        _ what: String, from: Int = 0, _ find: (UpstreamOutput) -> Value?
    ) throws -> Value {
        var found: Value?
        let came = Deadline.standard.poll {
            found = all.dropFirst(from).lazy.compactMap(find).first
            return found != nil
        }
        guard came, let found else { throw TestFailure("did not come: \(what)") }
        return found
    }
}

extension UpstreamOutput {
    /// Changes that were read together, one by one.
    fileprivate var apart: [UpstreamOutput] {
        if case .part(let events) = self { events.map { .feed($0) } } else { [self] }
    }
}
