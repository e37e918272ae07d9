import Chat
import ClientCore
import JSON
import SQLite
import Wire

/// What the gateway answered before, and what that and what is held say to a question again.
extension ClientStore {
    /// So many answers are kept; the oldest go first.
    private static let answerLimit = 500

    /// Keeps the answer to a question, instead of an earlier one.
    func keep(_ answer: JSONObject, to question: Question) {
        _ = writing { connection throws(CacheError) in
            try run(
                "DELETE FROM answer WHERE number <= (SELECT MAX(number) FROM answer) - ?",
                connection
            ) { $0.bind(1, Self.answerLimit - 1) }
            try run(
                """
                INSERT OR REPLACE INTO answer
                VALUES (?, ?, ?, (SELECT IFNULL(MAX(number), 0) + 1 FROM answer), ?)
                """, connection
            ) {
                $0.bind(1, question.key)
                $0.bind(2, question.conversation)
                $0.bind(3, answer["head"]?.object?["epoch"]?.string)
                $0.bind(4, answer.bytes)
            }
        }
    }

    /// Forgets all that was answered of a conversation: it is gone, or no longer ours to read.
    func forgetAnswers(of conversation: String) {
        let failure = writing { connection throws(CacheError) in
            try run("DELETE FROM answer WHERE conversation = ?", connection) {
                $0.bind(1, conversation)
            }
        }
        if failure != nil { eraseHeld() }
    }

    /// What is known of an answer without the gateway, for display only.
    /// - Parameters:
    ///   - holder: What is held of the conversation.
    ///   - list: The list of conversations, as far as it is known.
    /// - Returns: A result as the gateway would write it; nil if nothing is known.
    func answer(
        _ question: Question, holder: Holder?, list: ConversationList
    ) -> JSONObject? {
        let kept = (try? kept(question)) ?? nil
        switch question {
        case .participants: return kept
        case .conversations(let limit, let cursor):
            // A list that was stored takes the place of what was answered before.
            guard kept == nil, cursor == nil, list.isLoaded else { return kept }
            return Self.page(of: list.conversations, limit)
        case .conversation(let id):
            let records = [
                kept?["conversation"]?.object.flatMap { try? Conversation($0) }, list.record(id),
                holder?.record,
            ]
            // Of the same change, the one that has the reader's own fields.
            let newest = records.compactMap(\.self)
                .reduce(nil as Conversation?) { ($0?.rev ?? -1) < ($1.rev ?? 0) ? $1 : $0 }
            return newest.map { JSONObject("conversation", RawJSON(unchecked: $0.json)) }
        case .messages(_, let page):
            guard let holder, let head = holder.head else { return kept }
            let keptHead = try? kept?.head("head")
            if let kept, let keptHead, keptHead.epoch != head.epoch || keptHead.rev > head.rev {
                return kept
            }
            return holder.page(page) ?? kept.map { Self.refreshed($0, by: holder) }
        }
    }

    private func kept(_ question: Question) throws -> JSONObject? {
        guard let connection else { return nil }
        let row = try connection.prepare("SELECT json FROM answer WHERE key = ?")
        row.bind(1, question.key)
        return try row.step() ? JSONObject(row.blob(0)) : nil
    }

    private static func page(of conversations: [Conversation], _ limit: Int) -> JSONObject {
        var json = JSONWriter()
        json.beginArray()
        for conversation in conversations.prefix(limit) { json.raw(conversation.json) }
        json.endArray()
        let list = JSONMember(key: "conversations", value: RawJSON(unchecked: json.bytes))
        let total = JSONMember(key: "total", value: RawJSON(int: conversations.count))
        return JSONObject(members: [list, total])
    }

    /// A page that was answered before, with what was heard of its messages since.
    private static func refreshed(_ page: JSONObject, by holder: Holder) -> JSONObject {
        var json = JSONWriter()
        json.beginArray()
        for element in page["messages"]?.array ?? [] {
            let seq = element.object?["seq"]?.int ?? 0
            let newer = holder.held[seq].flatMap { held in
                held.rev ?? 0 > element.object?["rev"]?.int ?? 0 ? held.json : nil
            }
            json.raw(newer ?? Array(element.bytes))
        }
        json.endArray()
        let messages = JSONMember(key: "messages", value: RawJSON(unchecked: json.bytes))
        return JSONObject(members: page.members(except: ["messages"]) + [messages])
    }
}

extension JSONObject {
    fileprivate init(_ name: String, _ value: RawJSON) {
        self.init(members: [JSONMember(key: name, value: value)])
    }
}
