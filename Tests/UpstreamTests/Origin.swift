import Cache
import Chat
import Dispatch
import FoundationEssentials
import Glibc
import JSON
import Ports
import Synchronization
import Testing
import Upstream
import Wire

/// The embedded upstream in a directory of its own, asked one thing at a time. It can be stopped
/// and opened again, as another process would.
final class Origin {
    /// All that is closed when the process ends.
    private struct Process {
        let store: Store
        let embedded: Embedded
        let reader: Reader
    }

    let directory: String
    private var process: Process?
    private var outputs = Outputs()
    private let clock = Clock()
    private let durability: Store.Durability
    private let bytes: Int
    private let tail: Int

    init(
        durability: Store.Durability = .normal, bytes: Int = .max, tail: Int = Embedded.tail
    ) throws {
        directory = try Self.makeDirectory()
        self.durability = durability
        self.bytes = bytes
        self.tail = tail
        try start()
    }

    /// A directory that nobody else has.
    static func makeDirectory() throws -> String {
        let name = "gapless-\(UUID().uuidString)"
        let path = FileManager.default.temporaryDirectory.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    deinit {
        process?.embedded.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func start() throws {
        let store = try Store(
            Store.Options(
                path: directory + "/gapless.db", origin: Embedded.kind, durability: durability,
                isChecked: true, wait: .seconds(30)))
        let embedded = try Embedded(
            store, bytes: bytes, tail: tail, clock: { [clock] in clock.now })
        process = Process(
            store: store, embedded: embedded, reader: try Reader(store, bytes: bytes))
        let outputs = Outputs()
        self.outputs = outputs
        embedded.start { outputs.take($0) }
    }

    /// Ends the process, as far as the file can tell, and begins another one; `between` may touch
    /// the files while nobody has them open.
    func restart(between: (String) throws -> Void = { _ in }) throws {
        embedded.stop()
        process = nil
        try between(directory)
        try start()
    }

    private var opened: Process {
        guard let process else { preconditionFailure("the origin is asked while it is closed") }
        return process
    }

    var embedded: Embedded { opened.embedded }
    var reader: Reader { opened.reader }
    var store: Store { opened.store }

    /// A reader that has read nothing yet.
    func another() throws -> Reader { try Reader(opened.store, bytes: bytes) }

    /// The clock of the origin, in milliseconds; it stands still by itself.
    var now: Int64 {
        get { clock.now.milliseconds }
        set { clock.set(newValue) }
    }

    // MARK: asking

    /// Does it, or throws the `RequestError` with which it was refused.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller = .server) throws -> Outcome {
        let token = outputs.token()
        embedded.submit([.perform(operation, by: caller, token: token)])
        guard case .performed(_, let result) = try outputs.wait(for: token) else {
            throw Lost()
        }
        return try result.get()
    }

    func ask(_ query: HistoryQuery) throws -> HistoryAnswer {
        let token = outputs.token()
        embedded.submit([.ask(query, token: token)])
        guard case .answered(_, _, let result) = try outputs.wait(for: token) else { throw Lost() }
        return try result.get()
    }

    /// Asks for many writes at once, as a turn of the loop does, and waits for the last.
    func performAll(_ operations: [Operation], by caller: Caller = .server) throws -> [Outcome] {
        try results(of: operations.map { ($0, caller) }).map { try $0.get() }
    }

    /// The same of several callers, whatever becomes of it.
    func results(
        of calls: [(operation: Operation, caller: Caller)]
    ) throws -> [Result<Outcome, RequestError>] {
        let tokens = calls.map { _ in outputs.token() }
        embedded.submit(
            zip(calls, tokens).map { .perform($0.operation, by: $0.caller, token: $1) })
        return try tokens.map { token in
            guard case .performed(_, let result) = try outputs.wait(for: token) else {
                throw Lost()
            }
            return result
        }
    }

    /// What the feed told since this was asked for the last time.
    func events() -> [FeedEvent] { outputs.events() }

    /// All that was delivered since the start, batch by batch.
    var batches: [[UpstreamOutput]] { outputs.batches }

    struct Lost: Error {}

    // MARK: short forms

    @discardableResult
    func conversation(
        _ id: String = "c1", of users: [String] = ["alice", "bob"], admins: [String]? = nil
    ) throws -> ConversationView {
        let fields = ConversationFields(participants: users, admins: admins)
        return try perform(.put(id: id, fields)).view()
    }

    @discardableResult
    func send(
        _ body: String, id: String? = nil, to conversation: String = "c1",
        by author: String = "alice",
        as caller: Caller? = nil
    ) throws -> EncodedMessage {
        let message = NewMessage(author: author, content: MessageContent(id: id, body: body))
        let outcome = try perform(
            .send(conversation: conversation, [message]), by: caller ?? .user(author))
        return try #require(outcome.messages().first)
    }

    func head(_ conversation: String = "c1") throws -> Head {
        guard case .loaded(let loaded) = try reader.answer(Query.load(conversation: conversation))
        else {
            throw Lost()
        }
        return loaded.head
    }

    func view(_ conversation: String = "c1", user: String) throws -> ConversationView {
        guard
            case .view(let view) = try reader.answer(.view(conversation: conversation, user: user))
        else { throw Lost() }
        return view
    }

    func page(_ request: PageRequest, of conversation: String = "c1") throws -> Page {
        guard
            case .page(let page) = try reader.answer(
                Query.page(conversation: conversation, request))
        else { throw Lost() }
        return page
    }
}

extension Outcome {
    func messages() throws -> [EncodedMessage] {
        guard case .messages(let messages, _, _) = self else { throw Origin.Lost() }
        return messages
    }

    func view() throws -> ConversationView {
        guard case .conversation(let view, _) = self else { throw Origin.Lost() }
        return view
    }

    func reader() throws -> ReaderState {
        guard case .read(let reader) = self else { throw Origin.Lost() }
        return reader
    }

    /// Whether something was made that had not been there.
    var isNew: Bool {
        switch self {
        case .messages(_, _, let isNew), .conversation(_, let isNew): isNew
        case .reacted, .read, .removed, .done: false
        }
    }
}

extension EncodedMessage {
    /// The message read back from its text.
    func message() throws -> Message { try EncodedMessage.decode(json: json) }
}

/// A time that tests set.
private final class Clock: Sendable {
    private let milliseconds = Mutex<Int64>(1_795_000_000_000)

    var now: Timestamp { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
    func set(_ value: Int64) { milliseconds.withLock { $0 = value } }
}

/// What an upstream delivered, from its thread to the test's.
private final class Outputs: Sendable {
    private struct State {
        var nextToken: UInt64 = 1
        var batches: [[UpstreamOutput]] = []
        var answers: [UInt64: UpstreamOutput] = [:]
        var events: [FeedEvent] = []
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)

    func token() -> UInt64 {
        state.withLock { state in
            defer { state.nextToken += 1 }
            return state.nextToken
        }
    }

    var batches: [[UpstreamOutput]] { state.withLock { $0.batches } }

    func events() -> [FeedEvent] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    func take(_ outputs: [UpstreamOutput]) {
        state.withLock { state in
            state.batches.append(outputs)
            for output in outputs {
                switch output {
                case .feed(let event): state.events.append(event)
                case .part(let events): state.events += events
                case .performed(let token, _), .answered(let token, _, _):
                    state.answers[token] = output
                case .presence(let token, _): state.answers[token] = output
                case .subscribed, .subscribedList, .lapsed, .disconnect, .damaged, .state,
                    .presenceChanged, .presenceFollowed:
                    break
                }
            }
        }
        arrivals.signal()
    }

    func wait(for token: UInt64) throws -> UpstreamOutput {
        while true {
            if let answer = state.withLock({ $0.answers.removeValue(forKey: token) }) {
                return answer
            }
            if arrivals.wait(timeout: .now() + 60) == .timedOut { throw Origin.Lost() }
        }
    }
}

/// The code with which something is refused, nil if it is done.
func refusal(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch let error as RequestError {
        return error.code
    } catch {
        Issue.record("not refused but failed: \(error)")
        return nil
    }
}
