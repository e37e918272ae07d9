import Chat
import ClientCore
import JSON

/// What a `TestGateway` answers by itself.
extension TestGateway {
    func respond(to request: Request, _ at: Int) -> Answer {
        let params = request.params
        var id = params["conversation"]?.string ?? params["id"]?.string ?? ""
        switch request.method {
        case "connect":
            let user = params["user"]?.string ?? "token"
            sessions[at].user = user
            return .result(
                #"{"user":\#(user.quoted),"pingInterval":25,"upstream":{"state":"online"}}"#)
        case "refresh", "typing": return .result("{}")
        case "subscribeConversations", "fetchConversations", "unsubscribeConversations":
            return list(request, at)
        case "createConversation":
            if id.isEmpty { id = "conversation-\(logs.count + 1)" }
            let others = (params["participants"]?.array ?? []).compactMap(\.string)
            open(
                id, title: params["title"]?.string,
                participants: others.contains(request.user) ? others : [request.user] + others)
        default: break
        }
        guard let log = logs[id], log.participants.contains(request.user) else {
            return .refusal("not_found", isFinal: true)
        }
        switch request.method {
        case "createConversation", "fetchConversation":
            return .result(#"{"conversation":\#(log.record(for: request.user).text)}"#)
        case "fetchParticipants":
            let people = log.participants.map { #"{"id":\#($0.quoted)}"# }
            return .result(
                #"{"participants":[\#(people.joined(separator: ","))],"total":\#(people.count),"#
                    + #""limit":0,"offset":0}"#)
        case "subscribeMessages":
            sessions[at].subscriptions.insert(id)
            return .result(log.subscription(params, network.now.clock))
        case "unsubscribeMessages":
            sessions[at].subscriptions.remove(id)
            return .result("{}")
        case "fetchMessages":
            return log.page(params).map { .result($0) } ?? .refusal("not_found", isFinal: true)
        case "sendMessage", "editMessage", "deleteMessage", "markRead":
            return written(request, log)
        default: return .refusal("bad_request", isFinal: true)
        }
    }

    private func list(_ request: Request, _ at: Int) -> Answer {
        switch request.method {
        case "subscribeConversations": sessions[at].watchesList = true
        case "unsubscribeConversations": sessions[at].watchesList = false
        default: break
        }
        let records = logs.values.filter { $0.participants.contains(request.user) }
            .map { $0.record(for: request.user) }
            .sorted { ($1.activityAt ?? .earliest, $0.id) < ($0.activityAt ?? .earliest, $1.id) }
        let texts = records.map(\.text).joined(separator: ",")
        return .result(
            #"{"conversations":[\#(texts)],"removed":[],"total":\#(records.count),"#
                + #""token":"test","complete":false}"#)
    }

    private func written(_ request: Request, _ log: TestLog) -> Answer {
        let params = request.params
        let (id, conversation) = (params["id"]?.string, log.id)
        switch request.method {
        case "markRead":
            logs[conversation]?.markRead(request.user, upTo: params["seq"]?.int ?? 0)
            guard let log = logs[conversation] else { return .silence }
            tellLists(of: log, "updated")
            let read = log.read[request.user] ?? 0
            return .result(
                #"{"lastReadSeq":\#(read),"unreadCount":\#(log.unread(for: request.user))}"#)
        case "sendMessage":
            if id.flatMap(log.place) == nil {
                append(
                    message(
                        params["body"]?.string, request.user, conversation, id: id,
                        metadata: params["metadata"] ?? .emptyObject), to: conversation)
            }
        default:
            guard let id, let place = log.place(of: id) else {
                return .refusal("not_found", isFinal: true)
            }
            if let rev = params["ifRev"]?.int, rev != log[place].rev {
                return .refusal("conflict", isFinal: true)
            }
            let isDeletion = request.method == "deleteMessage"
            let now = network.now.clock
            change(id, conversation) { message in
                if isDeletion { return message = message.tombstone }
                message.body = params["body"]?.string
                message.editedAt = now
            }
        }
        guard let log = logs[conversation], let id = id ?? log.messages.last?.id,
            let place = log.place(of: id)
        else { return .silence }
        return .result(#"{"message":\#(log[place].text)}"#)
    }
}
