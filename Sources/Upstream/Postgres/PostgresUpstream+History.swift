import Chat
import JSON
import Ports
import Wire

/// Answers questions about history: each is one call of one function, and so a read of one moment.
extension PostgresUpstream {
    private typealias Answered =
        @Sendable (Result<HistoryAnswer, RequestError>, [ID: Head]) ->
        Void

    func ask(_ query: HistoryQuery, token: UInt64) {
        let question = question(token)
        let answer: Answered = { [self] result, heads in
            self.answer(question, result, heads: heads)
        }
        switch query {
        case .conversation(let id, let reader):
            // Without a reader the cache asks, which is to know all who take part.
            view(id, with: reader, naming: reader.map { _ in [] }) { result in
                let head = (try? result.get()).map { [id.id: $0.head] } ?? [:]
                answer(result.map { .conversation($0.shown) }, head)
            }
        case .conversations(let user, let limit, let cursor):
            list(of: user, limit: limit, cursor: cursor) {
                answer($0.map { .conversations($0) }, [:])
            }
        case .conversationsSince(let user, let token, let limit):
            list(of: user, since: token, limit: limit) {
                answer($0.map { .conversationsSince($0) }, [:])
            }
        case .listed(let user):
            readList(of: user, knowing: nil) {
                answer($0.map { .listed($0.listed) }, [:])
            }
        case .message(let id, let message):
            read("message", id, { $0.member("id", string: message) }) { result in
                answer(
                    result.flatMap { found in
                        if found.word == "missing" { return .failure(.noMessage) }
                        return found["message"].flatMap { EncodedMessage(postgres: $0, of: id) }
                            .map { .success(.message($0)) } ?? .failure(.unreadable)
                    }, [:])
            }
        case .page(let id, let request): page(id, request) { answer($0, [:]) }
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            changes(
                id, since: since, mark: mark, limit: limit, recordAbove: recordAbove, then: answer)
        case .heads(let ids): heads(ids, then: answer)
        case .participants(let id, let request): participants(id, request) { answer($0, [:]) }
        }
    }

    /// Asks one question about one conversation.
    func read(
        _ question: String, _ conversation: String, _ members: (inout JSONWriter) -> Void,
        then: @escaping @Sendable (Result<PostgresAnswer, RequestError>) -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: question)
        json.member("c", string: conversation)
        members(&json)
        json.endObject()
        pool.read(json.bytes) { [self] result in then(checked(result, conversation)) }
    }

    private func page(
        _ id: String, _ request: PageRequest,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let order = request.order
        read("page", id) { json in
            json.member("limit", int: request.limit)
            json.member("bytes", int: options.bytes)
            json.member("order", string: order.rawValue)
            for (name, anchor) in [
                ("before", request.before), ("after", request.after), ("around", request.around),
            ] {
                json.key(name)
                json.anchor(anchor)
            }
        } then: { result in
            answer(
                result.flatMap { read in
                    if read.word == "missing" {
                        let field = read["field"]?.string ?? "anchor"
                        let text = "\(field): no such message in this conversation"
                        return .failure(RequestError(.notFound, text))
                    }
                    if read.word == "crossed" {
                        let text = "around: not accepted together with before or after"
                        return .failure(.badRequest(text))
                    }
                    guard let head = read["head"].flatMap({ Head(postgres: $0) }),
                        let messages = Self.messages(read["messages"], of: id)
                    else { return .failure(.unreadable) }
                    // Numbering is dense: a page with a hole is damaged.
                    guard zip(messages, messages.dropFirst()).allSatisfy({ $0.seq == $1.seq + 1 })
                    else { return .failure(self.damage("messages", of: id)) }
                    return .success(
                        .page(
                            Page(
                                messages: order == .desc ? messages : messages.reversed(),
                                hasMoreBefore: read["moreBefore"]?.bool ?? false,
                                hasMoreAfter: read["moreAfter"]?.bool ?? false, head: head)))
                })
        }
    }

    private static func messages(_ value: RawJSON?, of id: String) -> [EncodedMessage]? {
        let values = value?.array ?? []
        let messages = values.compactMap { EncodedMessage(postgres: $0, of: id) }
        return messages.count == values.count ? messages : nil
    }

    private func changes(
        _ id: String, since: Int, mark: String?, limit: Int, recordAbove: Int?,
        then answer: @escaping Answered
    ) {
        read("changes", id) { json in
            json.member("since", int: since)
            json.member("mark", string: mark)
            json.member("limit", int: limit)
            json.member("bytes", int: options.bytes)
            json.key("recordAbove")
            if let recordAbove { json.int(recordAbove) } else { json.null() }
        } then: { result in
            let changes = result.flatMap { read -> Result<Changes, RequestError> in
                if read.word == "conflict" {
                    let text = "since: this log has no such change"
                    return .failure(RequestError(.conflict, text))
                }
                guard let head = read["head"].flatMap({ Head(postgres: $0) }),
                    let upTo = read["upTo"]?.place,
                    let messages = Self.messages(read["messages"], of: id)
                else { return .failure(.unreadable) }
                let slot = read["record"].flatMap { $0.isNull ? nil : $0 }
                let record = slot.flatMap { StoredConversation(postgres: $0, of: id) }?.record
                guard slot == nil || record != nil else { return .failure(.unreadable) }
                return .success(
                    Changes(
                        messages: messages, record: record, head: head, upTo: upTo,
                        mark: read["mark"]?.string.flatMap { $0.isEmpty ? nil : $0 },
                        more: read["more"]?.bool ?? false))
            }
            let head = (try? changes.get()).map { [id.id: $0.head] } ?? [:]
            answer(changes.map { .changes($0) }, head)
        }
    }

    private func heads(_ ids: [String], then answer: @escaping Answered) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "heads")
        json.key("conversations")
        json.beginArray()
        for id in ids { json.string(id) }
        json.endArray()
        json.endObject()
        pool.read(json.bytes) { result in
            do throws(RequestError) {
                guard let members = try result.get()["heads"]?.object?.members else {
                    throw .unreadable
                }
                var heads: [ID: Head] = [:]
                var damaged: [ID: String] = [:]
                for member in members {
                    if let head = Head(postgres: member.value) {
                        heads[member.key.id] = head
                    } else {
                        damaged[member.key.id] = member.value.object?["damaged"]?.string ?? "head"
                    }
                }
                answer(.success(.heads(heads, damaged: damaged)), heads)
            } catch {
                answer(.failure(error), [:])
            }
        }
    }

    private func participants(
        _ id: String, _ request: ParticipantsRequest,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        read("people", id) { json in
            json.member("order", string: request.order.rawValue)
            json.member("offset", int: max(0, request.offset))
            json.member("limit", int: request.limit)
        } then: { result in
            answer(
                result.flatMap { read in
                    var people: [[UInt8]] = []
                    for (place, value) in (read["members"]?.array ?? []).enumerated() {
                        guard let member = StoredMember(postgres: value, at: place) else {
                            return .failure(.unreadable)
                        }
                        let seq = value.object?["read"]?.place ?? 0
                        people.append(member.json(lastReadSeq: seq))
                    }
                    return .success(
                        .participants(
                            ParticipantList(participants: people, total: read["total"]?.int ?? 0)))
                })
        }
    }

    // MARK: views and lists

    /// A conversation with the read marker of the reader, who takes part in it.
    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool = false,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        read("view", id) { json in
            json.member("reader", string: reader)
            json.member("mends", bool: mends)
            if let named { json.member("named", strings: named) }
        } then: { result in
            then(
                result.flatMap { answer in
                    let isLost = answer["lost"]?.bool == true
                    return answer["view"].flatMap {
                        StoredConversation(postgres: $0, of: id, isMemberless: isLost)
                    }.map { .success($0) } ?? .failure(.unreadable)
                })
        }
    }
}

extension JSONWriter {
    fileprivate mutating func anchor(_ anchor: Anchor?) {
        switch anchor {
        case nil: null()
        case .seq(let seq):
            beginObject()
            member("seq", int: seq)
            endObject()
        case .id(let id):
            beginObject()
            member("id", string: id)
            endObject()
        case .time(let moment):
            beginObject()
            member("time", int: Int(moment.milliseconds))
            endObject()
        }
    }
}
