import Chat
import JSON
import Wire

/// A client that speaks the protocol and believes every word of it: it keeps what it holds by the
/// rules of `protocol.md` 1, and the oracle judges that after every frame. It outlives its
/// connections and resumes with what it holds. Owned by the world.
final class Client {
    /// The subject of an unanswered request.
    enum Asked {
        case connect
        case subscribe(Subscription)
        case unsubscribe(String)
        case page(String, Least?)
        case boundaries(String, have: Have?)
        case watch
        case unwatch
        /// The page after a cursor, or the first one.
        case list(behind: String?)
        case view(String)
        case people(String, ParticipantsRequest)
        case other
    }

    /// A subscription request, and the client's state when it was made.
    struct Subscription {
        var conversation: String
        var have: Have?
        /// Whether the mark in `have` is not the log's.
        var isForged: Bool
        var holding: Holding
        var least: Least?
    }

    /// The change that an answer must not miss.
    struct Least {
        var head: Head
        /// Whether the request names it.
        var isNamed: Bool
    }

    /// What it was sent, counted.
    struct Tally {
        /// How many changes open resumes were behind the log; and how many an open stream was
        /// behind when its subscription was ended.
        var behind: [Int] = []
        var behindWhenRemoved: [Int] = []
        /// How many open answers about participants were judged.
        var openPeople = 0
        /// Deltas received in events, for the accounting.
        var deltas = 0
    }

    let name: String
    let user: String
    /// Its holdings, by conversation.
    var holdings: [String: Holding] = [:]
    var list = WatchedList()
    /// The part of the list that this connection was shown.
    private(set) var shown = ShownList()
    /// The cursor after its last page.
    private(set) var cursor: String?
    /// The newest change of its own that was acknowledged, by conversation; and on this connection.
    private(set) var written: [String: Head] = [:]
    private(set) var writtenHere: [String: Head] = [:]
    var nextRequest = 1
    var asked: [Int: Asked] = [:]
    var isConnected = false
    /// Whether it asks for unread totals.
    var asksUnread = false
    /// The upstream's state as the gateway last reported it.
    private(set) var upstream = "online"
    /// The last reply.
    private(set) var reply: JSONObject?
    private(set) var tally = Tally()

    init(name: String, user: String) {
        self.name = name
        self.user = user
    }

    /// The connection is gone: requests stay unanswered, what is held stays.
    func disconnect() {
        isConnected = false
        asked = [:]
        writtenHere = [:]
        list.isWatched = false
        shown.begin()
        for conversation in holdings.keys { holdings[conversation]?.unsubscribe() }
    }

    /// Whether it was told that there may be changes that the gateway does not know.
    func isOpen(_ conversation: String) -> Bool {
        upstream != "online" || holdings[conversation]?.isOpen ?? false
    }

    // MARK: - Frames

    /// Takes a frame, and has the oracle judge it.
    /// - Throws: `Violation` if the frame breaks a promise.
    func receive(_ payload: [UInt8], _ oracle: Oracle) throws(Violation) {
        let frame = try RawJSON(unchecked: payload).members("frame")
        if let event = frame["event"]?.string {
            try take(event, frame, oracle)
        } else {
            try takeReply(frame, oracle)
        }
    }

    private func take(_ event: String, _ frame: JSONObject, _ oracle: Oracle) throws(Violation) {
        switch event {
        case "messages":
            let told = try FrameContent(.messages, frame)
            tally.deltas += told.values.count
            try apply(told, to: conversation(of: frame), oracle)
        case "gap":
            try apply(try FrameContent(.gap, frame), to: conversation(of: frame), oracle)
        case "conversation":
            let record = try frame.required("conversation").members("conversation")
            try apply(try FrameContent(.record, frame), to: record["id"]?.string ?? "", oracle)
        case "reset", "unsubscribed":
            let conversation = try conversation(of: frame)
            try require(
                holdings[conversation]?.isSubscribed ?? false, "\(event) without a subscription")
            if let holding = holdings[conversation], holding.isOpen, let head = holding.head {
                tally.behindWhenRemoved.append(head.rev - (holding.position ?? head.rev))
            }
            holdings[conversation]?.end()
            if event == "unsubscribed" { shown.remove(conversation, user, oracle) }
        case "conversations":
            for delta in try frame.required("deltas").elements("deltas") {
                try listed(try delta.members("delta"), oracle)
            }
        case "upstream":
            upstream = frame["state"]?.string ?? ""
        case "read", "unread", "typing", "goaway", "ping":
            break
        default:
            throw Violation("an event that the protocol does not know")
        }
    }

    private func listed(_ delta: JSONObject, _ oracle: Oracle) throws(Violation) {
        try list.apply(delta, user, oracle)
        let view = try delta.required("conversation").members("conversation")
        guard let id = view["id"]?.string else { return }
        if delta["type"]?.string == "deleted" {
            try oracle.checkDeparture(id, of: user)
            shown.remove(id, user, oracle)
        } else {
            try shown.show(view, id)
        }
    }

    /// A reply with the list or a part of it.
    private func show(
        _ result: JSONObject, request: Int, isWhole: Bool, _ oracle: Oracle
    ) throws(Violation) {
        try shown.judge(result, isWhole: isWhole, user, oracle)
        for json in try result.required("conversations").elements("conversations") {
            let view = try json.members("conversation")
            try shown.show(view, view["id"]?.string ?? "")
        }
    }

    private func conversation(of frame: JSONObject) throws(Violation) -> String {
        guard let id = frame["conversation"]?.string else {
            throw Violation("an event without its conversation")
        }
        return id
    }

    private func apply(
        _ told: FrameContent, to conversation: String, forgets: Bool = false, _ oracle: Oracle
    ) throws(Violation) {
        var before = holdings[conversation] ?? Holding()
        // Without a subscription a page may be of another branch of the log than what is held: it
        // is only shown, and true by itself.
        let isHeld = told.source != .page || before.isSubscribed
        if !isHeld { before = Holding() }
        for value in told.source == .messages ? told.values : [] {
            let known = before.live[value.slot]
            try require(known != value.rev, "the value of slot \(value.slot) came twice")
        }
        var after = before
        after.apply(told, forgets: forgets)
        if isHeld { holdings[conversation] = after }
        try oracle.check(told, conversation, before: before, after: after)
        try oracle.checkRemoval(told, conversation, of: user)
    }

    // MARK: - Replies

    private func takeReply(_ frame: JSONObject, _ oracle: Oracle) throws(Violation) {
        let id = try frame.required("id").integer("id")
        guard let asked = asked.removeValue(forKey: id) else {
            throw Violation("a reply to request \(id), which waits for none")
        }
        if frame["cached"]?.bool == true {
            self.asked[id] = asked
            return try show(asked, frame.required("result").members("result"), oracle)
        }
        reply = frame
        if let error = frame["error"]?.object { return try takeError(error, asked, oracle) }
        let result = try frame.required("result").members("result")
        switch asked {
        case .connect:
            isConnected = true
            let state = try result.required("upstream").members("upstream")
            upstream = state["state"]?.string ?? ""
        case .subscribe(let subscription):
            try subscribed(subscription, result, oracle)
        case .unsubscribe(let conversation):
            holdings[conversation]?.unsubscribe()
        case .page(let conversation, let least):
            try takePage(conversation, least, result, oracle)
        case .boundaries(let conversation, let have):
            try takeBoundaries(conversation, have, result, oracle)
        case .watch:
            let isWhole = result["complete"]?.bool == false
            try show(result, request: id, isWhole: isWhole, oracle)
            try list.begin(result, request: id, user, oracle)
            for id in try result.required("removed").elements("removed") {
                shown.remove(id.string ?? "", user, oracle)
            }
        case .unwatch:
            list.isWatched = false
        case .list(let start):
            cursor = result["next"]?.string
            let isWhole = start == nil && cursor == nil
            try show(result, request: id, isWhole: isWhole, oracle)
            for view in try result.required("conversations").elements("conversations") {
                try list.show(view, in: result, request: id, user, oracle)
            }
        case .view(let conversation):
            let view = try result.required("conversation")
            let shown = try view.members("conversation")["id"]?.string
            try require(shown == conversation, "another conversation than was asked for")
            try self.shown.show(view.members("conversation"), conversation)
            try list.show(view, in: result, request: id, user, oracle)
        case .people(let conversation, let range):
            guard result["open"]?.bool == true else { break }
            tally.openPeople += 1
            try oracle.checkPeople(result, range, of: conversation, shownTo: user)
        case .other:
            try noteWritten(result)
        }
    }

    /// The answer to a write, with the head of the log that has it.
    private func noteWritten(_ result: JSONObject) throws(Violation) {
        let view = result["conversation"]?.object
        guard let head = result["head"] ?? view?["head"],
            let conversation = result["message"]?.object?["conversation"] ?? view?["id"],
            let id = conversation.string
        else { return }
        let own = try Head(head.members("head"))
        let isNewer = written[id].map { $0.epoch != own.epoch || $0.rev <= own.rev } ?? true
        guard isNewer else { return }
        written[id] = own
        writtenHere[id] = own
    }

    /// The change that an answer must not miss: one of its own, of any connection if the request
    /// names it, of this one if not.
    func least(_ conversation: String, isNamed: Bool) -> Least? {
        let head = isNamed ? written[conversation] : writtenHere[conversation]
        return head.map { Least(head: $0, isNamed: isNamed) }
    }

    private func takeError(
        _ error: JSONObject, _ asked: Asked, _ oracle: Oracle
    ) throws(Violation) {
        let code = error["code"]?.string ?? ""
        var expected = ["not_found", "forbidden", "conflict", "rate_limited", "too_large"]
        // A read marker may be above the head of a conversation that was created again.
        if case .other = asked { expected.append("bad_request") }
        if oracle.isReplica { expected += ["origin_unavailable", "internal"] }
        try require(expected.contains(code), "an error \(code) to a sound request")
        // Reads of the embedded log may be as of a moment before the conversation.
        if oracle.isReplica, error["reason"]?.string == "conversation_not_found",
            case .subscribe(let asked) = asked, asked.holding.head != nil
        {
            try oracle.checkUnknown(asked.conversation, to: user)
        }
    }

    /// The cached phase changes nothing that is held.
    private func show(
        _ asked: Asked, _ result: JSONObject, _ oracle: Oracle
    ) throws(Violation) {
        guard case .page(let conversation, _) = asked else {
            throw Violation("a first answer to a question that has one")
        }
        try oracle.checkShown(try FrameContent(.page, result), conversation)
    }

    private func subscribed(
        _ asked: Subscription, _ result: JSONObject, _ oracle: Oracle
    ) throws(Violation) {
        let told = try FrameContent(.subscription, result)
        try oracle.checkReach(told, asked.conversation, asked.least)
        let isRefuted = oracle.isRefuted(asked.least, by: told.head, asked.conversation)
        let isOther =
            asked.isForged || isRefuted
            || asked.have.map { oracle.isOfOtherLog($0.head, than: told.head, asked.conversation) }
                ?? false
        // A cache that can't ask the origin answers an unconfirmed `have` with a reset.
        // A mark that the log keeps no longer confirms nothing, so that a reset may be needless.
        let isNamed = asked.have != nil || asked.least?.isNamed == true
        try require(
            told.isReset == isOther || oracle.isReplica && told.isReset && isNamed
                || oracle.isReplica && told.isOpen && !told.isReset && isRefuted,
            "reset: \(told.isReset), expected \(isOther)")
        if told.isOpen, asked.have != nil { tally.behind.append(told.head.rev - told.asOf) }
        let now = holdings[asked.conversation] ?? Holding()
        let isUnbroken = asked.holding.isSubscribed && asked.holding.breaks == now.breaks
        if let have = asked.have {
            holdings[asked.conversation]?.prepare(forAnswerTo: have, isUnbroken: isUnbroken)
        }
        try apply(told, to: asked.conversation, forgets: asked.have == nil, oracle)
        if asked.have == nil || asked.holding.version == now.version {
            let runs = holdings[asked.conversation]?.runs ?? Coverage()
            let named = told.boundaries.map { Coverage.Run($0.oldest.seq, $0.newest.seq) }
            try require(
                Coverage(named) == runs,
                "boundaries \(Coverage(named)), the client holds \(runs)")
        }
    }

    private func takePage(
        _ conversation: String, _ least: Least?, _ result: JSONObject, _ oracle: Oracle
    ) throws(Violation) {
        let told = try FrameContent(.page, result)
        try oracle.checkReach(told, conversation, least)
        try apply(told, to: conversation, oracle)
        let more = try result.required("hasMore").members("hasMore")
        let span = oracle.isReplica ? Coverage(places: told.values.map(\.slot)) : told.covers
        if let low = span.first, let high = span.last {
            try require(span.runs.count == 1, "a page with a hole")
            try require(
                more["before"]?.bool == (low > told.head.floor)
                    && more["after"]?.bool == (high < told.head.seq),
                "hasMore is wrong about the page [\(low), \(high)] of \(told.head.seq)")
        }
    }

    private func takeBoundaries(
        _ conversation: String, _ have: Have?, _ result: JSONObject, _ oracle: Oracle
    ) throws(Violation) {
        let head = try Head(result.required("head").members("head"))
        guard let log = oracle.origin.archive.logs(conversation, having: head).last else {
            throw Violation("epoch \(head.epoch) never was")
        }
        // The ids in the answer come without an epoch: while another log takes the conversation's
        // place, they may be of that one until the client is told.
        guard log.ended == nil else { return }
        let all = head.floor <= head.seq ? Coverage(head.floor, head.seq) : Coverage()
        let held =
            have.map { $0.head.epoch == head.epoch ? $0.runs.intersection(all) : Coverage() }
            ?? all
        let boundaries = try FrameContent.boundaries(result)
        let named = boundaries.map { Coverage.Run($0.oldest.seq, $0.newest.seq) }
        try require(
            have == nil && oracle.isReplica
                ? held.contains(Coverage(named)) : Coverage(named) == held,
            "boundaries \(Coverage(named)) of \(held)")
        for end in boundaries.flatMap({ [$0.newest, $0.oldest] }) {
            try oracle.checkID(of: end, log)
        }
    }
}
