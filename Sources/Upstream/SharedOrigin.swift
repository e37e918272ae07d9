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

/// An origin on a server that several gateways share. The gateway decides what a write of a record
/// means, on a view of the conversation; the server checks that this view still holds (optimistic
/// concurrency).
protocol SharedOrigin: Upstream {
    typealias Call = OriginCall

    /// How often a write is decided again because another writer was faster.
    static var tryLimit: Int { get }
    var outlet: Outlet { get }
    /// Record changes are decided one at a time per conversation.
    var recordQueues: SerialQueues { get }
    var limits: LogLimits { get }

    func ask(_ query: HistoryQuery, token: UInt64)
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call)
    func edit(_ id: String, _ edit: MessageEdit, of conversation: String, _ call: Call)
    func delete(_ id: String, ifRev: Int?, of conversation: String, _ call: Call)
    func markRead(_ seq: Int, of conversation: String, _ call: Call)
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call)
    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError)
    func deleteConversation(_ id: String, _ call: Call, tries: Int)

    /// Creates the conversation that a `put` did not find.
    func insertPut(_ id: String, _ fields: ConversationFields, _ call: Call)

    /// Fails the call with this error, or with `not_found` if the caller does not take part.
    func refuse(_ conversation: String, _ call: Call, _ error: RequestError)

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
            switch call {
            case .perform(let operation, let caller, let token):
                Payer.$current.withValue(caller.payer) {
                    perform(operation, Call(caller: caller, token: token))
                }
            case .ask(let query, let token): ask(query, token: token)
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
        case .deleteConversation(let id): deleteConversation(id, call, tries: 0)
        case .leave(let id): leave(id, call)
        case .markRead(let id, let seq): markRead(seq, of: id, call)
        case .update(let id, let fields):
            let change = RecordChange(
                title: fields.title, metadata: fields.metadata, unknown: fields.unknownFields,
                ifRev: fields.ifRev)
            administer(id, call, change)
        case .addParticipants(let id, let users): administer(id, call, RecordChange(join: users))
        case .removeParticipants(let id, let users): remove(users, from: id, call)
        case .addAdmins(let id, let users): administer(id, call, RecordChange(promote: users))
        case .removeAdmins(let id, let users): administer(id, call, RecordChange(demote: users))
        }
    }

    func finish(_ call: Call, _ result: Result<Outcome, RequestError>) {
        outlet.deliver([.performed(token: call.token, result)])
        call.ended?()
    }

    /// The members of a new conversation.
    func membership(of fields: ConversationFields) throws(RequestError) -> MembershipChange {
        let change = RecordChange(
            join: (fields.participants ?? []).map { NewParticipant(user: $0) },
            promote: fields.admins ?? [])
        var members = MembershipChange(change)
        guard members.strangers.isEmpty else { throw .strangersCannotRule }
        try members.hold(to: limits)
        return members
    }
}
