import Chat
import Crypto
import JSON
import Ports
import Wire

/// Answers questions about history: each is one call of one function, and so a read of one moment.
final class PostgresHistory: Sendable {
    private typealias Answered =
        @Sendable (Result<HistoryAnswer, RequestError>, [ID: Head]) ->
        Void

    private let options: PostgresOptions
    let answers: PostgresAnswers
    private let lists: PostgresLists
    private let links: PostgresLinks
    private let feed: PostgresFeed
    private let outlet: Outlet

    init(
        _ options: PostgresOptions, _ answers: PostgresAnswers, _ links: PostgresLinks,
        _ feed: PostgresFeed, _ outlet: Outlet
    ) {
        self.options = options
        self.answers = answers
        lists = PostgresLists(answers.pool, bytes: options.bytes)
        self.links = links
        self.feed = feed
        self.outlet = outlet
    }

    func ask(_ query: HistoryQuery, token: UInt64) { ask(query, token, having: nil) }

    private func ask(_ query: HistoryQuery, _ token: UInt64, having proof: Head?) {
        let question = question(token)
        let answer: Answered = { [self] result, heads in
            self.answer(question, result, heads: heads)
        }
        switch query {
        case .conversation(let id, let reader):
            // Without a reader the cache asks, which is to know all who take part.
            answers.view(
                id, with: reader, naming: reader.map { _ in [] }, mends: false, having: proof
            ) { result in
                let head = (try? result.get()).map { [id.id: $0.head] } ?? [:]
                answer(result.map { .conversation($0.shown) }, head)
            }
        case .conversations(let user, let limit, let cursor):
            lists.list(of: user, limit: limit, cursor: cursor) {
                answer($0.map { .conversations($0) }, [:])
            }
        case .conversationsSince(let user, let token, let limit):
            lists.list(of: user, since: token, limit: limit) {
                answer($0.map { .conversationsSince($0) }, [:])
            }
        case .listed(let user):
            lists.read(of: user, knowing: nil) {
                answer($0.map { .listed($0.listed) }, [:])
            }
        case .message(let id, let message):
            answers.read("message", id, { $0.member("id", string: message) }) { result in
                answer(
                    result.flatMap { found in
                        if found.word == "missing" { return .failure(.noMessage) }
                        return found["message"].flatMap { EncodedMessage(postgres: $0, of: id) }
                            .map { .success(.message($0)) } ?? .failure(.unreadable)
                    }, [:])
            }
        case .page(let id, let request):
            page(id, request, having: proof) { answer($0, [:]) }
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            let question = ChangesQuestion(
                conversation: id, since: since, mark: mark, limit: limit, recordAbove: recordAbove)
            changes(question, having: proof, then: answer)
        case .heads(let ids): heads(ids, then: answer)
        case .participants(let id, let request, let reader):
            participants(id, request, reader) { answer($0, [:]) }
        case .reactions(let id, let message, let request, let user):
            reactions(to: message, of: id, request, for: user) {
                answer($0.map { .reactions($0) }, [:])
            }
        case .mentions(let id, let after, let limit, let user):
            mentions(of: user, in: id, after: after, limit: limit) {
                answer($0.map { .mentions($0) }, [:])
            }
        case .ownReactions(let id, let after, let before, let user):
            ownReactions(in: id, after: after, before: before, of: user) {
                answer($0.map { .ownReactions($0) }, [:])
            }
        case .provided(let head, let query): ask(query, token, having: head)
        }
    }

    private func page(
        _ id: String, _ request: PageRequest, having proof: Head?,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        let order = request.order
        answers.read("page", id) { json in
            json.member("limit", int: request.limit)
            json.member("bytes", int: options.bytes)
            json.member("order", string: order.rawValue)
            json.proof(proof)
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
                        return .failure(RequestError(.messageNotFound, text))
                    }
                    if read.word == "crossed" {
                        let text = "around: not accepted together with before or after"
                        return .failure(RequestError(.fieldsExclusive, text))
                    }
                    guard let head = read["head"].flatMap({ Head(postgres: $0) }),
                        let messages = Self.messages(read["messages"], of: id)
                    else { return .failure(.unreadable) }
                    // Numbering is dense: a page with a hole is damaged.
                    guard zip(messages, messages.dropFirst()).allSatisfy({ $0.seq == $1.seq + 1 })
                    else { return .failure(self.answers.noteDamage("messages", of: id)) }
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
        _ question: ChangesQuestion, having proof: Head?, then answer: @escaping Answered
    ) {
        let id = question.conversation
        answers.read("changes", id) { json in
            json.member("since", int: question.since)
            json.member("mark", string: question.mark)
            json.proof(proof)
            json.member("limit", int: question.limit)
            json.member("bytes", int: options.bytes)
            json.key("recordAbove")
            if let recordAbove = question.recordAbove { json.int(recordAbove) } else { json.null() }
        } then: { result in
            let changes = result.flatMap { read -> Result<Changes, RequestError> in
                if read.word == "conflict" {
                    let text = "since: this log has no such change"
                    return .failure(RequestError(.changeUnknown, text))
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
        answers.pool.read(json.bytes) { result in
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
        _ id: String, _ request: ParticipantsRequest, _ reader: String?,
        then answer: @escaping @Sendable (Result<HistoryAnswer, RequestError>) -> Void
    ) {
        answers.read("people", id) { json in
            json.member("order", string: request.order.rawValue)
            json.member("offset", int: max(0, request.offset))
            json.member("limit", int: request.limit)
            json.member("reader", string: reader)
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

    // MARK: epochs

    /// Gives a log another epoch, and answers with its head.
    func forkEpoch(_ head: Head, conversation: String, token: UInt64) {
        let question = question(token)
        var json = JSONWriter()
        json.beginObject()
        json.member("op", string: "disown")
        json.member("c", string: conversation)
        json.member("epoch", string: head.epoch)
        json.member("rev", int: head.rev)
        json.member("mark", string: head.mark)
        json.member("newEpoch", string: Random.hex(8))
        json.endObject()
        answers.pool.write(json.bytes, of: conversation) { [self] result in
            let now = answers.checked(result, conversation).flatMap { answer in
                answer["head"].flatMap { Head(postgres: $0) }.map { ($0, answer) }
                    .map(Result.success) ?? .failure(.unreadable)
            }
            if case .success(let (_, answer)) = now,
                let reason = answer["reason"]?.string.flatMap(NewEpochReason.init)
            {
                answers.noteNewEpoch(of: conversation, reason)
            }
            let heads = (try? now.get()).map { [conversation.id: $0.0] } ?? [:]
            self.answer(question, now.map { .heads([conversation.id: $0.0]) }, heads: heads)
        }
    }

    // MARK: questions

    /// A question in flight, with the generation in which it was asked.
    private struct Question: Sendable {
        let token: UInt64
        let generation: Int
    }

    /// Starts a question, before it is sent.
    private func question(_ token: UInt64) -> Question {
        Question(token: token, generation: links.generation)
    }

    /// - Parameter heads: heads from which the feed continues.
    private func answer(
        _ question: Question, _ result: Result<HistoryAnswer, RequestError>,
        heads: [ID: Head] = [:]
    ) {
        // If the generation changed between question and answer, the answer belongs to none.
        let isProven = question.generation == links.generation
        let generation = isProven ? question.generation : 0
        for (id, head) in heads { feed.learn(head, of: id, generation: generation) }
        outlet.deliver([.answered(token: question.token, generation: generation, result)])
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
