import Chat
import JSON
import Wire

/// How a session keeps the list of the user's conversations.
extension ClientSession {
    /// Several doubts about an unread count within this time are one question, in milliseconds.
    private static let recountDelay: Int64 = 400

    /// Takes over what a store has kept.
    package mutating func restore(_ list: ConversationList) {
        let (isWanted, isWhole) = (self.list.isWanted, self.list.isWhole)
        self.list = list
        self.list.isWanted = isWanted
        self.list.isWhole = isWhole
    }

    /// Subscribes to the list, now and whenever a session begins.
    /// - Parameter isWhole: It is walked to its end, however long it is.
    package mutating func watchList(_ now: Instant, isWhole: Bool = true) {
        list.isWhole = list.isWhole || isWhole
        guard !list.isWanted else { return walkOn() }
        list.isWanted = true
        if state.isLive { subscribeList(now) }
    }

    /// Ends that; what is known stays.
    package mutating func unwatchList() {
        guard list.isWanted else { return }
        list.isWanted = false
        list.isWhole = false
        clear(.watch)
        clear(.walk)
        if state.isLive { send("unsubscribeConversations", RequestParams(), .nothing) }
    }

    mutating func subscribeList(_ now: Instant) {
        clear(.watch)
        guard state.isLive, list.isWanted else { return }
        var params = RequestParams()
        params.set("since", list.token)
        params.set("limit", ConversationList.page)
        send("subscribeConversations", params, .watch)
    }

    mutating func listSubscribed(
        _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        switch result {
        case .failure(let error):
            act(.tellList(.failed(.refused(error))))
            guard error.retry != .never else { return }
            let wait = error.after.map(Int64.init) ?? list.backoff.next(options.random())
            set(.watch, at: now.monotonic + wait)
        case .success(let answer):
            let conversations = try answer.records("conversations", Conversation.init)
            let isComplete = answer["complete"]?.bool ?? false
            let total = answer["total"]?.int ?? conversations.count
            if !isComplete { list.beginWalk() }
            for conversation in conversations { list.put(conversation) }
            for id in try answer.elements("removed") { id.string.map { list.remove($0) } }
            list.token = answer["token"]?.string
            list.isLoaded = true
            list.isOpen = answer["open"]?.bool ?? false
            list.backoff.reset()
            if !isComplete {
                if conversations.count >= total { list.endWalk() }
            }
            listChanged()
            act(.tellList(.open(list.isOpen)))
            act(.tellList(.hasMore(list.hasMore)))
            walkOn()
        }
    }

    /// Reads on in a list that is longer than what is known of it.
    package mutating func loadMoreOfList() {
        clear(.walk)
        guard state.isLive, list.isWanted, let walk = list.walk, !walk.isUnderWay else { return }
        list.walk?.isUnderWay = true
        var params = RequestParams()
        params.set("cursor", walk.cursor)
        params.set("limit", ConversationList.page)
        params.set("cached", false)
        send("fetchConversations", params, .walk)
    }

    private mutating func walkOn() {
        if list.walksOn { loadMoreOfList() }
    }

    mutating func walked(
        _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        list.walk?.isUnderWay = false
        let answer: JSONObject
        switch result {
        case .success(let value): answer = value
        case .failure(let error) where error.retry == .never:
            // What could not be walked stays as it was known, and the next session walks again.
            return list.token = nil
        case .failure(let error):
            let wait = error.after.map(Int64.init) ?? list.backoff.next(options.random())
            return set(.walk, at: now.monotonic + wait)
        }
        list.backoff.reset()
        for conversation in try answer.records("conversations", Conversation.init) {
            list.put(conversation)
        }
        if let next = answer["next"]?.string { list.walk?.cursor = next } else { list.endWalk() }
        listChanged()
        act(.tellList(.hasMore(list.hasMore)))
        walkOn()
    }

    mutating func takeList(_ deltas: [ConversationDelta], _ now: Instant) {
        guard list.isWanted else { return }
        for delta in deltas { list.apply(delta, user: user) }
        if !list.doubtful.isEmpty { set(.recount, at: now.monotonic + Self.recountDelay) }
        act(.tellList(.changed(deltas, list.conversations)))
        act(.saveList)
    }

    /// Asks for the user's own fields where they are not certain.
    mutating func recount() {
        let doubtful = list.doubtful.sorted { $0.text < $1.text }
        list.doubtful = []
        for id in doubtful {
            var params = RequestParams(conversation: id.text)
            params.set("cached", false)
            send("fetchConversation", params, .recount(id.text))
        }
    }

    mutating func recounted(
        _ id: String, _ result: Result<JSONObject, RequestError>
    ) throws(FrameError) {
        guard case .success(let answer) = result,
            let conversation = try answer.record("conversation", Conversation.init)
        else { return }
        guard list.records[id.id] != nil else { return }
        list.put(conversation)
        listChanged()
    }

    /// The user has read up to there, here or elsewhere.
    mutating func listRead(_ conversation: String, upTo seq: Int) {
        list.markRead(conversation, upTo: seq, unread: nil)
        if !list.doubtful.isEmpty { recount() }
        listChanged()
    }

    /// The answer to one's own `markRead`.
    package mutating func marked(_ conversation: String, upTo seq: Int, unread: Int) {
        list.markRead(conversation, upTo: seq, unread: unread)
        listChanged()
    }

    private mutating func listChanged() {
        act(.tellList(.all(list.conversations)))
        act(.saveList)
    }
}
