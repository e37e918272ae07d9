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
            arguments.append(StoredMessage.stored(message.content, addressed: false))
            arguments.append(Array((message.content.replyTo?.id ?? "").utf8))
            arguments.append(Array(message.content.mentions.joined(separator: "\t").utf8))
            let all = message.content.mentionAll ? (message.asksAdmin ? "2" : "1") : "0"
            arguments.append(Array(all.utf8))
        }
        scripts.run(.append, of: conversation, arguments) { result in
            self.finish(
                call,
                result.flatMap { answer in
                    switch answer.word {
                    case "taken": .failure(.idTaken)
                    case "forbidden": .failure(.adminsMentionAll)
                    default: Self.outcome(answer, conversation)
                    }
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
        _ id: String, in conversation: String, for rule: MessageRule?, _ call: Call,
        then: @escaping @Sendable (Result<SeenMessage?, RequestError>) -> Void
    ) {
        let (reacting, mentioned) = (rule?.reacting, rule?.mentioned)
        var asked = [call.user ?? "", id]
        if let reacting {
            asked += [reacting.user, reacting.key, String(Reaction.namedUsers)]
        }
        asked += mentioned ?? []
        let script = reacting == nil ? RedisScript.look : .reactors
        scripts.run(script, of: conversation, asked.map { Array($0.utf8) }) { result in
            then(
                result.flatMap { answer in
                    Self.seen(answer, call).map { seen in
                        guard var seen else { return nil }
                        if reacting != nil {
                            let reactions = SeenReactions(answer, of: seen)
                            seen.reactions = reactions
                        }
                        if let mentioned {
                            let present = zip(mentioned, answer[6].elements)
                                .filter { $0.1.int == 1 }
                            seen.mentions = MentionView(
                                isAdmin: seen.isAdmin, hasAdmins: answer[7].string != "0",
                                present: Set(present.map(\.0.id)))
                        }
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
            Random.bytes(8), Array(seen.slot.author.utf8),
            change.stored(addressed: false) ?? [], change.address,
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
                    guard let reader = ReaderState(answer[1]) else { return .failure(.unreadable) }
                    return .success(.read(reader))
                })
        }
    }
}

extension MessageChange {
    /// To whom an edit leaves the message addressed; empty where it says nothing of that.
    fileprivate var address: [UInt8] {
        if case .edited(let content) = self { StoredMessage.address(of: content) } else { [] }
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
