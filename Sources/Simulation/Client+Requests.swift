import Chat
import JSON
import Wire

/// The requests of a client, encoded as frames.
extension Client {
    func connect() -> [UInt8] {
        request("connect", .connect) { [user, asksUnread] in
            $0.member("user", string: user)
            if asksUnread { $0.member("unread", bool: true) }
        }
    }

    /// - Parameter isForged: whether the mark is not the log's.
    func subscribe(
        _ conversation: String, resuming: Bool, limit: Int, isForged: Bool = false
    ) -> [UInt8] {
        let holding = holdings[conversation] ?? Holding()
        var have = resuming ? holding.have : nil
        if isForged { have?.head.mark += "forged" }
        let least = least(conversation, isNamed: namesOwn)
        return request(
            "subscribeMessages",
            .subscribe(
                Subscription(
                    conversation: conversation, have: have, isForged: isForged && have != nil,
                    holding: holding, least: least))
        ) {
            $0.member("conversation", string: conversation)
            $0.member("limit", int: limit)
            if let have { $0.have(have) }
            $0.least(least)
        }
    }

    func unsubscribe(_ conversation: String) -> [UInt8] {
        request("unsubscribeMessages", .unsubscribe(conversation)) {
            $0.member("conversation", string: conversation)
        }
    }

    /// Whether a request names the newest change of its own: most do.
    private var namesOwn: Bool { nextRequest % 4 > 0 }

    func fetch(_ conversation: String, _ page: PageRequest) -> [UInt8] {
        let least = least(conversation, isNamed: namesOwn)
        return request("fetchMessages", .page(conversation, least)) {
            $0.member("conversation", string: conversation)
            $0.least(least)
            $0.member("limit", int: page.limit)
            $0.member("order", string: page.order.rawValue)
            for (name, anchor) in [
                ("before", page.before), ("after", page.after), ("around", page.around),
            ] {
                guard let anchor else { continue }
                $0.key(name)
                $0.anchor(anchor)
            }
        }
    }

    /// Asks for what it knows to be missing of a subscribed conversation, newest first; nil if
    /// nothing is.
    func heal(_ conversation: String) -> [UInt8]? {
        guard let holding = holdings[conversation], let position = holding.position else {
            return nil
        }
        if holding.asOf < position || holding.runs.last ?? 0 < holding.head?.seq ?? 0 {
            return subscribe(conversation, resuming: true, limit: 1000)
        }
        return holding.runs.holes.runs.last.map { hole in
            let page = PageRequest(
                before: .seq(hole.high + 1), after: .seq(hole.low - 1), limit: 1000)
            return fetch(conversation, page)
        }
    }

    func findBoundaries(_ conversation: String, ofOwn: Bool) -> [UInt8] {
        let have = ofOwn ? holdings[conversation]?.have : nil
        return request("findBoundaries", .boundaries(conversation, have: have)) {
            $0.member("conversation", string: conversation)
            if let have { $0.have(have) }
        }
    }

    func watch() -> [UInt8] {
        request("subscribeConversations", .watch) { [list] in
            if let token = list.token { $0.member("since", string: token) }
        }
    }

    func unwatch() -> [UInt8] { request("unsubscribeConversations", .unwatch) { _ in } }

    /// - Parameter goesOn: whether to continue after the last page, unless that ended the list.
    func fetchConversations(limit: Int? = nil, goesOn: Bool = false) -> [UInt8] {
        let start = goesOn ? cursor : nil
        return request("fetchConversations", .list(behind: start)) {
            if let limit { $0.member("limit", int: limit) }
            if let start { $0.member("cursor", string: start) }
        }
    }

    func fetchConversation(_ conversation: String) -> [UInt8] {
        request("fetchConversation", .view(conversation)) {
            $0.member("conversation", string: conversation)
        }
    }

    /// - Parameter range: nil: all participants and a part of them, in turns.
    func fetchParticipants(
        _ conversation: String, _ range: ParticipantsRequest? = nil
    ) -> [UInt8] {
        // Not drawn at random: a seed must still give the same world.
        let limit = nextRequest % 3 == 0 ? 1 + nextRequest % 2 : 0
        let order: PageRequest.Order = nextRequest % 2 == 0 ? .asc : .desc
        let range = range ?? ParticipantsRequest(limit: limit, offset: limit - 1, order: order)
        return request("fetchParticipants", .people(conversation, range)) {
            $0.member("conversation", string: conversation)
            $0.member("limit", int: range.limit)
            $0.member("offset", int: max(0, range.offset))
            $0.member("order", string: range.order.rawValue)
        }
    }

    /// A request whose answer changes nothing held.
    func call(
        _ method: String, _ conversation: String, _ params: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        request(method, .other) {
            $0.member(method == "createConversation" ? "id" : "conversation", string: conversation)
            params(&$0)
        }
    }

    private func request(
        _ method: String, _ about: Asked, _ params: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        let id = nextRequest
        nextRequest += 1
        asked[id] = about
        var json = JSONWriter()
        json.beginObject()
        json.member("id", int: id)
        json.member("method", string: method)
        json.key("params")
        json.beginObject()
        params(&json)
        json.endObject()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func least(_ least: Client.Least?) {
        if let least, least.isNamed { member("atLeast", head: least.head) }
    }

    fileprivate mutating func have(_ have: Have) {
        key("have")
        beginObject()
        member("head", head: have.head)
        member("asOf", int: have.asOf)
        member("runs", coverage: have.runs)
        endObject()
    }

    fileprivate mutating func anchor(_ anchor: Anchor) {
        switch anchor {
        case .seq(let seq):
            int(seq)
        case .id(let id):
            string(id)
        case .time(let moment):
            beginObject()
            member("time", moment: moment)
            endObject()
        }
    }
}
