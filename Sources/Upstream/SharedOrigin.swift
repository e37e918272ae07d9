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
    var user: String? { caller.userID }
}

/// An origin on a server that several gateways share. It does what `UpstreamCall` asks. The gateway
/// decides what a write means, by `Rules` and on a view of the conversation or message; the server
/// checks that this view still holds (optimistic concurrency).
protocol SharedOrigin: EnablingOrigin {
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
    func presence(_ call: PresenceCall, token: UInt64)
    func ask(_ query: HistoryQuery, token: UInt64)
    func forkEpoch(_ head: Head, conversation: String, token: UInt64)
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call)
    func markRead(_ seq: Int, of conversation: String, by user: String, _ call: Call)
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call)
    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError)

    /// A message with the caller's role in the conversation, if the caller takes part; nil if there
    /// is no such message.
    /// - Parameter rule: the rule that is to decide, for which it is looked up; nil: for none.
    func look(
        _ id: String, in conversation: String, for rule: MessageRule?, _ call: Call,
        then: @escaping @Sendable (Result<SeenMessage?, RequestError>) -> Void)

    /// Whether the origin is shared with gateways of this version only, as somebody has said.
    func isEnabled(then: @escaping @Sendable (Result<Bool, RequestError>) -> Void)

    /// Writes a message's new value and finishes the call, if what was seen of it still holds.
    func write(
        _ change: MessageChange, of seen: SeenMessage, in conversation: String,
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
        _ decided: RecordWrite, of id: String, _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void)
}

extension SharedOrigin {
    func take(_ calls: [UpstreamCall]) {
        for call in calls {
            Payer.$current.withValue(call.payer) {
                switch call {
                case .perform(let operation, let caller, let token):
                    perform(operation, Call(caller: caller, token: token))
                case .ask(let query, let token):
                    if query.isOfPresentVersion {
                        askEnabled(query, token: token)
                    } else {
                        ask(query, token: token)
                    }
                case .forkEpoch(let head, let conversation, let token):
                    forkEpoch(head, conversation: conversation, token: token)
                case .subscribe(let conversation): subscribe(conversation)
                case .unsubscribe(let conversation): unsubscribe(conversation)
                case .subscribeList(let user): subscribeList(of: user)
                case .unsubscribeList(let user): unsubscribeList(of: user)
                case .publish(let event): publish(event)
                case .disconnect(let user, let mayComeBack, let token):
                    disconnect(user, mayComeBack: mayComeBack, token: token)
                case .presence(let call, let token): presence(call, token: token)
                }
            }
        }
    }

    private func askEnabled(_ query: HistoryQuery, token: UInt64) {
        checkEnabled { [self] result in
            switch result {
            case .success: ask(query, token: token)
            case .failure(let error):
                outlet.deliver([.answered(token: token, generation: 0, .failure(error))])
            }
        }
    }

    /// Fails with `notEnabled` as long as an earlier gateway may share the origin.
    func checkEnabled(then: @escaping @Sendable (Result<Void, RequestError>) -> Void) {
        isEnabled { result in
            then(result.flatMap { $0 ? .success(()) : .failure(.notEnabled) })
        }
    }

    private func perform(_ operation: Operation, _ call: Call) {
        guard operation.isAddressed else { return performEnabled(operation, call) }
        checkEnabled { [self] result in
            switch result {
            case .success: performEnabled(operation, call)
            case .failure(let error): finish(call, .failure(error))
            }
        }
    }

    /// Performs what no earlier gateway loses.
    private func performEnabled(_ operation: Operation, _ call: Call) {
        do throws(RequestError) {
            switch try operation.write(by: call.caller) {
            case .send(let id, let messages):
                if let refusal = messages.refusal(ofSendingBy: call.user) {
                    return refuse(id, call, refusal)
                }
                send(messages, to: id, call)
            case .message(let message, let id, .react(let reacting)):
                react(reacting, to: message, of: id, call)
            case .message(let message, let id, let rule):
                change(message, of: id, by: rule, call)
            case .record(let id, let rule): change(id, by: rule, call)
            case .create(let id, let fields, let isDistinct):
                create(id, fields, isDistinct: isDistinct, call)
            case .findDistinct(let fields, let refusal):
                findDistinct(fields, call, otherwise: refusal)
            case .deleteConversation(let id): deleteConversation(id, call)
            case .markRead(let id, let seq):
                guard let user = call.user else { return refuse(id, call, .needsUser) }
                markRead(seq, of: id, by: user, call)
            }
        } catch {
            finish(call, .failure(error))
        }
    }

    /// Refuses a call that no conversation would accept; who does not take part gets `not_found`.
    private func refuse(_ conversation: String, _ call: Call, _ error: RequestError) {
        look("", in: conversation, for: nil, call) { [self] result in
            finish(call, result.flatMap { _ in .failure(error) })
        }
    }

    func finish(_ call: Call, _ result: Result<Outcome, RequestError>) {
        outlet.deliver([.performed(token: call.token, result)])
        call.ended?()
    }
}
