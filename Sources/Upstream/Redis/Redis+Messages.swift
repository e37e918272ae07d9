import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Sends messages, and reads and writes those that change. The id that a sender gives is an
/// idempotency key: repeats store nothing.
extension Redis {
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call) {
        var arguments = [
            call.user ?? "", String(scripts.options.retain), String(scripts.options.retainIds),
        ]
        .map { Array($0.utf8) }
        for message in messages {
            let id = message.content.id
            arguments.append(Array((id ?? newID()).utf8))
            arguments.append(Array((id == nil ? "0" : "1").utf8))
            arguments.append(Array(message.author.utf8))
            arguments.append(StoredMessage.hash(message.content))
            arguments.append(Random.bytes(8))
            arguments.append(StoredMessage.stored(message.content))
        }
        scripts.run(.append, of: conversation, arguments) { result in
            self.finish(
                call,
                result.flatMap { answer in
                    answer.word == "taken"
                        ? .failure(.idTaken) : Self.outcome(answer, conversation)
                })
        }
    }

    /// The messages in the replies of `append` and `replace`.
    private static func outcome(
        _ answer: RedisScripts.Answer, _ conversation: String
    ) -> Result<Outcome, RequestError> {
        var messages: [EncodedMessage] = []
        for reply in answer[3].elements {
            guard let message = EncodedMessage(reply, of: conversation) else {
                return .failure(.unreadable)
            }
            messages.append(message)
        }
        guard let head = Head(answer[1]) else { return .failure(.unreadable) }
        return .success(
            .messages(messages, at: Written(conversation, head), isNew: answer[2].int != 0))
    }

    // MARK: changing one

    func look(
        _ id: String, in conversation: String, for reacting: Reacting?, _ call: Call,
        then: @escaping @Sendable (Result<SeenMessage?, RequestError>) -> Void
    ) {
        var asked = [call.user ?? "", id]
        if let reacting {
            asked += [reacting.user, reacting.key, String(Reaction.namedUsers)]
        }
        let script = reacting == nil ? RedisScript.look : .reactors
        scripts.run(script, of: conversation, asked.map { Array($0.utf8) }) { result in
            then(
                result.flatMap { answer in
                    Self.seen(answer, call).map { seen in
                        guard var seen, reacting != nil else { return seen }
                        let reactions = SeenReactions(answer, of: seen)
                        seen.reactions = reactions
                        return seen
                    }
                })
        }
    }

    private static func seen(
        _ answer: RedisScripts.Answer, _ call: Call
    ) -> Result<SeenMessage?, RequestError> {
        guard let head = Head(answer[1]), let recordRev = answer[2].place else {
            return .failure(.unreadable)
        }
        let member = call.user.flatMap { user in
            answer[3].bytes.flatMap { StoredMember(user, $0) }
        }
        if call.user != nil, member == nil { return .failure(.noConversation) }
        guard let seq = answer[4].place, seq > 0 else { return .success(nil) }
        guard let slot = answer[5].bytes.flatMap({ StoredMessage($0) }) else {
            return .failure(.unreadable)
        }
        return .success(
            SeenMessage(
                head: head, recordRev: recordRev, isAdmin: member?.isAdmin ?? true, seq: seq,
                slot: slot))
    }

    func write(
        _ change: MessageChange, of seen: SeenMessage, in conversation: String,
        _ call: Call, stale: @escaping @Sendable () -> Void
    ) {
        let texts = [
            seen.slot.id, seen.head.epoch, String(seen.recordRev), String(seen.slot.rev),
            change.kind,
        ]
        let bytes = [
            Random.bytes(8), Array(seen.slot.author.utf8), change.stored ?? [],
        ]
        var arguments = texts.map { Array($0.utf8) } + bytes
        if case .reacted(let reacted) = change {
            let reacting = reacted.reacting
            arguments += [reacting.user, reacting.key, reacting.isOn ? "1" : "0"].map {
                Array($0.utf8)
            }
        }
        scripts.run(.replace, of: conversation, arguments) { result in
            if case .success(let answer) = result, answer.word == "stale" { return stale() }
            self.finish(
                call,
                result.flatMap { Self.outcome($0, conversation) }
                    .map { change.outcome($0, seen, by: call.user) })
        }
    }

    // MARK: reading

    func markRead(_ seq: Int, of conversation: String, by user: String, _ call: Call) {
        scripts.run(.read, of: conversation, [Array(user.utf8), Array(String(seq).utf8)]) {
            result in
            self.finish(
                call,
                result.flatMap { answer in
                    if answer.word == "range" {
                        return .failure(.beyondLog(seq, head: answer[1].int ?? 0))
                    }
                    let reading = answer[1].elements.compactMap(\.place)
                    guard reading.count == 2 else { return .failure(.unreadable) }
                    return .success(
                        .read(ReaderState(lastReadSeq: reading[0], unreadCount: reading[1])))
                })
        }
    }
}

extension SeenReactions {
    /// Those in an answer of `reactors`.
    /// - Parameter seen: the message in it.
    init(_ answer: RedisScripts.Answer, of seen: SeenMessage) {
        own = answer[6].elements.compactMap(\.string)
        view = ReactionView(
            shown: seen.slot.reactions?.shown ?? [], keys: answer[7].elements.compactMap(\.string),
            next: answer[8].string, takesPart: answer[9].int == 1)
    }
}
