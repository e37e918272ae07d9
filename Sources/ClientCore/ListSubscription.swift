import Chat
import JSON
import Wire

/// How a session keeps the list of the user's conversations: a machine of its own.
struct ListSubscription: Sendable {
    private let options: ClientSession.Options
    private(set) var list = ConversationList()

    var isWanted: Bool { list.isWanted }

    init(_ options: ClientSession.Options) { self.options = options }

    /// Several doubts about an unread count within this time are one question, in milliseconds.
    private static let recountDelay: Int64 = 400

    /// Takes over what a store has kept.
    mutating func restore(_ list: ConversationList) {
        let (isWanted, isWhole) = (self.list.isWanted, self.list.isWhole)
        self.list = list
        self.list.isWanted = isWanted
        self.list.isWhole = isWhole
    }

    /// Another user is here now.
    mutating func forget(_ effects: inout SessionEffects) {
        restore(ConversationList())
        changed(&effects)
    }

    /// Subscribes to the list, now and whenever a session begins.
    /// - Parameter isWhole: It is walked to its end, however long it is.
    mutating func watch(isWhole: Bool, _ effects: inout SessionEffects) {
        list.isWhole = list.isWhole || isWhole
        guard !list.isWanted else { return walkOn(&effects) }
        list.isWanted = true
        if effects.isLive { subscribe(&effects) }
    }

    /// Ends that; what is known stays.
    mutating func unwatch(_ effects: inout SessionEffects) {
        guard list.isWanted else { return }
        list.isWanted = false
        list.isWhole = false
        effects.clear(.watch)
        effects.clear(.walk)
        if effects.isLive { effects.send("unsubscribeConversations", RequestParams(), .nothing) }
    }

    mutating func subscribe(_ effects: inout SessionEffects) {
        effects.clear(.watch)
        guard effects.isLive, list.isWanted else { return }
        var params = RequestParams()
        params.set("since", list.token)
        params.set("limit", ConversationList.page)
        effects.send("subscribeConversations", params, .watch)
    }

    mutating func subscribed(
        _ result: Result<JSONObject, RequestError>, _ now: Instant,
        _ effects: inout SessionEffects
    ) throws(FrameError) {
        switch result {
        case .failure(let error):
            effects.act(.tellList(.failed(.refused(error))))
            guard error.retry != .never else { return list.refusal = .refused(error) }
            let wait = error.after.map(Int64.init) ?? list.backoff.next(options.random())
            effects.set(.watch, at: now.monotonic + wait)
        case .success(let answer):
            let conversations = try answer.records("conversations", Conversation.init)
            let isComplete = answer["complete"]?.bool ?? false
            let total = answer["total"]?.int ?? conversations.count
            let removed = try answer.elements("removed").compactMap(\.string)
            list.take(
                answer["token"]?.string, conversations, removed: removed, isComplete: isComplete)
            list.isLoaded = true
            list.refusal = nil
            list.isOpen = answer["open"]?.bool ?? false
            list.backoff.reset()
            if !isComplete {
                if conversations.count >= total { list.endWalk() }
            }
            changed(&effects)
            effects.act(.tellList(.open(list.isOpen)))
            effects.act(.tellList(.hasMore(list.hasMore)))
            walkOn(&effects)
        }
    }

    /// Reads on in a list that is longer than what is known of it.
    mutating func loadMore(_ effects: inout SessionEffects) {
        effects.clear(.walk)
        guard effects.isLive, list.isWanted, let walk = list.walk, !walk.isUnderWay else { return }
        list.walk?.isUnderWay = true
        var params = RequestParams()
        params.set("cursor", walk.cursor)
        params.set("limit", ConversationList.page)
        params.set("cached", false)
        effects.send("fetchConversations", params, .walk)
    }

    private mutating func walkOn(_ effects: inout SessionEffects) {
        if list.walksOn { loadMore(&effects) }
    }

    mutating func walked(
        _ result: Result<JSONObject, RequestError>, _ now: Instant,
        _ effects: inout SessionEffects
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
            return effects.set(.walk, at: now.monotonic + wait)
        }
        list.backoff.reset()
        list.take(page: try answer.records("conversations", Conversation.init))
        if let next = answer["next"]?.string { list.walk?.cursor = next } else { list.endWalk() }
        changed(&effects)
        effects.act(.tellList(.hasMore(list.hasMore)))
        walkOn(&effects)
    }

    mutating func take(
        _ deltas: [ConversationDelta], user: String?, _ now: Instant,
        _ effects: inout SessionEffects
    ) {
        guard list.isWanted else { return }
        for delta in deltas { list.apply(delta, user: user) }
        if !list.doubtful.isEmpty { effects.set(.recount, at: now.monotonic + Self.recountDelay) }
        effects.act(.tellList(.changed(deltas, list.conversations)))
        effects.act(.saveList)
    }

    /// Asks for the user's own fields where they are not certain.
    mutating func recount(_ effects: inout SessionEffects) {
        let doubtful = list.doubtful.sorted { $0.text < $1.text }
        list.doubtful = []
        for id in doubtful {
            var params = RequestParams(conversation: id.text)
            params.set("cached", false)
            effects.send("fetchConversation", params, .recount(id.text))
        }
    }

    mutating func recounted(
        _ id: String, _ result: Result<JSONObject, RequestError>,
        _ effects: inout SessionEffects
    ) throws(FrameError) {
        guard case .success(let answer) = result,
            let conversation = try answer.record("conversation", Conversation.init)
        else { return }
        guard list.records[id.id] != nil else { return }
        list.put(conversation)
        changed(&effects)
    }

    /// The user has read up to there, here or elsewhere.
    mutating func read(
        _ conversation: String, upTo seq: Int, _ effects: inout SessionEffects
    ) {
        list.markRead(conversation, upTo: seq, unread: nil)
        if !list.doubtful.isEmpty { recount(&effects) }
        changed(&effects)
    }

    /// The answer to one's own `markRead`.
    mutating func confirmRead(
        _ conversation: String, upTo seq: Int, unread: Int, mentions: Int?,
        _ effects: inout SessionEffects
    ) {
        list.markRead(conversation, upTo: seq, unread: unread, mentions: mentions)
        changed(&effects)
    }

    /// The gateway told what is unread in some conversations.
    mutating func take(_ parts: [String: UnreadSum.Part], _ effects: inout SessionEffects) {
        var isChanged = false
        for (id, part) in parts where list.take(part, of: id.id) { isChanged = true }
        if isChanged { changed(&effects) }
    }

    private func changed(_ effects: inout SessionEffects) {
        effects.act(.tellList(.all(list.conversations)))
        effects.act(.saveList)
    }

    mutating func setOpen(_ isOpen: Bool, _ effects: inout SessionEffects) {
        list.isOpen = isOpen
        effects.act(.tellList(.open(isOpen)))
    }

    /// The session is over: nothing is under way.
    mutating func interrupt(_ effects: inout SessionEffects) {
        effects.clear(.watch)
        effects.clear(.walk)
        list.walk?.isUnderWay = false
        effects.clear(.recount)
    }
}
