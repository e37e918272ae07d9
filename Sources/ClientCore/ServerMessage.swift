import Chat
import JSON
import Wire

/// A frame of the gateway as a client reads it: a reply or an event.
enum ServerMessage {
    /// A reply; `isCached` for the first of two.
    case reply(id: Int, isCached: Bool, Result<JSONObject, RequestError>)
    case event(ServerEvent)

    /// - Throws: `FrameError`, if it is no frame of this protocol.
    init(_ text: [UInt8]) throws(FrameError) {
        let frame: JSONObject
        do throws(JSONError) { frame = try JSONObject(text) } catch {
            throw FrameError("a frame", accepted: "a JSON object")
        }
        if let event = frame["event"]?.string {
            self = .event(try ServerEvent(event, frame))
        } else if let error = frame["error"]?.object {
            self = .reply(
                id: try frame.integer("id"), isCached: false, .failure(error.requestError()))
        } else {
            self = .reply(
                id: try frame.integer("id"), isCached: frame["cached"]?.bool ?? false,
                .success(try frame.object("result")))
        }
    }
}

/// An event of `protocol.md` 5.
enum ServerEvent {
    /// `messages`, `gap` or `conversation`: something changed in a log.
    case log(conversation: String, MessagesFrame)
    case reset(conversation: String)
    case unsubscribed(conversation: String, UnsubscribeReason?)
    case conversations([ConversationDelta])
    case read(conversation: String, user: String, seq: Int)
    case upstream(UpstreamState)
    case typing(conversation: String, user: String, TypingState)
    case unread(UnreadSum)
    case presence([UserPresence])
    case goaway(reconnectIn: Int)
    /// A ping, or an event that this client does not know: it shows that the gateway is there.
    case nothing

    init(_ name: String, _ frame: JSONObject) throws(FrameError) {
        switch name {
        case "messages", "gap":
            self = .log(conversation: try frame.text("conversation"), try MessagesFrame(frame))
        case "conversation":
            let id = try frame.object("conversation").text("id")
            self = .log(conversation: id, try MessagesFrame(frame))
        case "reset": self = .reset(conversation: try frame.text("conversation"))
        case "unsubscribed":
            self = .unsubscribed(
                conversation: try frame.text("conversation"),
                UnsubscribeReason(rawValue: try frame.text("reason")))
        case "conversations":
            self = .conversations(try frame.records("deltas", ConversationDelta.init))
        case "read":
            self = .read(
                conversation: try frame.text("conversation"), user: try frame.text("user"),
                seq: try frame.integer("seq"))
        case "upstream":
            // A state that this client does not know is not the one in which all is well.
            self = .upstream(UpstreamState(rawValue: try frame.text("state")) ?? .syncing)
        case "typing":
            self = .typing(
                conversation: try frame.text("conversation"), user: try frame.text("user"),
                TypingState(rawValue: try frame.text("state")) ?? .finished)
        case "unread":
            self = .unread(
                try UnreadSum(
                    frame, of: frame["of"]?.array, named: "conversation",
                    isOpen: frame["open"]?.bool ?? false))
        case "presence": self = .presence(try frame.users("changes"))
        case "goaway": self = .goaway(reconnectIn: try frame.integer("reconnectIn"))
        default: self = .nothing
        }
    }
}
