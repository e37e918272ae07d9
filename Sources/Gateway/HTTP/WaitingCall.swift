import Chat
import Engine
import JSON
import Ports
import Rules
import WebSockets
import Wire

/// A call of the server API that waits for the upstream, and the form of its answer. Used once, on
/// the loop.
struct WaitingCall {
    enum Kind {
        case answer(HistoryQuery)
        /// The same, once the log is known to have this change.
        case provided(Head, HistoryQuery)
        case write(ServerAPI.Shape)
        /// Boundaries of a conversation that the cache does not know: none, if the conversation
        /// exists.
        case boundaries(String)
        /// Whether these users are there.
        case presence([String], PresenceRule)
        /// Those who take part in the conversation, of whom that is asked then.
        case presences
        /// Waits until the other gateways were notified to disconnect a user.
        case disconnect(user: String, mayComeBack: Bool)
        /// Waits for whether the origin has the message.
        case explain(ExplainRequest)
    }

    let responder: HTTPResponder
    let kind: Kind
    /// The request's trace, if it has one.
    var traced: TracedRequest?

    /// Answers a write that was done, or refused.
    func performed(_ result: Result<Outcome, RequestError>) {
        switch (kind, result) {
        case (.write, .failure(let error)), (.disconnect, .failure(let error)):
            responder.respond(.error(error))
        case (.write(let shape), .success(let outcome)):
            responder.respond(Self.response(outcome, shape))
        case (.disconnect, .success), (.answer, _), (.provided, _), (.boundaries, _), (.explain, _),
            (.presence, _), (.presences, _):
            return
        }
    }

    /// About as many as its answer has.
    static func bytes(of outcome: Outcome) -> Int {
        if case .reacted(let message, _, _) = outcome { return message.json.count }
        guard case .messages(let messages, _, _) = outcome else { return 0 }
        return messages.reduce(0) { $0 + $1.json.count + 1 }
    }

    static func response(_ outcome: Outcome, _ shape: ServerAPI.Shape) -> HTTPResponse {
        var json = JSONWriter(capacity: bytes(of: outcome) + 256)
        var status = 200
        json.beginObject()
        switch outcome {
        case .messages(let messages, let written, let isNew):
            if shape == .messages {
                json.key("messages")
                json.beginArray()
                for message in messages { json.raw(message.json) }
                json.endArray()
                status = 201
            } else {
                json.key("message")
                if let message = messages.first { json.raw(message.json) } else { json.null() }
                status = isNew ? 201 : 200
            }
            json.member("head", head: written.head)
        case .reacted(let message, _, let written):
            json.member("message", raw: message.json)
            json.member("head", head: written.head)
        case .conversation(let view, let isNew):
            json.key("conversation")
            json.conversation(
                view.record, lastMessage: view.lastMessage, head: view.head,
                createdBy: shape == .put ? view.createdBy : nil)
            status = isNew ? 201 : 200
        case .read, .removed, .done:
            break
        }
        json.endObject()
        return .json(status, json.bytes)
    }

    /// Answers with the history's answer.
    func answered(_ result: Result<HistoryAnswer, RequestError>, at now: Timestamp) {
        switch (kind, result) {
        case (.write, _), (.disconnect, _), (.explain, _): return
        case (_, .failure(let error)): responder.respond(.error(error))
        // A damaged log is answered neither as whole nor as missing.
        case (_, .success(.heads(_, let damaged))) where !damaged.isEmpty:
            responder.respond(.error(.damaged(damaged.values.min() ?? "")))
        case (.answer(let query), .success(let answer)):
            responder.respond(.json(200, Self.body(answer, to: query)))
        case (.boundaries(let conversation), .success(.heads(let heads, _))):
            guard let head = heads[conversation.id] else {
                return responder.respond(.error(.noConversation))
            }
            responder.respond(
                .json(200, BoundariesReport.json(head, held: Coverage(), ids: [:], at: now)))
        case (.boundaries, .success), (.provided, .success), (.presence, .success),
            (.presences, .success):
            return
        }
    }

    /// Answers who is there.
    func answered(_ result: Result<PresenceReading, RequestError>) {
        guard case .presence(let users, let rule) = kind else { return }
        let shown: [UserPresence]
        switch result {
        // The schema of an earlier installation keeps nothing of it.
        case .failure(let error) where error.reason == .notEnabled:
            shown = users.map { UserPresence(user: $0, state: .unknown) }
        case .failure(let error): return responder.respond(.error(error))
        case .success(let reading): shown = users.map { rule.judge($0.id, reading).shown($0) }
        }
        var json = JSONWriter(capacity: 64 + 96 * users.count)
        json.beginObject()
        json.key("presence")
        json.presence(shown)
        json.endObject()
        responder.respond(.json(200, json.bytes))
    }

    private static func body(_ answer: HistoryAnswer, to query: HistoryQuery) -> [UInt8] {
        var json = JSONWriter()
        switch answer {
        case .conversations(let list):
            json.conversations(list)
            return json.bytes
        case .participants(let list):
            if case .participants(_, let range, _) = query { json.participants(list, range) }
            return json.bytes
        case .conversation, .conversationsSince, .listed, .message, .page, .changes, .heads,
            .reactions, .ownReactions, .mentions:
            break
        }
        json.beginObject()
        switch answer {
        case .conversation(let view):
            json.key("conversation")
            json.view(view)
        case .message(let message):
            json.member("message", raw: message.json)
        case .page(let page):
            json.messages(page.messages)
            json.key("hasMore")
            json.hasMore(page)
            json.member("head", head: page.head)
        case .changes(let changes):
            json.changes(changes)
        case .heads(let heads, _):
            json.heads(heads, asked: query)
        case .conversations, .conversationsSince, .listed, .participants, .reactions,
            .ownReactions, .mentions:
            break
        }
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// A member with an array of messages.
    fileprivate mutating func messages(_ messages: [EncodedMessage]) {
        key("messages")
        beginArray()
        for message in messages { raw(message.json) }
        endArray()
    }

    fileprivate mutating func changes(_ changes: Changes) {
        messages(changes.messages)
        if let record = changes.record {
            key("conversation")
            self.record(record, isEvent: false)
        }
        member("head", head: changes.head)
        member("upTo", int: changes.upTo)
        member("more", bool: changes.more)
    }

    fileprivate mutating func heads(_ heads: [ID: Head], asked query: HistoryQuery) {
        guard case .heads(let ids) = query else { return }
        key("heads")
        beginObject()
        for id in ids {
            key(id)
            if let head = heads[id.id] { self.head(head) } else { null() }
        }
        endObject()
    }
}
