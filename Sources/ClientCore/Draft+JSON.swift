import Chat
import JSON
import Wire

/// A draft as a store keeps it.
extension Draft {
    /// The draft as a JSON text.
    package var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", string: id)
        if let body { json.member("body", string: body) }
        if let attachment { json.member("attachment", raw: attachment) }
        if let metadata { json.member("metadata", raw: metadata) }
        if let replyTo { json.member("replyTo", string: replyTo) }
        if !mentions.isEmpty { json.member("mentions", strings: mentions) }
        if mentionAll { json.member("mentionAll", bool: true) }
        json.member("createdAt", moment: createdAt)
        if case .failed(let error) = state { json.member("failed", error: error) }
        json.endObject()
        return json.bytes
    }

    /// What `json` wrote; nil if it is something else.
    package init?(json: [UInt8]) {
        guard let object = try? JSONObject(json), let id = object["id"]?.string,
            let createdAt = object["createdAt"]?.string.flatMap({ Timestamp($0) })
        else { return nil }
        self.init(
            id: id, body: object["body"]?.string, attachment: object["attachment"],
            metadata: object["metadata"], replyTo: object["replyTo"]?.string,
            mentions: object["mentions"]?.array?.compactMap(\.string) ?? [],
            mentionAll: object["mentionAll"]?.bool ?? false, createdAt: createdAt)
        if let error = object["failed"]?.object { state = .failed(error.requestError()) }
    }
}
