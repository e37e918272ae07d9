import Chat
import JSON
import Wire

/// A change as a store keeps it.
extension Change {
    /// The change as a JSON text.
    package var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", string: id)
        json.member("message", string: message)
        if case .edit(let body, let metadata, let mentions, let isToAll) = kind {
            json.member("edit", bool: true)
            if let body { json.member("body", string: body) }
            if let metadata { json.member("metadata", raw: metadata) }
            if let mentions { json.member("mentions", strings: mentions) }
            if let isToAll { json.member("mentionAll", bool: isToAll) }
        }
        if case .react(let key, let isOn) = kind {
            json.member("react", string: key)
            json.member("on", bool: isOn)
        }
        if let ifRev { json.member("ifRev", int: ifRev) }
        if let epoch { json.member("epoch", string: epoch) }
        switch state {
        case .sending: break
        case .failed(let error): json.member("failed", error: error)
        case .conflict(let error): json.member("conflict", error: error)
        }
        json.endObject()
        return json.bytes
    }

    /// What `json` wrote; nil if it is something else.
    package init?(json: [UInt8]) {
        guard let object = try? JSONObject(json), let id = object["id"]?.string,
            let message = object["message"]?.string
        else { return nil }
        let kind: Kind
        if object["edit"]?.bool == true {
            kind = .edit(
                body: object["body"]?.string, metadata: object["metadata"],
                mentions: object["mentions"]?.array?.compactMap(\.string),
                mentionAll: object["mentionAll"]?.bool)
        } else if let key = object["react"]?.string {
            kind = .react(key: key, isOn: object["on"]?.bool ?? false)
        } else {
            kind = .delete
        }
        self.init(id: id, message: message, kind: kind)
        ifRev = object["ifRev"]?.int
        epoch = object["epoch"]?.string
        if let error = object["failed"]?.object { state = .failed(error.requestError()) }
        if let error = object["conflict"]?.object { state = .conflict(error.requestError()) }
    }
}
