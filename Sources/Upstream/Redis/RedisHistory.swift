import Chat
import Crypto
import Ports
import Wire

/// Answers questions about history: each but the lists is one script, and so a read of one moment.
final class RedisHistory: Sendable {
    let scripts: RedisScripts
    private let lists: RedisLists
    private let outlet: Outlet
    let rosters = Rosters()
    let wholeLists = WholeLists()

    init(_ scripts: RedisScripts, _ lists: RedisLists, _ outlet: Outlet) {
        self.scripts = scripts
        self.lists = lists
        self.outlet = outlet
    }

    func ask(_ query: HistoryQuery, token: UInt64) { ask(query, token, having: nil) }

    private func ask(_ query: HistoryQuery, _ token: UInt64, having head: Head?) {
        let question = question(token, about: query.topics)
        let answer: @Sendable (Result<HistoryAnswer, RequestError>) -> Void = { result in
            self.answer(question, result)
        }
        switch query {
        case .conversation(let id, let reader):
            // A follower of the log (no reader) needs all members; a reply lists them only if they
            // are few.
            scripts.view(id, with: reader, naming: reader.map { _ in [] }, having: head) { result in
                answer(result.map { .conversation($0.shown) })
            }
        case .conversations(let user, let limit, let cursor):
            lists.list(of: user, limit: limit, cursor: cursor) {
                answer($0.map { .conversations($0) })
            }
        case .conversationsSince(let user, let token, let limit):
            lists.list(of: user, since: token, limit: limit) {
                answer($0.map { .conversationsSince($0) })
            }
        case .listed(let user): lists.heads(of: user) { answer($0.map { .listed($0) }) }
        case .message(let id, let message):
            scripts.run(.message, of: id, [Array(message.utf8)]) { result in
                answer(
                    result.flatMap { found in
                        if found.word == "missing" { return .failure(.noMessage) }
                        return EncodedMessage(found[1], of: id)
                            .map { .success(.message($0)) } ?? .failure(.unreadable)
                    })
            }
        case .page(let id, let request): page(id, request, having: head, then: answer)
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            let question = ChangesQuestion(
                conversation: id, since: since, mark: mark, limit: limit, recordAbove: recordAbove)
            changes(question, having: head, then: answer)
        case .heads(let ids): heads(ids, then: answer)
        case .participants(let id, let request, let reader):
            participants(id, request, reader) { answer($0.map { .participants($0) }) }
        case .reactions(let id, let message, let request, let user):
            reactions(to: message, of: id, request, for: user) {
                answer($0.map { .reactions($0) })
            }
        case .ownReactions(let id, let after, let before, let user):
            ownReactions(in: id, after: after, before: before, of: user) {
                answer($0.map { .ownReactions($0) })
            }
        case .mentions(let id, let after, let limit, let user):
            mentions(of: user, in: id, after: after, limit: limit) {
                answer($0.map { .mentions($0) })
            }
        case .provided(let head, let query): ask(query, token, having: head)
        }
    }

    private func page(
        _ id: String, _ request: PageRequest, having head: Head?,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let order = request.order
        var texts = [String(scripts.options.bytes), String(request.limit), order.rawValue]
        for anchor in [request.before, request.after, request.around] {
            switch anchor {
            case nil: texts += ["", ""]
            case .seq(let seq): texts += ["seq", String(seq)]
            case .id(let id): texts += ["id", id]
            case .time(let moment): texts += ["time", String(moment.milliseconds)]
            }
        }
        scripts.run(.page, of: id, texts.map { Array($0.utf8) }, having: head) { result in
            answer(
                result.flatMap { read in
                    if read.word == "missing" {
                        let field = read[1].string ?? "anchor"
                        let text = "\(field): no such message in this conversation"
                        return .failure(RequestError(.messageNotFound, text))
                    }
                    if read.word == "crossed" {
                        let text = "around: not accepted together with before or after"
                        return .failure(RequestError(.fieldsExclusive, text))
                    }
                    guard let head = Head(read[1]),
                        let messages = Self.messages(read[2], of: id)
                    else { return .failure(.unreadable) }
                    return .success(
                        .page(
                            Page(
                                messages: order == .desc ? messages : messages.reversed(),
                                hasMoreBefore: read[3].int == 1, hasMoreAfter: read[4].int == 1,
                                head: head)))
                })
        }
    }

    private static func messages(_ reply: RedisReply, of id: String) -> [EncodedMessage]? {
        let messages = reply.elements.compactMap { EncodedMessage($0, of: id) }
        return messages.count == reply.elements.count ? messages : nil
    }

    private func changes(
        _ question: ChangesQuestion, having head: Head?,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let texts = [
            String(scripts.options.bytes), String(question.limit), String(question.since),
            question.mark == nil ? "0" : "1",
        ]
        // A mark that is not hexadecimal is not ours; the log does not have it.
        let bytes = question.mark.map { Hexadecimal.bytes($0) ?? Array($0.utf8) } ?? []
        let above = Array((question.recordAbove.map(String.init) ?? "").utf8)
        let id = question.conversation
        let arguments = texts.map { Array($0.utf8) } + [bytes, above]
        scripts.run(.changes, of: id, arguments, having: head) { result in
            answer(
                result.flatMap { read in
                    if read.word == "conflict" {
                        let text = "since: this log has no such change"
                        return .failure(RequestError(.changeUnknown, text))
                    }
                    guard let head = Head(read[1]), let upTo = read[4].place,
                        let messages = Self.messages(read[2], of: id)
                    else { return .failure(.unreadable) }
                    let slot = read[3].elements
                    let record = StoredConversation(slot, of: id)?.record
                    guard slot.isEmpty || record != nil else { return .failure(.unreadable) }
                    return .success(
                        .changes(
                            Changes(
                                messages: messages, record: record, head: head, upTo: upTo,
                                more: read[5].int == 1)))
                })
        }
    }

    private func heads(
        _ ids: [String],
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        scripts.servers.send(ids.map { self.scripts.command(.head, of: $0, []) }) { result in
            answer(
                result.flatMap { replies in
                    var heads: [ID: Head] = [:]
                    var damaged: [ID: String] = [:]
                    for (id, reply) in zip(ids, replies) {
                        switch self.scripts.read(reply, .head, id) {
                        case .success(let read):
                            guard let head = Head(read[1]) else { return .failure(.unreadable) }
                            heads[id.id] = head
                        case .failure(.noConversation): continue
                        case .failure(let error):
                            guard let part = error.damagedPart else { return .failure(error) }
                            damaged[id.id] = part
                        }
                    }
                    return .success(.heads(heads, damaged: damaged))
                })
        }
    }

    // MARK: epochs

    /// Gives a log another epoch, and answers with its head.
    func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        let question = question(token, about: [.conversation(conversation.id)])
        // A mark that is not hexadecimal is not ours; the log does not have it.
        let mark = Hexadecimal.bytes(head.mark) ?? Array(head.mark.utf8)
        let texts = [head.epoch, String(head.rev)].map { Array($0.utf8) }
        scripts.run(.forkEpoch, of: conversation, texts + [mark, Array(Random.hex(8).utf8)]) {
            result in
            let heads = result.flatMap { answer -> Result<HistoryAnswer, RequestError> in
                guard let head = Head(answer[1]) else { return .failure(.unreadable) }
                if let reason = answer[2].string.flatMap(NewEpochReason.init) {
                    self.scripts.noteNewEpoch(of: conversation, reason)
                    self.lists.enterAgain(conversation)
                }
                return .success(.heads([conversation.id: head]))
            }
            self.answer(question, heads)
        }
    }

    // MARK: answers

    /// A question in flight: its topics, and the generation in which it was asked.
    private struct Question: Sendable {
        let token: UInt64
        let topics: [RedisTopic]
        let generation: Int
    }

    /// Starts a question, before its first command is sent.
    private func question(_ token: UInt64, about topics: [RedisTopic]) -> Question {
        Question(token: token, topics: topics, generation: generation(of: topics))
    }

    private func answer(_ question: Question, _ result: Result<HistoryAnswer, RequestError>) {
        // If the generation changed between question and answer, the answer belongs to none.
        let isProven = question.generation == generation(of: question.topics)
        let generation = isProven ? question.generation : 0
        outlet.deliver([.answered(token: question.token, generation: generation, result)])
    }

    /// The present generation of all topics; 0 if they don't share one.
    private func generation(of topics: [RedisTopic]) -> Int {
        let generations = Set(topics.map(scripts.servers.generation(of:)))
        return generations.count == 1 ? generations.first ?? 0 : 0
    }
}

extension HistoryQuery {
    /// The topics whose feed must be unbroken for the answer to prove anything about it.
    fileprivate var topics: [RedisTopic] {
        switch self {
        case .conversation(let id, _), .message(let id, _), .page(let id, _),
            .changes(let id, _, _, _, _), .participants(let id, _, _),
            .reactions(let id, _, _, _), .ownReactions(let id, _, _, _),
            .mentions(let id, _, _, _):
            [.conversation(id.id)]
        case .conversations(let user, _, _), .conversationsSince(let user, _, _),
            .listed(let user):
            [.list(user.id)]
        case .heads(let ids): ids.map { .conversation($0.id) }
        case .provided(_, let query): query.topics
        }
    }
}
