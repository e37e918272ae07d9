import ClientCore
import Wire

/// What is asked for in two phases, and what a store can therefore answer first: from what is held,
/// or from what was answered before.
enum Question: Sendable {
    case conversations(limit: Int, cursor: String?)
    case conversation(String)
    case messages(String, PageRequest)
    case participants(String, ParticipantsOptions)

    var method: String {
        switch self {
        case .conversations: "fetchConversations"
        case .conversation: "fetchConversation"
        case .messages: "fetchMessages"
        case .participants: "fetchParticipants"
        }
    }

    var params: RequestParams {
        switch self {
        case .conversations(let limit, let cursor):
            var params = RequestParams()
            params.set("limit", limit)
            params.set("cursor", cursor)
            return params
        case .conversation(let id): return RequestParams(conversation: id)
        case .messages(let id, let page): return RequestParams(page, of: id)
        case .participants(let id, let options):
            var params = RequestParams(conversation: id)
            params.set("limit", options.limit)
            params.set("offset", options.offset)
            params.set("order", options.order.rawValue)
            params.set("order_by", options.orderBy)
            return params
        }
    }

    /// Whose answer it is; nil for the list of conversations.
    var conversation: String? {
        switch self {
        case .conversations: nil
        case .conversation(let id), .messages(let id, _), .participants(let id, _): id
        }
    }

    /// The same for the same question.
    var key: String { "\(method) \(String(decoding: params.json, as: UTF8.self))" }
}
