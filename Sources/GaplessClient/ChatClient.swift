import ClientCore
import Wire

/// A client of one gateway, for one user.
///
/// It connects, stays connected, and comes back: with jittered backoff, or in the slot that a
/// draining gateway gave it. What it subscribes to is resumed with what it holds, so that after any
/// outage it knows exactly what it missed. What it sends is kept until it has arrived, once.
///
///     let client = try ChatClient(url: "wss://chat.example.org/v1/ws") { _ in
///         .token(try await freshToken())
///     }
///     client.connect()
///     for await update in client.subscribeMessages(conversation: "ops") { … }
///
/// Everything here may be called on any thread. The client has a thread of its own, which ends when
/// the last reference to it goes. The objects for views (`ManagedMessageList`, `ChatDataSource`,
/// `History`) live on the main actor.
public final class ChatClient: Sendable {
    /// What the provider of credentials is told.
    public struct CredentialsNeed: Sendable {
        /// Whether the last token ran out: one that is not newer will be refused.
        public let isExpired: Bool
    }

    /// Why a client could not be made.
    public enum SetupError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The URL is none of a WebSocket (`ws://` or `wss://`, a host, perhaps a port and a path).
        case badURL
        /// The store or the transport could not be had: what was tried, and what the system said.
        case system(String)

        /// What is wrong, for a person.
        public var description: String {
            switch self {
            case .badURL:
                "url: not a WebSocket's (accepted: ws://host:port/v1/ws, wss://host/v1/ws)"
            case .system(let why): why
            }
        }
    }

    /// What may be set.
    public struct Options: Sendable {
        /// The name under which the gateway knows this program.
        public var name = "gapless.swift"
        /// The file in which this user's conversations are kept; nil to keep nothing. What is not
        /// sent yet lies beside it, in a file whose name ends with `-unsent`. Use one for each
        /// user, and `logout` to erase it. If the gateway names another user than before, what was
        /// kept is erased, but for what the other has not sent: that waits until they come back.
        public var store: String?
        /// A PEM file of the certificates that are trusted; nil for those of the system.
        public var trustedRoots: String?
        /// How many messages of a conversation are kept, beside those that somebody looks at.
        public var retainedMessages = 2_000
        /// Whether the gateway is asked how much is unread in all conversations: see
        /// `unreadTotals`.
        public var countsUnread = false
        /// How the user is there by this client when it connects: see `setPresence`.
        public var presence = ConnectionPresence.present

        /// The defaults.
        public init() {}
    }

    /// The state of the connection, and who wants to know of it.
    public let pubsub: Pubsub
    let runner: Runner

    /// A client that does not connect yet.
    ///
    /// - Parameters:
    ///   - url: The gateway: `ws://host:port/v1/ws`, or `wss://…`.
    ///   - transport: What it stands on; left out, the one of this platform. `GaplessTesting` has
    ///     one in memory.
    ///   - credentials: Asked before each connection, and for a new token in time before the last
    ///     one ends. If it throws, it is asked again later; nil ends the session for good.
    /// - Throws: `SetupError`.
    public init(
        url: String, options: Options = Options(), transport: (any ClientTransport)? = nil,
        credentials: @escaping @Sendable (CredentialsNeed) async throws -> Credentials?
    ) throws {
        guard let endpoint = ClientEndpoint(url, trustedRoots: options.trustedRoots) else {
            throw SetupError.badURL
        }
        var session = ClientSession.Options { Double.random(in: 0..<1) }
        session.client = options.name
        session.retained = options.retainedMessages
        session.countsUnread = options.countsUnread
        session.presence = options.presence
        do {
            let store = try ClientStore(path: options.store)
            runner = Runner(
                transport: transport ?? DefaultTransport.make(), options: session, store: store
            ) { try await credentials(CredentialsNeed(isExpired: $0)) }
            try runner.start(to: endpoint)
        } catch {
            throw SetupError.system("\(error)")
        }
        pubsub = Pubsub(runner)
    }

    deinit {
        pubsub.end()
        runner.stop()
    }

    /// Connects, and stays connected until `disconnect`.
    public func connect() { runner.post { $0.perform { $0.open($1) } } }

    /// Ends the connection; what is held stays, and `connect` resumes it.
    public func disconnect() { runner.post { $0.perform { $0.close($1) } } }

    /// Tries at once where the client waits before it connects again: the network came back, or a
    /// person asked.
    public func wake() { runner.post { $0.perform { $0.wake($1) } } }

    /// Closes the files of the store, for an app that is about to be suspended: no lock is held on
    /// them until `openStore`. The client goes on in memory, and writes then what it could not.
    /// - Throws: What kept it from being closed.
    public func closeStore() async throws {
        try await runner.run { runner in Result { try runner.closeStore() } }.get()
    }

    /// Opens the files of the store again.
    /// - Throws: What kept them from being opened, such as another client that has them; then they
    ///   stay closed.
    public func openStore() async throws {
        try await runner.run { runner in Result { try runner.openStore() } }.get()
    }

    /// Ends the connection and erases everything that is stored of this user. The client can't be
    /// used with a store again.
    public func logout() async {
        await runner.run { runner in
            runner.perform { $0.close($1) }
            runner.erase()
        }
    }

    /// Where the connection stands, from now on: first the present state, then each new one.
    public func connectionStates() -> Updates<ConnectionState> {
        listen(
            { [$0.present.state] }, { $0.listenToState($1) }, { $0.endListeningToState($1) })
    }

    /// How much is unread in all conversations, for a badge, from now on: first the present totals,
    /// if they are known, then each new one. With `Options.countsUnread` only.
    public func unreadTotals() -> Updates<UnreadSum> {
        listen(
            { [$0.present.unread].compactMap(\.self) }, { $0.listenToUnread($1) },
            { $0.endListeningToUnread($1) })
    }

    /// Who the gateway says that we are; nil before the first session.
    public var user: String? { get async { await runner.run { $0.present.user } } }

    /// Where the gateway stands with its backend; nil before the first session.
    public var upstream: UpstreamState? { get async { await runner.run { $0.present.upstream } } }

    /// Adds a listener as soon as its turn comes, and takes it away when the last holder lets go.
    /// - Parameter present: The newest state, for one that has fallen behind.
    func listen<Element>(
        _ present: @escaping @Sendable (Runner) -> [Element],
        _ begin: @escaping @Sendable (Runner, UpdateQueue<Element>) -> Int,
        _ end: @escaping @Sendable (Runner, Int) -> Void
    ) -> Updates<Element> {
        listening(present, begin, end).updates
    }

    /// The same, and the number of the listener.
    func listening<Element>(
        _ present: @escaping @Sendable (Runner) -> [Element],
        _ begin: @escaping @Sendable (Runner, UpdateQueue<Element>) -> Int,
        _ end: @escaping @Sendable (Runner, Int) -> Void
    ) -> (updates: Updates<Element>, number: ListenerNumber) {
        let runner = runner
        let number = ListenerNumber()
        let pending = UpdateQueue<Element> { updates in
            runner.post { if updates.isBehind { updates.fill(present($0)) } }
        }
        runner.post { number.value = begin($0, pending) }
        let token = Updates<Element>.Token(pending) {
            runner.post { if let value = number.value { end($0, value) } }
        }
        return (Updates(token: token), number)
    }
}
