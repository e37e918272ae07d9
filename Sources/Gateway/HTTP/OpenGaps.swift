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
        for open in gaps {
            json.beginObject()
            json.member("conversation", string: open.conversation)
            json.member("after", int: open.gap.after)
            json.member("before", int: open.gap.before)
            json.key("missing")
            if let missing = open.gap.missing { json.int(missing) } else { json.null() }
            json.member("cause", string: open.gap.cause.rawValue)
            json.member("since", string: open.gap.since.description)
            json.member("state", string: open.state.rawValue)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
