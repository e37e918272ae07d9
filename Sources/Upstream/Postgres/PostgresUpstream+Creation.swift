import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Creates conversations, and finds distinct ones: lookup, limit and creation in one transaction.
extension PostgresUpstream {
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call) {
        let fields = fields.created(by: call.user)
        do throws(RequestError) {
            let said = try Description(fields).new(within: limits)
            let members = try MembershipChange(of: fields, within: limits)
            let id = id ?? newID()
            let people =
                isDistinct ? Hexadecimal.text(members.joining.map(\.user).distinctKey) : nil
            let decided = RecordDecision(
                said, members: members, people: people, createdBy: call.user)
            let limit = call.user == nil ? 0 : limits.conversationsPerUser
            insert(decided, as: id, call, limit: limit) { [self] result in finish(call, result) }
        } catch {
            // An existing distinct conversation is not looked for here.
            finish(call, .failure(error))
        }
    }

    private func insert(
        _ decided: RecordDecision, as id: String, _ call: Call, limit: Int,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void
    ) {
        writeRecord(decided, of: id, call, limit: limit) { [self] result in
            do throws(RequestError) {
                let answer = try result.get()
                switch answer.word {
                case "taken":
                    // Only participants learn that the id is taken by this conversation; others get
                    // the error for a conversation of others.
                    let knows = call.user == nil || answer["member"]?.bool == true
                    throw knows ? .conversationTaken : .conversationOfOthers
                case "full":
                    try limits.check(conversationsOfCreator: answer["count"]?.int ?? .max)
                    throw .unreadable
                default: break
                }
                guard let value = answer["view"],
                    let view = StoredConversation(
                        postgres: value, of: value.object?["id"]?.string ?? id)
                else { throw .unreadable }
                then(.success(.conversation(view.shown, isNew: answer.word == "done")))
            } catch {
                then(.failure(error))
            }
        }
    }

    // MARK: distinct ones

    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError
    ) {
        guard let user = call.user else { return finish(call, .failure(refusal)) }
        let users = ([user] + (fields.participants ?? [])).unique
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "distinct")
        json.member("people", string: Hexadecimal.text(users.distinctKey))
        json.member("users", strings: users)
        json.member("reader", string: user)
        json.endObject()
        answers.pool.read(json.bytes) { [self] result in
            switch answers.checked(result, "of some people") {
            case .failure(.noConversation): finish(call, .failure(refusal))
            case .failure(let error): finish(call, .failure(error))
            case .success(let answer):
                guard let value = answer["view"], let id = value.object?["id"]?.string,
                    let view = StoredConversation(postgres: value, of: id)
                else { return finish(call, .failure(.unreadable)) }
                finish(call, .success(.conversation(view.shown, isNew: false)))
            }
        }
    }

    /// A new random epoch.
    func newEpoch() -> String { Random.hex(8) }
}
