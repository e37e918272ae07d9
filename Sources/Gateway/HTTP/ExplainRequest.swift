import Chat
import Engine
import Ports
import Rules
import Wire

/// A question of the internal listener's `/explain`, read from its query.
struct ExplainRequest {
    let question: Explanation.Question
    /// Whether the answer is plain text; otherwise it is JSON.
    let isText: Bool

    init(_ query: QueryString) throws(RequestError) {
        guard let conversation = query["conversation"], Identifier.isValid(conversation) else {
            throw .invalid("conversation: missing or not an id of 1–255 bytes of UTF-8")
        }
        let seq = try query.integer("seq", in: 1...QueryString.largest)
        let id = query["id"]
        guard (seq == nil) != (id == nil) else {
            throw RequestError(.fieldsExclusive, "seq, id: one of the two is needed")
        }
        for (name, value) in [("id", id), ("user", query["user"])] {
            if let value, !Identifier.isValid(value) {
                throw .invalid("\(name): not an id of 1–255 bytes of UTF-8")
            }
        }
        let format = query["format"] ?? "json"
        guard ["json", "text"].contains(format) else {
            throw .invalid("format: \(QueryString.shown(format)) (accepted: json, text)")
        }
        isText = format == "text"
        question = Explanation.Question(
            conversation: conversation, seq: seq, id: id, user: query["user"])
    }

    /// The query that shows whether the origin has the message.
    var origin: HistoryQuery {
        if let id = question.id {
            return .message(conversation: question.conversation, id: id)
        }
        let next = Anchor.seq((question.seq ?? 0) + 1)
        return .page(
            conversation: question.conversation, PageRequest(before: next, limit: 1))
    }

    /// The question with the origin's answer.
    func asked(_ result: Result<HistoryAnswer, RequestError>) -> Explanation.Question {
        var question = question
        switch result {
        case .success(.message(let message)):
            question.origin = .message(message)
        case .success(.page(let page)):
            let message = page.messages.first { $0.seq == question.seq }
            question.origin = message.map { .message($0) } ?? .none
            question.floor = page.head.floor
        case .success:
            break
        case .failure(let error):
            question.origin =
                error.code == .notFound || error.code == .forbidden ? .none : .away(error.message)
        }
        return question
    }
}
