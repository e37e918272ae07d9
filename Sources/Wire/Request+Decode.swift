import Chat
import JSON

/// The params of each method: `protocol.md` 3 and 4.
extension Request {
    /// The range of `limit` for a list or a page.
    static let limits = 1...1000
    /// The default `limit` of a list or a page.
    static let defaultLimit = 100
    /// How many users one call may name.
    static let users = 1...1000
    /// How many seqs one `fetchOwnReactions` may span.
    static let ownReactions = 1000
    /// How many conversations, and users of each, one `watchPresence` may name, whatever
    /// `limits.presence` says.
    static let watched = 0...10_000

    // One table, one case a method; a method without its row is no program.
    static func decode(_ method: Method, _ params: Fields) throws(RequestError) -> Request {
        switch method {
        case .connect:
            return .connect(
                token: try params.string("token"), user: try params.id("user"),
                client: try params.label("client"),
                unread: try params.flag("unread") ?? false,
                presence: try params.word("presence", as: ConnectionPresence.self) ?? .present,
                trace: try params.traceParent())
        case .refresh:
            return .refresh(token: try params.requiredString("token"))
        case .subscribeConversations:
            return .subscribeConversations(
                since: try params.string("since"), limit: try params.limit())
        case .unsubscribeConversations:
            return .unsubscribeConversations
        case .fetchConversations:
            return .fetchConversations(
                limit: try params.limit(), cursor: try params.string("cursor"))
        case .createConversation:
            return .createConversation(
                id: try params.id("id"),
                try ConversationFields.decode(params, for: .creation),
                distinct: try params.flag("distinct") ?? false)
        case .subscribeMessages:
            return .subscribeMessages(
                conversation: try params.conversation(), have: try params.have(),
                limit: try params.limit())
        case .unsubscribeMessages:
            return .unsubscribeMessages(conversation: try params.conversation())
        case .fetchConversation:
            return .fetchConversation(try params.conversation())
        case .fetchMessages:
            return .fetchMessages(conversation: try params.conversation(), try params.page())
        case .fetchParticipants:
            return .fetchParticipants(
                conversation: try params.conversation(), try params.participants())
        case .findBoundaries:
            return .findBoundaries(conversation: try params.conversation(), have: try params.have())
        case .markRead:
            return .markRead(
                conversation: try params.conversation(),
                seq: try params.requiredInteger("seq", in: 0...Fields.largest))
        case .typing:
            let conversation = try params.conversation()
            guard let state = try params.word("state", as: TypingState.self) else {
                throw params.missing("state", accepted: "begin, pause, finished")
            }
            return .typing(conversation: conversation, state)
        case .setPresence:
            guard let state = try params.word("state", as: ConnectionPresence.self) else {
                throw params.missing("state", accepted: "present, away, hidden")
            }
            return .setPresence(state)
        case .watchPresence:
            return .watchPresence(try params.presenceWatches())
        case .sendMessage:
            return .sendMessage(
                conversation: try params.conversation(), try MessageContent.decode(params))
        case .editMessage:
            return .editMessage(
                conversation: try params.conversation(), id: try params.requiredID("id"),
                try MessageEdit.decode(params))
        case .deleteMessage:
            return .deleteMessage(
                conversation: try params.conversation(), id: try params.requiredID("id"),
                ifRev: try params.ifRev())
        case .react:
            return .react(
                conversation: try params.conversation(), id: try params.requiredID("id"),
                key: try params.requiredReactionKey(), on: try params.requiredFlag("on"),
                user: try params.id("user"))
        case .fetchReactions:
            return .fetchReactions(
                conversation: try params.conversation(), id: try params.requiredID("id"),
                try params.reactions())
        case .fetchOwnReactions:
            return try params.ownReactions()
        case .fetchMentions:
            return .fetchMentions(
                conversation: try params.conversation(),
                after: try params.integer("after", in: 0...Fields.largest) ?? 0,
                limit: try params.limit())
        case .updateConversation:
            return .updateConversation(
                conversation: try params.conversation(),
                try ConversationFields.decode(params, for: .update))
        case .addParticipants:
            return .addParticipants(
                conversation: try params.conversation(), users: try params.users())
        case .removeParticipants:
            return .removeParticipants(
                conversation: try params.conversation(), users: try params.users())
        case .addAdmins:
            return .addAdmins(conversation: try params.conversation(), users: try params.users())
        case .removeAdmins:
            return .removeAdmins(conversation: try params.conversation(), users: try params.users())
        case .deleteConversation:
            return .deleteConversation(try params.conversation())
        case .leaveConversation:
            return .leaveConversation(try params.conversation())
        }
    }
}

extension Fields {
    func limit() throws(RequestError) -> Int {
        try integer("limit", in: Request.limits) ?? Request.defaultLimit
    }

    fileprivate func conversation() throws(RequestError) -> String {
        try requiredID("conversation")
    }

    fileprivate func users() throws(RequestError) -> [String] {
        try requiredIDs("users", count: Request.users)
    }

    fileprivate func order() throws(RequestError) -> PageRequest.Order {
        try word("order", as: PageRequest.Order.self) ?? .desc
    }

    fileprivate func page() throws(RequestError) -> PageRequest {
        let page = PageRequest(
            before: try anchor("before"), after: try anchor("after"), around: try anchor("around"),
            limit: try limit(), order: try order())
        if page.around != nil, page.before != nil || page.after != nil {
            throw refused(
                "around", seen: "given with before or after", accepted: "one or the other")
        }
        return page
    }

    fileprivate func reactions() throws(RequestError) -> ReactionsRequest {
        let cursor = try string("cursor")
        let after = cursor.map { Int($0) ?? -1 } ?? 0
        guard after >= 0 else {
            throw RequestError(
                .cursorInvalid, "params.cursor: not a cursor (accepted: an answer's `next`)")
        }
        return ReactionsRequest(key: try reactionKey(), limit: try limit(), after: after)
    }

    fileprivate func ownReactions() throws(RequestError) -> Request {
        let after = try requiredInteger("after", in: 0...Self.largest)
        let before = try requiredInteger("before", in: 0...Self.largest)
        guard before - after <= Request.ownReactions + 1 else {
            throw refused(
                "before", seen: "\(before), with after \(after)",
                accepted: "at most \(Request.ownReactions) seqs between after and before")
        }
        return .fetchOwnReactions(
            conversation: try conversation(), after: after, before: before)
    }

    /// What `watchPresence` names.
    fileprivate func presenceWatches() throws(RequestError) -> [PresenceWatch] {
        let name = "watch"
        let accepted = "an array of objects, each with conversation and users?"
        guard let value = object.slice(name) else { throw missing(name, accepted: accepted) }
        guard let count = value.count else { throw refused(name, value, accepted: accepted) }
        guard Request.watched.contains(count) else {
            throw RequestError(
                .limitArray,
                "\(prefix)\(name): an array of \(count) (accepted: at most"
                    + " \(Request.watched.upperBound))")
        }
        var watches: [PresenceWatch] = []
        try value.visit { element throws(RequestError) in
            let place = "\(name)[\(watches.count)]"
            guard let object = element.object else {
                throw refused(place, element, accepted: "an object")
            }
            let fields = Fields(object, prefix: "\(prefix)\(place).")
            watches.append(
                PresenceWatch(
                    conversation: try fields.requiredID("conversation"),
                    users: fields.value("users") == nil
                        ? nil : try fields.ids("users", count: Request.watched)))
        }
        return watches
    }

    fileprivate func participants() throws(RequestError) -> ParticipantsRequest {
        if let by = value("order_by"), by.string != "created_at" {
            throw refused(
                "order_by", seen: by.kind == .string ? "another string" : by.shown,
                accepted: "created_at")
        }
        let limit = try integer("limit", in: -Self.largest...Self.largest) ?? 0
        // Ignored without a limit, but not taken for what it is not.
        let offset = try integer("offset", in: 0...Self.largest) ?? 0
        return ParticipantsRequest(
            limit: limit, offset: limit <= 0 ? 0 : offset, order: try order())
    }
}
