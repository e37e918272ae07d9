import Chat
import Ports
import Wire

/// Answers questions about history: each but the lists is one script, and so a read of one moment.
extension Redis {
    func ask(_ query: HistoryQuery, token: UInt64) {
        let question = question(token, about: query.topics)
        let answer: @Sendable (Result<HistoryAnswer, RequestError>) -> Void = { result in
            self.answer(question, result)
        }
        switch query {
        case .conversation(let id, let reader):
            // A follower of the log (no reader) needs all members; a reply lists them only if they
            // are few.
            view(id, with: reader, naming: reader.map { _ in [] }) { result in
                answer(result.map { .conversation($0.shown) })
            }
        case .conversations(let user, let limit, let cursor):
            list(of: user, limit: limit, cursor: cursor) { answer($0.map { .conversations($0) }) }
        case .conversationsSince(let user, let token, let limit):
            list(of: user, since: token, limit: limit) {
                answer($0.map { .conversationsSince($0) })
            }
        case .listed(let user): heads(ofList: user) { answer($0.map { .listed($0) }) }
        case .message(let id, let message):
            run(.message, of: id, [Array(message.utf8)]) { result in
                answer(
                    result.flatMap { found in
                        if found.word == "missing" { return .failure(.noMessage) }
                        return EncodedMessage(found[1], of: id)
                            .map { .success(.message($0)) } ?? .failure(.unreadable)
                    })
            }
        case .page(let id, let request): page(id, request, then: answer)
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            changes(
                id, since: since, mark: mark, limit: limit, recordAbove: recordAbove, then: answer)
        case .heads(let ids): heads(ids, then: answer)
        case .participants(let id, let request):
            participants(id, request) { answer($0.map { .participants($0) }) }
        }
    }

    private func page(
        _ id: String, _ request: PageRequest,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let order = request.order
        var texts = [String(options.bytes), String(request.limit), order.rawValue]
        for anchor in [request.before, request.after, request.around] {
            switch anchor {
            case nil: texts += ["", ""]
            case .seq(let seq): texts += ["seq", String(seq)]
            case .id(let id): texts += ["id", id]
            case .time(let moment): texts += ["time", String(moment.milliseconds)]
            }
        }
        run(.page, of: id, texts.map { Array($0.utf8) }) { result in
            answer(
                result.flatMap { read in
                    if read.word == "missing" {
                        let field = read[1].string ?? "anchor"
                        let text = "\(field): no such message in this conversation"
                        return .failure(RequestError(.notFound, text))
                    }
                    if read.word == "crossed" {
                        let text = "around: not accepted together with before or after"
                        return .failure(.badRequest(text))
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
        _ id: String, since: Int, mark: String?, limit: Int, recordAbove: Int?,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let texts = [String(options.bytes), String(limit), String(since), mark == nil ? "0" : "1"]
        // A mark that is not hexadecimal is not ours; the log does not have it.
        let bytes = mark.map { Hexadecimal.bytes($0) ?? Array($0.utf8) } ?? []
        let above = Array((recordAbove.map(String.init) ?? "").utf8)
        run(.changes, of: id, texts.map { Array($0.utf8) } + [bytes, above]) { result in
            answer(
                result.flatMap { read in
                    if read.word == "conflict" {
                        let text = "since: this log has no such change"
                        return .failure(RequestError(.conflict, text))
                    }
                    guard let head = Head(read[1]), let upTo = read[4].place,
                        let mark = read[6].bytes,
                        let messages = Self.messages(read[2], of: id)
                    else { return .failure(.unreadable) }
                    let slot = read[3].elements
                    let record = StoredConversation(slot, of: id)?.record
                    guard slot.isEmpty || record != nil else { return .failure(.unreadable) }
                    return .success(
                        .changes(
                            Changes(
                                messages: messages, record: record, head: head, upTo: upTo,
                                mark: mark.isEmpty ? nil : Hexadecimal.text(mark),
                                more: read[5].int == 1)))
                })
        }
    }

    private func heads(
        _ ids: [String],
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        servers.send(ids.map { command(.head, of: $0, []) }) { result in
            answer(
                result.flatMap { replies in
                    var heads: [ID: Head] = [:]
                    var damaged: [ID: String] = [:]
                    for (id, reply) in zip(ids, replies) {
                        switch self.read(reply, .head, id) {
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
}

extension HistoryQuery {
    /// The topics whose feed must be unbroken for the answer to prove anything about it.
    fileprivate var topics: [RedisTopic] {
        switch self {
        case .conversation(let id, _), .message(let id, _), .page(let id, _),
            .changes(let id, _, _, _, _), .participants(let id, _):
            [.conversation(id.id)]
        case .conversations(let user, _, _), .conversationsSince(let user, _, _),
            .listed(let user):
            [.list(user.id)]
        case .heads(let ids): ids.map { .conversation($0.id) }
        }
    }
}
