import Chat
import Ports
import Rules
import Wire

/// An operation that has not been answered yet.
struct OriginCall: Sendable {
    let caller: Caller
    let token: UInt64
    /// Called after the answer was delivered.
    var ended: (@Sendable () -> Void)?

    /// The user who asks; nil for the server API.
    var user: String? { if case .user(let user) = caller { user } else { nil } }
}

/// An origin on a server that several gateways share. It does what `UpstreamCall` asks. The gateway
/// decides what a write means, on a view of the conversation or message; the server checks that
/// this view still holds (optimistic concurrency).
protocol SharedOrigin: Upstream {
    typealias Call = OriginCall

    /// How often a write is decided again because another writer was faster.
    static var tryLimit: Int { get }
    var outlet: Outlet { get }
    /// Record changes are decided one at a time per conversation.
    var recordQueues: SerialQueues { get }
    var limits: LogLimits { get }

    func subscribe(_ conversation: String)
    func unsubscribe(_ conversation: String)
    func subscribeList(of user: String)
    func unsubscribeList(of user: String)
    func publish(_ event: FeedEvent)
    func disconnect(_ user: String, mayComeBack: Bool, token: UInt64)
    func ask(_ query: HistoryQuery, token: UInt64)
    func forkEpoch(_ head: Head, conversation: String, token: UInt64)
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call)
    func markRead(_ seq: Int, of conversation: String, _ call: Call)
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call)
    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError)

    /// A message with the caller's role in the conversation, if the caller takes part; nil if there
    /// is no such message.
    func look(
        _ id: String, in conversation: String, _ call: Call,
        then: @escaping @Sendable (Result<SeenMessage?, RequestError>) -> Void)

    /// Writes a message's new value and finishes the call, if what was seen of it still holds.
    func write(
        _ replacement: MessageReplacement, of seen: SeenMessage, in conversation: String,
        _ call: Call, stale: @escaping @Sendable () -> Void)

    /// Deletes a conversation and finishes the call, if the view still holds.
    func remove(
        _ id: String, _ view: StoredConversation, _ call: Call,
        stale: @escaping @Sendable () -> Void)

    /// A conversation with the reader's read marker; the reader takes part in it.
    /// - Parameters:
    ///   - named: the participants that the view must include beside the reader and the admins;
    ///     nil: all.
    ///   - mends: whether a conversation whose member rows are lost is shown without members.
    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void)

    /// Writes a decided change; fails with `stale` if the view it was decided on no longer holds.
    func write(
        _ decided: RecordDecision, of id: String, _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void)
}

extension SharedOrigin {
    func take(_ calls: [UpstreamCall]) {
        for call in calls {
            Payer.$current.withValue(call.payer) {
                switch call {
                case .perform(let operation, let caller, let token):
                    perform(operation, Call(caller: caller, token: token))
                case .ask(let query, let token): ask(query, token: token)
                case .forkEpoch(let head, let conversation, let token):
                    forkEpoch(head, conversation: conversation, token: token)
                case .subscribe(let conversation): subscribe(conversation)
                case .unsubscribe(let conversation): unsubscribe(conversation)
                case .subscribeList(let user): subscribeList(of: user)
                case .unsubscribeList(let user): unsubscribeList(of: user)
                case .publish(let event): publish(event)
                case .disconnect(let user, let mayComeBack, let token):
                    disconnect(user, mayComeBack: mayComeBack, token: token)
                }
            }
        }
    }

    private func perform(_ operation: Operation, _ call: Call) {
        switch operation {
        case .send(let id, let messages): send(messages, to: id, call)
        case .edit(let id, let message, let edit): self.edit(message, edit, of: id, call)
        case .delete(let id, let message, let ifRev):
            delete(message, ifRev: ifRev, of: id, call)
        case .create(let id, let fields, let isDistinct):
            create(id, fields, isDistinct: isDistinct, call)
        case .findDistinct(let fields, let refusal): findDistinct(fields, call, otherwise: refusal)
        case .put(let id, let fields): put(id, fields, call)
        case .deleteConversation(let id): deleteConversation(id, call)
        case .leave(let id): leave(id, call)
        case .markRead(let id, let seq): markRead(seq, of: id, call)
        case .update(let id, _), .addParticipants(let id, _), .removeParticipants(let id, _),
            .addAdmins(let id, _), .removeAdmins(let id, _):
            change(id, by: operation, call)
        }
    }

    func finish(_ call: Call, _ result: Result<Outcome, RequestError>) {
        outlet.deliver([.performed(token: call.token, result)])
        call.ended?()
    }
}
