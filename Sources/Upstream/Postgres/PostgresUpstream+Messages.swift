import Chat
import JSON
import Ports
import Rules
import Wire

/// Sends, edits and deletes messages. The id that a sender gives is an idempotency key: repeats
/// store nothing. Users edit only their own; a deleted message becomes a tombstone.
extension PostgresUpstream {
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call) {
        if let refusal = messages.refusal(ofSendingBy: call.user) {
            return refuse(conversation, call, refusal)
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "append")
        json.member("c", string: conversation)
        json.key("caller")
        if let user = call.user { json.string(user) } else { json.null() }
        json.member("retainIds", int: Int(options.retainIds))
        json.key("messages")
        json.beginArray()
        for message in messages {
            json.beginObject()
            json.member("id", string: message.content.id ?? newID())
            json.member("given", bool: message.content.id != nil)
            json.member("author", string: message.author)
            json.member("content", raw: StoredMessage.stored(message.content))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        answers.pool.write(json.bytes, of: conversation) { [self] result in
            let answer = answers.checked(result, conversation)
            finish(
                call,
                answer.flatMap { answer in
                    answer.word == "taken"
                        ? .failure(.idTaken)
                        : Self.outcome(
                            answer["sent"]?.array, isNew: answer["new"]?.int != 0, conversation)
                }, in: conversation, behind: (try? answer.get())?["head"])
        }
    }

    private static func outcome(
        _ values: [RawJSON]?, isNew: Bool, _ conversation: String
    ) -> Result<Outcome, RequestError> {
        guard let values else { return .failure(.unreadable) }
        let messages = values.compactMap { EncodedMessage(postgres: $0, of: conversation) }
        guard messages.count == values.count else { return .failure(.unreadable) }
        return .success(.messages(messages, isNew: isNew))
    }

    /// Refuses a call that no conversation would accept; who does not take part gets `not_found`.
    func refuse(_ conversation: String, _ call: Call, _ error: RequestError) {
        look("", in: conversation, call) { [self] result in
            finish(call, result.flatMap { _ in .failure(error) })
        }
    }

    // MARK: changing one

    /// The view on which a change of a message is decided: the message, and the caller's role.
    private struct Seen {
        var conversation: String
        var head: Head
        var recordRev: Int
        var isAdmin: Bool
        var message: PostgresMessage?
    }

    /// The new value of a message.
    private struct Replacement {
        var kind: String
        var content: [UInt8]?
    }

    private func look(
        _ id: String, in conversation: String, _ call: Call,
        then: @escaping @Sendable (Result<Seen, RequestError>) -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "look")
        json.member("c", string: conversation)
        json.key("user")
        if let user = call.user { json.string(user) } else { json.null() }
        json.member("id", string: id)
        json.endObject()
        answers.pool.read(json.bytes) { [self] result in
            then(
                answers.checked(result, conversation).flatMap { answer in
                    guard let head = answer["head"].flatMap({ Head(postgres: $0) }),
                        let rev = answer["rev"]?.place
                    else { return .failure(.unreadable) }
                    if call.user != nil, answer["member"]?.bool != true {
                        return .failure(.noConversation)
                    }
                    let message = answer["message"].map { PostgresMessage($0) }
                    if case .some(nil) = message { return .failure(.unreadable) }
                    return .success(
                        Seen(
                            conversation: conversation, head: head, recordRev: rev,
                            isAdmin: call.user == nil || answer["admin"]?.bool == true,
                            message: message ?? nil))
                })
        }
    }

    func edit(_ id: String, _ edit: MessageEdit, of conversation: String, _ call: Call) {
        let limits = limits
        replace(id, of: conversation, call) { (_, message: PostgresMessage) throws(RequestError) in
            let encoded = message.encoded(in: conversation)
            if let user = call.user, !user.isSameID(message.slot.author) {
                throw RequestError(.forbidden, "id: only its author may edit a message")
            }
            guard !message.slot.isDeleted else {
                throw encoded.refusedAsDeleted(ifRev: edit.ifRev)
            }
            let edited = try message.slot.content.edited(by: edit, of: encoded, within: limits)
            return edited.map { Replacement(kind: "u", content: StoredMessage.stored($0)) }
        }
    }

    func delete(_ id: String, ifRev: Int?, of conversation: String, _ call: Call) {
        replace(id, of: conversation, call) {
            (seen: Seen, message: PostgresMessage) throws(RequestError) in
            let isAuthor = call.user?.isSameID(message.slot.author) ?? true
            guard isAuthor || seen.isAdmin else {
                throw RequestError(
                    .forbidden, "id: only its author or an admin may delete a message")
            }
            if message.slot.isDeleted { return nil }
            try message.encoded(in: conversation).check(ifRev: ifRev)
            return Replacement(kind: "d", content: nil)
        }
    }

    /// Reads a message, decides, and writes with compare-and-set; if the message changed meanwhile,
    /// starts again.
    private func replace(
        _ id: String, of conversation: String, _ call: Call, tries: Int = 0,
        decide: @escaping @Sendable (Seen, PostgresMessage) throws(RequestError) -> Replacement?
    ) {
        look(id, in: conversation, call) { [self] result in
            do throws(RequestError) {
                let seen = try result.get()
                guard let message = seen.message else { throw .noMessage }
                guard let replacement = try decide(seen, message) else {
                    let encoded = message.encoded(in: conversation)
                    return finish(call, .success(.messages([encoded], isNew: false)))
                }
                write(replacement, of: message, seen, call) { [self] in
                    guard tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
                    replace(id, of: conversation, call, tries: tries + 1, decide: decide)
                }
            } catch {
                finish(call, .failure(error))
            }
        }
    }

    private func write(
        _ replacement: Replacement, of message: PostgresMessage, _ seen: Seen, _ call: Call,
        stale: @escaping @Sendable () -> Void
    ) {
        let conversation = seen.conversation
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "replace")
        json.member("c", string: conversation)
        json.member("id", string: message.slot.id)
        json.member("epoch", string: seen.head.epoch)
        json.member("recordRev", int: seen.recordRev)
        json.member("rev", int: message.slot.rev)
        json.member("kind", string: replacement.kind)
        json.member("content", raw: replacement.content ?? RawJSON.null.bytes)
        json.endObject()
        answers.pool.write(json.bytes, of: conversation) { [self] result in
            let answer = answers.checked(result, conversation)
            if case .success(let answer) = answer, answer.word == "stale" { return stale() }
            finish(
                call,
                answer.flatMap { answer in
                    Self.outcome(answer["message"].map { [$0] }, isNew: false, conversation)
                }, in: conversation, behind: (try? answer.get())?["head"])
        }
    }

    // MARK: reading

    func markRead(_ seq: Int, of conversation: String, _ call: Call) {
        guard let user = call.user else { return refuse(conversation, call, .needsUser) }
        var json = JSONWriter()
        json.beginObject()
        json.member("s", string: "read")
        json.member("c", string: conversation)
        json.member("user", string: user)
        json.member("seq", int: seq)
        json.endObject()
        answers.pool.signal(json.bytes, isDurable: false) { [self] result in
            finish(
                call,
                answers.checked(result, conversation).flatMap { answer in
                    if answer.word == "range" {
                        let text = "seq: \(seq) is out of range (0…\(answer["seq"]?.int ?? 0))"
                        return .failure(.badRequest(text))
                    }
                    guard let place = answer["read"]?.place, let unread = answer["unread"]?.place
                    else { return .failure(.unreadable) }
                    if answer["rose"]?.bool == true { hasRead(conversation, user, place) }
                    return .success(.read(ReaderState(lastReadSeq: place, unreadCount: unread)))
                })
        }
    }
}
