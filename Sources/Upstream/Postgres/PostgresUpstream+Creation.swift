import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Creates conversations, and finds distinct ones: lookup, limit and creation in one transaction.
extension PostgresUpstream {
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call) {
        do throws(RequestError) {
            let creation = try Creation(fields, by: call.user, within: limits)
            insert(creation, as: id ?? newID(), isDistinct: isDistinct, call)
        } catch {
            // An existing distinct conversation is not looked for here.
            finish(call, .failure(error))
        }
    }

    private func insert(_ creation: Creation, as id: String, isDistinct: Bool, _ call: Call) {
        let people = isDistinct ? Hexadecimal.text(creation.users.distinctKey) : nil
        let limit = call.user == nil ? 0 : limits.conversationsPerUser
        writeRecord(RecordWrite(creation, people: people), of: id, call, limit: limit) {
            [self] result in
            do throws(RequestError) {
                let answer = try result.get()
                switch answer.word {
                case "taken":
                    throw creation.refusalAsTaken(takesPart: answer["member"]?.bool == true)
                case "full":
                    try limits.check(conversationsOfCreator: answer["count"]?.int ?? .max)
                    throw .unreadable
                default: break
                }
                guard let value = answer["view"],
                    let view = StoredConversation(
                        postgres: value, of: value.object?["id"]?.string ?? id)
                else { throw .unreadable }
                let isNew = answer.word == "done"
                finish(call, .success(.conversation(view.shown, isNew: isNew)))
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    // MARK: distinct ones

    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError
    ) {
        guard let user = call.user else { return finish(call, .failure(refusal)) }
        let users = fields.people(with: user)
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
