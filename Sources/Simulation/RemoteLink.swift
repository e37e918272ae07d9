import Engine
import Ports
import Wire

/// One gateway's link to an origin elsewhere, as its adapter sees it: a feed for the subscriptions,
/// in generations, each of which is one unbroken connection to one node. Outputs wait here in order
/// until the world delivers them. A value, owned by the gateway.
struct RemoteLink {
    enum Output {
        case event(FeedEvent)
        /// A notification that something changed.
        case rung(String)
        case subscribed(String, generation: Int)
        case subscribedList(String)
        case lapsed(generation: Int)
        case state(UpstreamState)

        /// The conversation whose feed it is of.
        var conversation: String? {
            switch self {
            case .event(.message(let id, _, _, _, _)), .event(.deleted(let id, _, _)): id
            case .event(.record(let record, _, _, _, _, _)): record.id
            case .subscribed(let id, _), .rung(let id): id
            case .event, .subscribedList, .lapsed, .state: nil
            }
        }
    }

    /// Of the connection that the adapter believes in; 0: none.
    private(set) var generation = 0
    private var last = 0
    /// The connection is dead, and the adapter has not noticed.
    private(set) var isDead = false
    /// The conversations asked for.
    private(set) var wanted: Set<String> = []
    private(set) var lists: Set<String> = []
    /// The conversations that this generation covers.
    private(set) var acknowledged: Set<String> = []
    private(set) var acknowledgedLists: Set<String> = []
    private(set) var queue: [Output] = []
    /// The state beside a feed that only notifies; nil beside a feed that brings the changes.
    private var doorbells: Doorbells?
    /// Nothing gets through until this turn.
    var stalledUntil = 0
    /// Conversations of which the feed silently lost something in this generation.
    var lossy: Set<String> = []

    init(isRinging: Bool = false) { doorbells = isRinging ? Doorbells() : nil }

    var isUp: Bool { generation > 0 && !isDead }

    // MARK: - The connection

    mutating func connect() {
        last += 1
        generation = last
        isDead = false
        lossy = []
        queue.append(.state(.online))
    }

    /// The connection breaks; the adapter learns of it by `notice`.
    mutating func die() { isDead = true }

    mutating func notice() {
        guard generation > 0 else { return }
        queue.append(.lapsed(generation: generation))
        queue.append(.state(.offline))
        generation = 0
        isDead = false
        acknowledged = []
        acknowledgedLists = []
        doorbells?.endAll()
    }

    // MARK: - Subscriptions

    mutating func subscribe(_ conversation: String) { wanted.insert(conversation) }

    mutating func unsubscribe(_ conversation: String) {
        wanted.remove(conversation)
        acknowledged.remove(conversation)
        doorbells?.end(conversation)
    }

    mutating func watchList(of user: String, _ isWatched: Bool) {
        guard !isWatched else {
            lists.insert(user)
            return
        }
        lists.remove(user)
        acknowledgedLists.remove(user)
        // After a new subscription to a list nothing from before it is delivered.
        queue.removeAll {
            switch $0 {
            case .event(.listed(user, _, _)), .subscribedList(user): true
            default: false
            }
        }
    }

    /// Asked for and not acknowledged yet.
    var unacknowledged: [String] { wanted.subtracting(acknowledged).sorted() }

    var unacknowledgedLists: [String] { lists.subtracting(acknowledgedLists).sorted() }

    mutating func acknowledgeList(of user: String) {
        guard isUp, lists.contains(user) else { return }
        acknowledgedLists.insert(user)
        queue.append(.subscribedList(user))
    }

    mutating func acknowledge(_ conversation: String) {
        guard isUp, wanted.contains(conversation) else { return }
        acknowledged.insert(conversation)
        doorbells?.begin(conversation)
        queue.append(.subscribed(conversation, generation: generation))
    }

    // MARK: - Events

    /// Whether this gateway's feed covers the event.
    func hears(_ event: FeedEvent) -> Bool {
        guard isUp else { return false }
        switch event {
        case .message(let id, _, _, _, _), .deleted(let id, _, _), .typing(let id, _, _, _),
            .read(let id, _, _):
            return acknowledged.contains(id)
        case .record(let record, _, _, _, _, _): return acknowledged.contains(record.id)
        case .listed(let user, _, _): return acknowledgedLists.contains(user)
        }
    }

    mutating func tell(_ event: FeedEvent) {
        let output = Output.event(event)
        if doorbells != nil, let conversation = output.conversation {
            queue.append(.rung(conversation))
        } else {
            queue.append(output)
        }
    }

    // MARK: - A feed that only notifies

    /// - Returns: what must be read.
    mutating func ring(_ conversation: String) -> Doorbells.Question? {
        doorbells?.ring(conversation, in: generation)
    }

    /// An answer of this generation gave the head.
    mutating func learn(_ head: Head, of conversation: String) -> Doorbells.Taken? {
        doorbells?.learn(head, of: conversation, in: generation)
    }

    /// Takes the result of a read, which proves nothing beside another feed than it was asked
    /// beside.
    mutating func take(
        _ answer: Doorbells.Answer, to question: Doorbells.Question
    ) -> Doorbells.Taken? {
        guard question.generation == generation else { return nil }
        return doorbells?.take(answer, to: question, in: generation)
    }

    /// Swaps the last two events of one conversation, unless another output of it is between them.
    mutating func swapLast() {
        guard let last = queue.last?.conversation,
            let other = queue.dropLast().lastIndex(where: {
                $0.conversation == last || $0.conversation == nil
            }), case .event = queue[other], queue[other].conversation == last
        else { return }
        queue.swapAt(other, queue.count - 1)
    }

    mutating func deliver(_ count: Int) -> [Output] {
        let delivered = Array(queue.prefix(count))
        queue.removeFirst(delivered.count)
        return delivered
    }

    /// Whether the engine has not been told yet that the conversation's feed began, or that the
    /// earlier one ended.
    func isJoining(_ conversation: String) -> Bool {
        queue.contains { output in
            switch output {
            case .lapsed: true
            case .subscribed(let id, _): id == conversation
            case .event, .rung, .subscribedList, .state: false
            }
        }
    }

    /// Whether something about the conversation is still in flight.
    func isBringing(_ conversation: String) -> Bool {
        doorbells?.isBehind(conversation) == true
            || queue.contains { $0.conversation.map { $0 == conversation } ?? true }
    }
}
