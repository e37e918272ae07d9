import Chat
import ClientCore
import JSON
import Wire

/// What a `TestGateway` answers by itself.
extension TestGateway {
    func respond(to request: Request, _ at: Int) -> Answer {
        let params = request.params
        var id = params["conversation"]?.string ?? params["id"]?.string ?? ""
        switch request.method {
        case "connect":
            let user = params["user"]?.string ?? "token"
            sessions[at].user = user
            sessions[at].presence =
                params["presence"]?.string.flatMap(ConnectionPresence.init) ?? .present
            tellPresence(of: user)
            return .result(
                #"{"user":\#(user.quoted),"pingInterval":25,"upstream":{"state":"online"}}"#)
        case "refresh", "typing": return .result("{}")
        case "setPresence":
            sessions[at].presence =
                params["state"]?.string.flatMap(ConnectionPresence.init) ?? .present
            tellPresence(of: request.user)
            return .result("{}")
        case "watchPresence": return watched(request, at)
        case "subscribeConversations", "fetchConversations", "unsubscribeConversations":
            return list(request, at)
        case "createConversation":
            if id.isEmpty { id = "conversation-\(logs.count + 1)" }
            let others = texts(params["participants"]).filter { $0 != request.user }
            guard logs[id] == nil else { return .refusal(.conversationIDTaken) }
            make(
                TestLog(
                    id: id, title: params["title"]?.string, participants: [request.user] + others,
                    admins: [request.user], metadata: params["metadata"] ?? .emptyObject,
                    at: network.now.clock))
        default: break
        }
        guard let log = logs[id], log.participants.contains(request.user) else {
            return .refusal(.conversationNotFound)
        }
        if !log.reset(params).isEmpty, request.method == "fetchMessages",
            sessions[at].subscriptions.remove(id) != nil
        {
            let reset = #"{"event":"reset","conversation":\#(id.quoted),"head":\#(log.head)}"#
            sessions[at].link.send(Array(reset.utf8))
        }
        switch request.method {
        case "createConversation", "fetchConversation":
            let record = log.record(for: request.user).text
            return .result(#"{\#(log.reset(params))"conversation":\#(record)}"#)
        case "fetchParticipants":
            let people = log.participants.map {
                #"{"id":\#($0.quoted),"joinedSeq":\#(log.joined[$0] ?? 0)}"#
            }
            return .result(
                #"{\#(log.reset(params))"participants":[\#(people.joined(separator: ","))],"#
                    + #""total":\#(people.count),"limit":0,"offset":0}"#)
        case "subscribeMessages":
            sessions[at].subscriptions.insert(id)
            return .result(log.subscription(params, network.now.clock))
        case "unsubscribeMessages":
            sessions[at].subscriptions.remove(id)
            return .result("{}")
        case "fetchMessages":
            return log.page(params).map { .result($0) } ?? .refusal(.messageNotFound)
        case "sendMessage", "editMessage", "deleteMessage", "markRead":
            return written(request, log)
        case "react": return reacted(request, log)
        case "fetchReactions", "fetchOwnReactions": return reactions(request, log)
        case "fetchMentions": return mentions(request, log)
        case "findBoundaries": return .result(log.boundaries)
        default: return administered(request, log)
        }
    }

    private func texts(_ value: RawJSON?) -> [String] { (value?.array ?? []).compactMap(\.string) }

    /// What changes a conversation, and not its messages.
    private func administered(_ request: Request, _ log: TestLog) -> Answer {
        let (params, id) = (request.params, log.id)
        let users = texts(params["users"])
        if let rev = params["ifRev"]?.int, rev != log.recordRev {
            return .refusal(.revChanged)
        }
        switch request.method {
        case "updateConversation":
            put(id, title: params["title"].map(\.string), metadata: params["metadata"])
        case "addParticipants":
            let new = users.filter { !log.participants.contains($0) }
            put(id, participants: log.participants + new)
        case "removeParticipants":
            put(id, participants: log.participants.filter { !users.contains($0) })
        case "addAdmins":
            put(id, admins: log.admins + users.filter { !log.admins.contains($0) })
        case "removeAdmins": put(id, admins: log.admins.filter { !users.contains($0) })
        case "leaveConversation":
            put(id, participants: log.participants.filter { $0 != request.user })
            return .result("{}")
        case "deleteConversation":
            remove(id)
            return .result("{}")
        default: return .refusal(.methodUnknown)
        }
        guard let log = logs[id] else { return .silence }
        return .result(#"{"conversation":\#(log.record(for: request.user).text)}"#)
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

    private func reacted(_ request: Request, _ log: TestLog) -> Answer {
        let (params, conversation) = (request.params, log.id)
        guard let id = params["id"]?.string, let place = log.place(of: id) else {
            return .refusal(.messageNotFound)
        }
        let user = params["user"]?.string ?? request.user
        if user != request.user {
            if params["on"]?.bool == true { return .refusal(.authorNotSelf) }
            if !log.admins.contains(request.user) { return .refusal(.notAdmin) }
        }
        let before = log[place]
        if before.isDeleted { return .refusal(.messageDeleted) }
        let shown = logs[conversation]?.react(
            user, to: id, key: params["key"]?.string ?? "",
            isOn: params["on"]?.bool ?? false, shown: before.reactions, at: network.now.clock)
        if let shown {
            change(id, conversation) { message in
                message.reactions = shown
                message.contentRev = before.contentRev ?? before.rev
            }
        }
        guard let log = logs[conversation] else { return .silence }
        let own = log.keys(of: request.user, to: id).map(\.quoted).joined(separator: ",")
        return .result(#"{"message":\#(log[place].text),"own":[\#(own)],"head":\#(log.head)}"#)
    }

    private func reactions(_ request: Request, _ log: TestLog) -> Answer {
        let params = request.params
        guard request.method == "fetchReactions" else {
            let after = params["after"]?.int ?? 0
            let places = after + 1..<max(params["before"]?.int ?? 0, after + 1)
            let own = log.messages.enumerated().compactMap { index, message -> String? in
                let keys = log.keys(of: request.user, to: message.id).map(\.quoted)
                guard places.contains(index + 1), !keys.isEmpty else { return nil }
                return #"{"seq":\#(index + 1),"keys":[\#(keys.joined(separator: ","))]}"#
            }
            return .result(#"{"own":[\#(own.joined(separator: ","))]}"#)
        }
        guard let id = params["id"]?.string, log.place(of: id) != nil else {
            return .refusal(.messageNotFound)
        }
        let key = params["key"]?.string
        let all = (log.reactions[id] ?? []).filter { key == nil || $0.key == key }
        let start = params["cursor"]?.string.flatMap { Int($0) } ?? 0
        let end = min(all.count, start + (params["limit"]?.int ?? 100))
        let page = all[min(start, end)..<end].map { entry in
            #"{"user":\#(entry.user.quoted),"key":\#(entry.key.quoted),"at":"\#(entry.at)"}"#
        }
        let next = end < all.count ? #","next":"\#(end)""# : ""
        return .result(
            #"{"reactions":[\#(page.joined(separator: ","))],"total":\#(all.count)\#(next)}"#)
    }

    private func mentions(_ request: Request, _ log: TestLog) -> Answer {
        let all = log.mentions(of: request.user, above: 0)
        let after = request.params["after"]?.int ?? 0
        let places = all.filter { $0 > after }.prefix(request.params["limit"]?.int ?? 100)
            .map { #"{"id":\#(log[$0].id.quoted),"seq":\#($0)}"# }
        return .result(
            #"{"places":[\#(places.joined(separator: ","))],"total":\#(all.count)}"#)
    }

    /// Those of the users in a value who take part, each once; nil if there is no value.
    private func mentioned(_ value: RawJSON?, _ log: TestLog) -> [String]? {
        guard let value else { return nil }
        var users: [String] = []
        for user in texts(value) where log.participants.contains(user) && !users.contains(user) {
            users.append(user)
        }
        return users
    }

    private func written(_ request: Request, _ log: TestLog) -> Answer {
        let params = request.params
        let (id, conversation) = (params["id"]?.string, log.id)
        switch request.method {
        case "markRead":
            logs[conversation]?.markRead(request.user, upTo: params["seq"]?.int ?? 0)
            guard let log = logs[conversation] else { return .silence }
            let read = log.read[request.user] ?? 0
            tellRead(by: request.user, upTo: read, in: conversation)
            return .result(
                #"{"lastReadSeq":\#(read),"unreadCount":\#(log.unread(for: request.user)),"#
                    + #""unreadMentions":\#(log.mentions(of: request.user, above: read).count)}"#)
        case "sendMessage":
            if id.flatMap(log.place) == nil {
                var message = message(
                    params["body"]?.string, request.user, conversation, id: id,
                    metadata: params["metadata"] ?? .emptyObject)
                message.replyTo = params["replyTo"]?.string.map {
                    Reply(id: $0, seq: log.place(of: $0))
                }
                message.mentions = mentioned(params["mentions"], log) ?? []
                message.mentionAll = params["mentionAll"]?.bool ?? false
                append(message, to: conversation)
            }
        default:
            guard let id, let place = log.place(of: id) else {
                return .refusal(.messageNotFound)
            }
            let known = log[place]
            if let rev = params["ifRev"]?.int,
                rev < known.contentRev ?? known.rev ?? 0
                    || rev > known.rev ?? 0
            {
                return .refusal(.revChanged)
            }
            let isDeletion = request.method == "deleteMessage"
            let now = network.now.clock
            change(id, conversation) { message in
                message.contentRev = nil
                if isDeletion { return message = message.tombstone }
                message.body = params["body"]?.string
                message.mentions = mentioned(params["mentions"], log) ?? message.mentions
                message.mentionAll = params["mentionAll"]?.bool ?? message.mentionAll
                message.editedAt = now
            }
        }
        guard let log = logs[conversation], let id = id ?? log.messages.last?.id,
            let place = log.place(of: id)
        else { return .silence }
        return .result(#"{"message":\#(log[place].text),"head":\#(log.head)}"#)
    }
}
