import Chat
import Engine
import JSON
import Wire

/// The answer to `GET /v1/gaps`.
enum OpenGaps {
    static func json(_ gaps: [OpenGap]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("gaps")
        json.beginArray()
        for open in gaps { open.write(to: &json) }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension OpenGap {
    /// Writes it as the server API and the operator's page show it.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("conversation", string: conversation)
        json.member("after", int: gap.after)
        json.member("before", int: gap.before)
        json.key("missing")
        if let missing = gap.missing { json.int(missing) } else { json.null() }
        json.member("cause", string: gap.cause.rawValue)
        json.member("since", string: gap.since.description)
        json.member("state", string: state.rawValue)
        json.endObject()
    }
}
