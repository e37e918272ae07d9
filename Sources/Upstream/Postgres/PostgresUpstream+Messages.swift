import Chat
import JSON
import Ports
import Rules
import Wire

/// Sends messages, and reads and writes those that change. The id that a sender gives is an
/// idempotency key: repeats store nothing.
extension PostgresUpstream {
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call) {
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
            if message.content.mentionAll, message.asksAdmin, call.user != nil {
                json.member("asksAdmin", bool: true)
            }
            json.endObject()
        }
        json.endArray()
        json.endObject()
        answers.pool.write(json.bytes, of: conversation) { [self] result in
            let answer = answers.checked(result, conversation)
            finish(
                call,
                answer.flatMap { answer in
                    switch answer.word {
                    case "taken": .failure(.idTaken)
                    case "forbidden": .failure(.adminsMentionAll)
                    default:
                        Self.outcome(
                            answer["sent"]?.array, of: answer, isNew: answer["new"]?.int != 0,
                            conversation)
                    }
                }, in: conversation, behind: (try? answer.get())?["head"])
        }
    }

    private static func outcome(
        _ values: [RawJSON]?, of answer: PostgresAnswer, isNew: Bool, _ conversation: String
    ) -> Result<Outcome, RequestError> {
        guard let values, let head = answer["head"].flatMap({ Head(postgres: $0) }) else {
            return .failure(.unreadable)
        }
        let messages = values.compactMap { EncodedMessage(postgres: $0, of: conversation) }
        guard messages.count == values.count else { return .failure(.unreadable) }
        return .success(.messages(messages, at: Written(conversation, head), isNew: isNew))
    }

    // MARK: changing one

    func look(
        _ id: String, in conversation: String, for rule: MessageRule?, _ call: Call,
        then: @escaping @Sendable (Result<SeenMessage?, RequestError>) -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "look")
        json.member("c", string: conversation)
        json.key("user")
        if let user = call.user { json.string(user) } else { json.null() }
        json.member("id", string: id)
        if let mentioned = rule?.mentioned { json.member("mentioned", strings: mentioned) }
        if let reacting = rule?.reacting {
            json.member("reactor", string: reacting.user)
            json.member("key", string: reacting.key)
        }
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
                    guard let value = answer["message"] else { return .success(nil) }
                    guard let message = PostgresMessage(value) else {
                        return .failure(.unreadable)
                    }
                    return .success(
                        SeenMessage(
                            head: head, recordRev: rev,
                            isAdmin: call.user == nil || answer["admin"]?.bool == true,
                            seq: message.seq, slot: message.slot,
                            reactions: answer["reactions"]?.object.map {
                                SeenReactions($0, of: message.slot)
                            },
                            mentions: answer["present"]?.array.map { present in
                                MentionView(
                                    isAdmin: call.user == nil || answer["admin"]?.bool == true,
                                    hasAdmins: answer["admins"]?.int != 0,
                                    present: Set(present.compactMap(\.string).map(\.id)))
                            }))
                })
        }
    }

    func write(
        _ change: MessageChange, of seen: SeenMessage, in conversation: String,
        _ call: Call, stale: @escaping @Sendable () -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "replace")
        json.member("c", string: conversation)
        json.member("id", string: seen.slot.id)
        json.member("epoch", string: seen.head.epoch)
        json.member("recordRev", int: seen.recordRev)
        json.member("rev", int: seen.slot.rev)
        json.member("kind", string: change.kind)
        json.member("content", raw: change.stored(addressed: true) ?? RawJSON.null.bytes)
        if case .reacted(let reacted) = change {
            json.member("user", string: reacted.reacting.user)
            json.member("key", string: reacted.reacting.key)
            json.member("on", bool: reacted.reacting.isOn)
        }
        json.endObject()
        answers.pool.write(json.bytes, of: conversation) { [self] result in
            let answer = answers.checked(result, conversation)
            if case .success(let answer) = answer, answer.word == "stale" { return stale() }
            finish(
                call,
                answer.flatMap { answer in
                    Self.outcome(
                        answer["message"].map { [$0] }, of: answer, isNew: false, conversation
                    ).map { change.outcome($0, seen, by: call.user) }
                }, in: conversation, behind: (try? answer.get())?["head"])
        }
    }

    // MARK: reading

    func markRead(_ seq: Int, of conversation: String, by user: String, _ call: Call) {
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
                        return .failure(.beyondLog(seq, head: answer["seq"]?.int ?? 0))
                    }
                    guard let place = answer["read"]?.place, let unread = answer["unread"]?.place
                    else { return .failure(.unreadable) }
                    if answer["rose"]?.bool == true { hasRead(conversation, user, place) }
                    return .success(
                        .read(
                            ReaderState(
                                lastReadSeq: place, unreadCount: unread,
                                unreadMentions: answer["mentions"]?.place ?? 0)))
                })
        }
    }
}
