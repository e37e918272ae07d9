import Chat
import ClientCore
import GaplessClient
import JSON
import Synchronization
import Wire

// Safety: every property but `network` is touched on the network's queue only.
/// A gateway in memory, for the tests of an app: real clients, real conversations, no process, and
/// a time that passes when the test says so.
///
///     let gateway = TestGateway()
///     gateway.open("ops", participants: ["alice", "bob"])
///     gateway.write("disk is full", by: "bob", in: "ops")
///     let alice = try gateway.client("alice")
///     try await gateway.connected(alice)
///
/// What a client asks is answered from the conversations; `answer` says something else in the place
/// of that, `push` sends any frame, `cut`, `isReachable` and `shed` are what a network and a slow
/// reader do. It knows no rights and no limits: whatever is asked by somebody who takes part, is
/// done.
public final class TestGateway: @unchecked Sendable {
    /// What is said instead of the gateway's own answer.
    public enum Answer: Sendable {
        /// A result, as JSON.
        case result(String)
        /// An error, by its reason.
        case refusal(RequestError.Reason)
        /// Nothing at all.
        case silence
    }

    /// What a client has asked.
    public struct Request: Sendable {
        /// Who asked; empty before `connect` was answered.
        public let user: String
        /// What for.
        public let method: String
        /// The params.
        public let params: JSONObject
    }

    struct Session {
        let link: MemoryLink
        var user = ""
        var subscriptions: Set<String> = []
        var watchesList = false
        /// How the user is there by it, and whom it watches.
        var presence = ConnectionPresence.present
        var watched: [PresenceWatch] = []
    }

    private final class End: MemoryPeer {
        private let gateway = Mutex(Weak())
        private struct Weak { weak var gateway: TestGateway? }

        func set(_ gateway: TestGateway) { self.gateway.withLock { $0.gateway = gateway } }
        private var present: TestGateway? { gateway.withLock { $0.gateway } }

        func connected(_ link: MemoryLink) -> Bool { present?.connected(link) ?? false }
        func received(_ text: [UInt8], from link: MemoryLink) { present?.received(text, link) }
        func closed(_ link: MemoryLink) { present?.closed(link) }
    }

    /// What clients are connected by, and its time.
    public let network: MemoryNetwork
    var logs: [String: TestLog] = [:]
    /// Since when users are as they are; who is not in it was never there.
    var presences: [String: UserPresence] = [:]
    var sessions: [Session] = []
    private var answers: [String: @Sendable (Request) -> Answer?] = [:]
    private var asked: [Request] = []
    private var written = 0

    /// A gateway without conversations.
    public init() {
        let end = End()
        network = MemoryNetwork(end)
        end.set(self)
    }

    // MARK: Clients

    /// A client of this gateway, which does not connect yet.
    /// - Parameter store: The file in which it keeps what it holds, as `ChatClient.Options.store`.
    public func client(_ user: String, store: String? = nil) throws -> ChatClient {
        var options = ChatClient.Options()
        options.store = store
        return try ChatClient(
            url: "ws://test.invalid/v1/ws", options: options, transport: network.transport()
        ) { _ in .user(user) }
    }

    /// Connects a client, and waits until it has a session.
    public func connected(_ client: ChatClient) async {
        let states = client.connectionStates()
        client.connect()
        for await state in states where state.isLive { break }
        await network.settle()
    }

    /// Lets time pass: timers ring in their order, such as that of a client that waits before it
    /// connects again.
    public func advance(by duration: Duration) async { await network.advance(by: duration) }

    /// Breaks every connection, with a close frame of this code or without one.
    public func cut(code: UInt16? = nil) { network.cut(code: code) }

    /// Whether clients reach the gateway. Those that are connected when it becomes false are cut.
    public var isReachable: Bool {
        get { network.perform { $0.isUp } }
        set { network.setUp(newValue) }
    }

    // MARK: Conversations

    /// Makes a conversation, or gives one other people and another title.
    public func open(_ conversation: String, title: String? = nil, participants: [String]) {
        perform { gateway in
            guard gateway.logs[conversation] == nil else {
                return gateway.put(conversation, title: title, participants: participants)
            }
            gateway.make(
                TestLog(
                    id: conversation, title: title, participants: participants,
                    at: gateway.network.now.clock))
        }
    }

    /// Deletes a conversation for all.
    public func remove(_ conversation: String) {
        perform { gateway in
            guard let log = gateway.logs.removeValue(forKey: conversation) else { return }
            for user in log.participants { gateway.end(conversation, for: user, "deleted") }
        }
    }

    /// Writes a message, as its author would by another client.
    /// - Returns: The message as it is in the log.
    @discardableResult
    public func write(
        _ body: String, by author: String, in conversation: String,
        metadata: RawJSON = .emptyObject
    ) -> Message {
        perform { gateway in
            gateway.append(
                gateway.message(body, author, conversation, metadata: metadata), to: conversation)
        }
    }

    /// Changes the text of a message.
    public func edit(_ message: String, in conversation: String, body: String) {
        perform { gateway in
            let now = gateway.network.now.clock
            gateway.change(message, conversation) {
                $0.body = body
                $0.editedAt = now
            }
        }
    }

    /// Deletes a message; a tombstone stays.
    public func delete(_ message: String, in conversation: String) {
        perform { $0.change(message, conversation) { $0 = $0.tombstone } }
    }

    /// Writes messages that those who are connected are not told of, but as a gap: as the gateway
    /// does with a reader that is too slow.
    public func shed(_ count: Int, by author: String, in conversation: String) {
        perform { gateway in
            guard count > 0, var log = gateway.logs[conversation] else { return }
            for number in 1...count {
                log.append(gateway.message("shed \(number)", author, conversation))
            }
            gateway.logs[conversation] = log
            let event = log.shedding(
                log.seq - count + 1...log.seq, since: gateway.network.now.clock)
            gateway.tell(conversation, event)
        }
    }

    /// Tells that somebody types.
    public func type(_ user: String, in conversation: String, isTyping: Bool = true) {
        let state = isTyping ? "begin" : "finished"
        let event =
            #"{"event":"typing","conversation":\#(conversation.quoted),"user":\#(user.quoted),"#
            + #""state":"\#(state)"}"#
        perform { $0.tell(conversation, event) }
    }

    /// The messages of a conversation, oldest first.
    public func messages(in conversation: String) -> [Message] {
        perform { $0.logs[conversation]?.messages ?? [] }
    }

    /// Up to which place somebody has read.
    public func lastRead(by user: String, in conversation: String) -> Int {
        perform { $0.logs[conversation]?.read[user] ?? 0 }
    }

    // MARK: The script

    /// Has a method answered by this instead; nil is the gateway's own answer. A method that is
    /// given nothing is answered as before.
    public func answer(_ method: String, by answer: (@Sendable (Request) -> Answer?)?) {
        perform { $0.answers[method] = answer }
    }

    /// What was asked so far of one method, or of all.
    public func requests(_ method: String? = nil) -> [Request] {
        perform { $0.asked.filter { method == nil || $0.method == method } }
    }

    /// Sends a frame as it is to everybody who is connected, or to one user.
    public func push(_ frame: String, to user: String? = nil) {
        perform { gateway in
            for session in gateway.sessions where user == nil || session.user == user {
                session.link.send(Array(frame.utf8))
            }
        }
    }

    // MARK: On the queue

    private func perform<Value>(_ body: (TestGateway) -> Value) -> Value {
        network.perform { _ in body(self) }
    }

    func message(
        _ body: String?, _ author: String, _ conversation: String, id: String? = nil,
        metadata: RawJSON = .emptyObject
    ) -> Message {
        written += 1
        return Message(
            id: id ?? "test-\(written)", conversation: conversation, author: author, body: body,
            metadata: metadata, createdAt: network.now.clock)
    }

    @discardableResult
    func append(_ message: Message, to conversation: String) -> Message {
        guard var log = logs[conversation] else {
            preconditionFailure("\(conversation): no such conversation; `open` makes one")
        }
        log.append(message)
        logs[conversation] = log
        tell(conversation, log.event(log.seq, type: "inserted"))
        tellLists(of: log, "updated")
        return log[log.seq]
    }

    func change(
        _ message: String, _ conversation: String, _ change: (inout Message) -> Void
    ) {
        guard let seq = logs[conversation]?.change(message, change), let log = logs[conversation]
        else { return }
        tell(conversation, log.event(seq, type: "updated"))
        tellLists(of: log, "updated")
    }

    func make(_ log: TestLog) {
        logs[log.id] = log
        tellLists(of: log, "inserted")
    }

    /// Changes what is not a message.
    func put(
        _ conversation: String, title: String?? = nil, participants: [String]? = nil,
        admins: [String]? = nil, metadata: RawJSON? = nil
    ) {
        guard let old = logs[conversation] else { return }
        var log = old
        log.put(
            title: title, participants: participants, admins: admins, metadata: metadata,
            at: network.now.clock)
        logs[conversation] = log
        for user in old.participants where !log.participants.contains(user) {
            end(conversation, for: user, "removed")
        }
        tell(conversation, log.recordEvent)
        tellLists(of: log, "updated")
    }

    /// A user takes part no more, or there is nothing left to take part in.
    private func end(_ conversation: String, for user: String, _ reason: String) {
        let id = conversation.quoted
        let unsubscribed =
            #"{"event":"unsubscribed","conversation":\#(id),"reason":"\#(reason)"}"#
        let deleted =
            #"{"event":"conversations","deltas":[{"type":"deleted","conversation":{"id":\#(id)}}]}"#
        for at in sessions.indices where sessions[at].user == user {
            if sessions[at].subscriptions.remove(conversation) != nil {
                sessions[at].link.send(Array(unsubscribed.utf8))
            }
            if sessions[at].watchesList { sessions[at].link.send(Array(deleted.utf8)) }
        }
    }

    func tellRead(by user: String, upTo seq: Int, in conversation: String) {
        let event =
            #"{"event":"read","conversation":\#(conversation.quoted),"user":\#(user.quoted),"#
            + #""seq":\#(seq)}"#
        for session in sessions
        where session.subscriptions.contains(conversation)
            || session.watchesList && session.user == user
        {
            session.link.send(Array(event.utf8))
        }
    }

    private func tell(_ conversation: String, _ event: String) {
        for session in sessions where session.subscriptions.contains(conversation) {
            session.link.send(Array(event.utf8))
        }
    }

    func tellLists(of log: TestLog, _ type: String) {
        for session in sessions
        where session.watchesList && log.participants.contains(session.user) {
            let record = log.listed.text
            let event =
                #"{"event":"conversations","deltas":"#
                + #"[{"type":"\#(type)","conversation":\#(record)}]}"#
            session.link.send(Array(event.utf8))
        }
    }

    private func connected(_ link: MemoryLink) -> Bool {
        sessions.append(Session(link: link))
        return true
    }

    private func closed(_ link: MemoryLink) {
        let user = sessions.first { $0.link === link }?.user
        sessions.removeAll { $0.link === link }
        if let user { tellPresence(of: user) }
    }

    private func received(_ text: [UInt8], _ link: MemoryLink) {
        guard let at = sessions.firstIndex(where: { $0.link === link }),
            let frame = try? JSONObject(text), let id = frame["id"]?.int,
            let method = frame["method"]?.string
        else { return link.close(code: 3501) }
        let request = Request(
            user: sessions[at].user, method: method,
            params: frame["params"]?.object ?? JSONObject(members: []))
        asked.append(request)
        switch answers[method]?(request) ?? respond(to: request, at) {
        case .result(let result): link.send(Array(#"{"id":\#(id),"result":\#(result)}"#.utf8))
        case .refusal(let reason):
            var error = JSONWriter()
            error.beginObject()
            error.member("id", int: id)
            error.member("error", error: RequestError(reason, reason.rawValue))
            error.endObject()
            link.send(error.bytes)
        case .silence: break
        }
    }
}
