import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Sends, edits and deletes messages. The id that a sender gives is an idempotency key: repeats
/// store nothing. Users edit only their own; a deleted message becomes a tombstone.
extension Redis {
    func send(_ messages: [NewMessage], to conversation: String, _ call: Call) {
        if let refusal = messages.refusal(ofSendingBy: call.user) {
            return refuse(conversation, call, refusal)
        }
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

    /// Refuses a call that no conversation would accept; who does not take part gets `not_found`.
    func refuse(_ conversation: String, _ call: Call, _ error: RequestError) {
        scripts.run(.look, of: conversation, [Array((call.user ?? "").utf8), []]) { result in
            let answer = result.flatMap { answer -> Result<Outcome, RequestError> in
                let isThere = call.user == nil || answer[3] != .none
                return .failure(isThere ? error : .noConversation)
            }
            self.finish(call, answer)
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
        return .success(.messages(messages, isNew: answer[2].int != 0))
    }

    // MARK: changing one

    /// The view on which a change of a message is decided: the message, and the caller's role.
    private struct Seen {
        var head: Head
        var recordRev: Int
        var isAdmin: Bool
        var seq: Int
        var slot: StoredMessage

        func encoded(in conversation: String) -> EncodedMessage {
            slot.encoded(conversation: conversation, seq: seq)
        }
    }

    /// The new value of a message.
    private struct Replacement {
        var kind: String
        var content: [UInt8]
    }

    func edit(_ id: String, _ edit: MessageEdit, of conversation: String, _ call: Call) {
        replace(id, of: conversation, call) { (seen: Seen) throws(RequestError) in
            if let user = call.user, !user.isSameID(seen.slot.author) {
                throw RequestError(.forbidden, "id: only its author may edit a message")
            }
            guard !seen.slot.isDeleted else {
                throw seen.encoded(in: conversation).refusedAsDeleted(ifRev: edit.ifRev)
            }
            let edited = try seen.slot.content.edited(
                by: edit, of: seen.encoded(in: conversation), within: self.limits)
            return edited.map { Replacement(kind: "u", content: StoredMessage.stored($0)) }
        }
    }

    func delete(_ id: String, ifRev: Int?, of conversation: String, _ call: Call) {
        replace(id, of: conversation, call) { (seen: Seen) throws(RequestError) in
            let isAuthor = call.user?.isSameID(seen.slot.author) ?? true
            guard isAuthor || seen.isAdmin else {
                throw RequestError(
                    .forbidden, "id: only its author or an admin may delete a message")
            }
            if seen.slot.isDeleted { return nil }
            try seen.encoded(in: conversation).check(ifRev: ifRev)
            return Replacement(kind: "d", content: [])
        }
    }

    /// Reads a message, decides, and writes with compare-and-set; if the message changed meanwhile,
    /// starts again.
    private func replace(
        _ id: String, of conversation: String, _ call: Call, tries: Int = 0,
        decide: @escaping @Sendable (Seen) throws(RequestError) -> Replacement?
    ) {
        let caller = Array((call.user ?? "").utf8)
        scripts.run(.look, of: conversation, [caller, Array(id.utf8)]) { result in
            do throws(RequestError) {
                let seen = try Self.seen(try result.get(), call)
                guard let replacement = try decide(seen) else {
                    let message = seen.encoded(in: conversation)
                    return self.finish(call, .success(.messages([message], isNew: false)))
                }
                self.write(replacement, seen, conversation, call) {
                    guard tries < Self.tryLimit else {
                        return self.finish(call, .failure(.stale))
                    }
                    self.replace(id, of: conversation, call, tries: tries + 1, decide: decide)
                }
            } catch {
                self.finish(call, .failure(error))
            }
        }
    }

    private static func seen(_ answer: RedisScripts.Answer, _ call: Call) throws(RequestError)
        -> Seen
    {
        guard let head = Head(answer[1]), let recordRev = answer[2].place else {
            throw .unreadable
        }
        let member = call.user.flatMap { user in
            answer[3].bytes.flatMap { StoredMember(user, $0) }
        }
        if call.user != nil, member == nil { throw .noConversation }
        guard let seq = answer[4].place, seq > 0 else { throw .noMessage }
        guard let slot = answer[5].bytes.flatMap({ StoredMessage($0) }) else { throw .unreadable }
        return Seen(
            head: head, recordRev: recordRev, isAdmin: member?.isAdmin ?? true, seq: seq,
            slot: slot)
    }

    private func write(
        _ replacement: Replacement, _ seen: Seen, _ conversation: String, _ call: Call,
        stale: @escaping @Sendable () -> Void
    ) {
        let texts = [
            seen.slot.id, seen.head.epoch, String(seen.recordRev), String(seen.slot.rev),
            replacement.kind,
        ]
        let bytes = [Random.bytes(8), Array(seen.slot.author.utf8), replacement.content]
        scripts.run(.replace, of: conversation, texts.map { Array($0.utf8) } + bytes) { result in
            if case .success(let answer) = result, answer.word == "stale" { return stale() }
            self.finish(call, result.flatMap { Self.outcome($0, conversation) })
        }
    }

    // MARK: reading

    func markRead(_ seq: Int, of conversation: String, _ call: Call) {
        guard let user = call.user else { return refuse(conversation, call, .needsUser) }
        scripts.run(.read, of: conversation, [Array(user.utf8), Array(String(seq).utf8)]) {
            result in
            self.finish(
                call,
                result.flatMap { answer in
                    if answer.word == "range" {
                        let text = "seq: \(seq) is out of range (0…\(answer[1].int ?? 0))"
                        return .failure(.badRequest(text))
                    }
                    let reading = answer[1].elements.compactMap(\.place)
                    guard reading.count == 2 else { return .failure(.unreadable) }
                    return .success(
                        .read(ReaderState(lastReadSeq: reading[0], unreadCount: reading[1])))
                })
        }
    }
}

extension RequestError {
    static let idTaken = RequestError(
        .conflict, "id: taken by another message of this conversation")
    static let needsUser = RequestError.badRequest(
        "user: missing (accepted: a call of a user, the server API has no place in a conversation)")
}
