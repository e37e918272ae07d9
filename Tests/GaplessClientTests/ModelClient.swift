import Chat
import JSON
import TestSupport
import Wire

@testable import GaplessClient
@testable import ClientCore

/// A client with the real session and a gateway that answers late or refuses, for objects that
/// follow the conversation "c". Everything happens on one thread, in the order in which a test has
/// it happen.
@MainActor
class ModelClient: FeedLink {
    final class Listener: Following {
        unowned let client: ModelClient
        let limit: Int
        let take: @MainActor (ConversationUpdate) -> Void
        var backlog: Backlog<ConversationUpdate>
        var pages: Set<Int> = []
        var places = Coverage()

        init(
            _ client: ModelClient, _ limit: Int,
            _ take: @escaping @MainActor (ConversationUpdate) -> Void
        ) {
            self.client = client
            self.limit = limit
            self.take = take
            backlog = Backlog(limit: client.patience)
        }

        func push(_ update: ConversationUpdate) {
            guard case .page(let token, _) = update else {
                return backlog.push(update, weight: update.messageCount)
            }
            if pages.contains(token) { backlog.push(update, weight: 1, isAnswer: true) }
        }

        /// What it takes next, as `UpdateQueue` has it.
        func next() -> ConversationUpdate? {
            if let update = backlog.take() { return update }
            guard backlog.isBehind else { return nil }
            backlog.fill(client.session.presentAgain(of: "c"))
            client.fallenBehind += 1
            return backlog.take()
        }

        func fetch(_ page: PageRequest, token: Int) {
            pages.insert(token)
            client.perform { session, _ in session.fetch("c", page, token: token) }
        }

        func watch(_ places: Coverage) {
            self.places = places
            client.watch()
        }

        func end() { client.end(self) }
    }

    var gateway = ModelGateway()
    private(set) var session: ClientCore.ClientSession
    private(set) var judged = 0
    var written = WrittenByUser()
    var isUp = true
    /// How many messages wait for an object that takes nothing before it is told in short.
    var patience = 2_000
    /// How often the app throws that is asked for credentials.
    var throwing = 0
    fileprivate(set) var fallenBehind = 0
    private let options: ClientCore.ClientSession.Options
    private var listeners: [Listener] = []
    private var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    private var isPerforming = false
    private var isSettling = false

    init(_ options: ClientCore.ClientSession.Options = .init { 0.5 }) {
        self.options = options
        session = ClientCore.ClientSession(options)
    }

    /// Looks at everything that is shown.
    func judge() throws {}

    /// The app is killed, and begins again with what its store has, and nothing on its screen.
    func forgetAllButTheStore(isWhole: Bool = true) {
        gateway.disconnect()
        let holder = session.holder(of: "c").flatMap { holder in
            holder.have.map {
                Holder($0, values: Array(holder.held.values), record: holder.record)
            }
        }
        let drafts = session.drafts(of: "c").compactMap { Draft(json: $0.json) }
        let changes = session.changes(of: "c").compactMap { Change(json: $0.json) }
        let read = session.unsentRead(of: "c")
        listeners = []
        session = ClientCore.ClientSession(options)
        session.restore("c", isWhole ? holder : nil, drafts, changes, read: read)
    }

    // MARK: The client

    func follow(
        _ conversation: String, limit: Int,
        _ take: @escaping @MainActor (ConversationUpdate) -> Void
    ) -> any Following {
        let listener = Listener(self, limit, take)
        listeners.append(listener)
        listener.backlog.fill(session.present(of: "c"))
        let limit = self.limit
        perform { session, _ in session.subscribe(to: "c", limit: limit) }
        return listener
    }

    private var limit: Int? { listeners.map(\.limit).max() }

    func send(
        conversation: String, body: String?, metadata: RawJSON?, replyTo message: String?,
        mentions: [String], mentionAll: Bool
    ) -> String {
        let id = "own-\(written.messages.count)"
        let draft = Draft(
            id: id, body: body, metadata: metadata, replyTo: message, mentions: mentions,
            mentionAll: mentionAll, createdAt: now.clock)
        perform { session, _ in session.send(draft, to: "c") }
        return id
    }

    func rewrite(_ draft: String, in conversation: String, body: String?) -> String {
        let id = "own-\(written.messages.count)"
        perform { session, now in
            session.rewrite(draft, as: id, body: body, in: "c", now)
        }
        return id
    }

    func retry(_ draft: String, in conversation: String) {
        perform { session, _ in session.retry(draft, of: "c") }
    }

    func discard(_ draft: String, in conversation: String) {
        perform { session, _ in session.discard(draft, of: "c") }
    }

    func queue(_ change: Change, in conversation: String) {
        perform { session, _ in session.change(change, in: "c") }
    }

    func queueRead(upTo seq: Int, in conversation: String) {
        perform { session, _ in session.markRead("c", upTo: seq) }
    }

    func retryChange(_ change: String) {
        perform { session, _ in session.retryChange(change, of: "c") }
    }

    func discardChange(_ change: String) {
        perform { session, _ in session.discardChange(change, of: "c") }
    }

    private func end(_ listener: Listener) {
        listeners.removeAll { $0 === listener }
        watch()
        if let limit {
            perform { session, _ in session.setLimit(limit, of: "c") }
        } else {
            perform { session, _ in session.unsubscribe(from: "c") }
        }
    }

    private func watch() {
        let places = listeners.reduce(Coverage()) { $0.union($1.places) }
        perform { session, _ in session.watch(places, of: "c") }
    }

    func perform(_ body: (inout ClientCore.ClientSession, Instant) -> Void) {
        body(&session, now)
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while true {
            let actions = session.takeActions()
            if actions.isEmpty { return }
            for action in actions { carryOut(action) }
        }
    }

    private func carryOut(_ action: ClientCore.ClientSession.Action) {
        switch action {
        case .ask(let attempt, _) where throwing > 0:
            throwing -= 1
            session.credentialsFailed(attempt: attempt, now)
        case .ask(let attempt, _): session.credentials(.user("alice"), attempt: attempt, now)
        case .connect: isUp ? session.opened(now) : session.closed(code: nil, now)
        case .write(let text): if isUp { try? gateway.receive(text) }
        case .disconnect: gateway.disconnect()
        case .tell(_, let update): for listener in listeners { listener.push(update) }
        case .answer, .tellList, .state, .save, .saveList, .belongs, .unread, .presence, .settled:
            break
        }
    }

    // MARK: What happens

    /// The connection is lost.
    func cut() {
        isUp = false
        gateway.disconnect()
        perform { $0.closed(code: nil, $1) }
    }

    /// The network is there again.
    func mend() {
        isUp = true
        perform { $0.wake($1) }
    }

    /// The clock on the wall is set.
    func jump(_ milliseconds: Int) { now.clock.milliseconds += Int64(milliseconds) }

    func pass(_ milliseconds: Int) {
        now.monotonic += Int64(milliseconds)
        now.clock.milliseconds += Int64(milliseconds)
        perform { $0.tick($1) }
    }

    @discardableResult
    func deliver() throws -> Bool {
        guard let frame = gateway.takeFrame() else { return false }
        perform { $0.received(frame, $1) }
        return true
    }

    /// Lets each object take one update, and judges it.
    @discardableResult
    func tell() throws -> Bool {
        var any = false
        for listener in listeners {
            guard let update = listener.next() else { continue }
            any = true
            listener.take(update)
            judged += 1
            // While all comes to rest, most updates are looked at together.
            if !isSettling || judged.isMultiple(of: 16) { try judge() }
        }
        return any
    }

    /// Whether the client has something to tell the gateway yet.
    var isWriting: Bool {
        session.drafts(of: "c").contains { $0.state == .sending }
            || session.changes(of: "c").contains { $0.state == .sending }
            || session.unsentRead(of: "c") != nil
    }

    /// Lets everything happen that is under way, and no time pass.
    func exchange() throws {
        for _ in 0..<100_000 {
            let isServed = gateway.serve()
            let isDelivered = try deliver()
            let isTold = try tell()
            if !isServed, !isDelivered, !isTold { return }
        }
        throw TestFailure("the client asks without end")
    }

    /// Lets everything happen, until the subscription is live and all is written.
    func settle() throws {
        isSettling = true
        defer { isSettling = false }
        for _ in 0..<1_000 {
            try exchange()
            if session.isLive("c"), !isWriting { return }
            pass(1_000)
        }
        throw TestFailure("it does not come to rest")
    }
}
