import Chat
import JSON
import Wire

/// What a session has decided and not handed over yet: actions, and the requests and moments that
/// it waits for. The parts of a session share it.
struct SessionEffects: Sendable {
    /// What waits for a moment.
    enum Alarm: Hashable {
        case step, silence, refresh, slot, watch, walk, recount, presence, ownPresence, patience
        case subscribe(ID)
        case outbox(ID)
        case changes(ID)
        case read(ID)
        case typing(ID, user: String)
    }

    /// What a request that is not answered yet was about.
    enum Pending {
        case connect
        case refresh
        case subscribe(ID, subscription: Int, resumed: Bool, epoch: String?)
        case page(ID, subscription: Int, token: Int)
        case send(ID)
        case change(ID)
        case read(ID, Int)
        case epoch(ID)
        case watch
        case walk
        case recount(String)
        case presence(Int)
        case ownPresence
        case request(Int)
        case nothing
    }

    /// A request that is not answered yet.
    private struct Request {
        let method: Method?
        let params: RequestParams
        let about: Pending
        /// It only reads, and may be asked later and again.
        let question: Question?
        /// An answer from a cache has come.
        var isRead = false
    }

    /// A request that only reads.
    private struct Question {
        let method: String
        let params: RequestParams
        let about: Pending

        /// Whether a method is one. What changes something keeps its own order, and is tried by its
        /// owner; so is a subscription.
        static func isMade(by method: String) -> Bool {
            method.hasPrefix("fetch") || method == "findBoundaries"
        }
    }

    /// What is asked more often than the user's budget allows is asked again when the gateway said,
    /// one by one at first, and then with each answer one more at a time.
    private struct Patience {
        var waiting: [Question] = []
        var underWay = 0
        var most = Int.max
    }

    /// Whether there is a session of the gateway, so that a request can be answered.
    var isLive = false
    /// The largest frame that the gateway takes, once it has said so: for one that is larger it
    /// closes the connection, and would again whenever that comes back.
    var frameLimit: Int?
    /// What was written and acknowledged.
    var writes = OwnWrites()
    private var pending: [Int: Request] = [:]
    private var patience = Patience()
    private var nextRequest = 1
    private var alarms: [Alarm: Int64] = [:]
    private var actions: [ClientSession.Action] = []

    mutating func takeActions() -> [ClientSession.Action] {
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    mutating func act(_ action: ClientSession.Action) { actions.append(action) }

    mutating func tell(_ id: ID, _ update: ConversationUpdate) { act(.tell(id.text, update)) }

    // MARK: Time

    var nextAlarm: Int64? { alarms.values.min() }

    mutating func set(_ alarm: Alarm, at moment: Int64) { alarms[alarm] = moment }
    mutating func clear(_ alarm: Alarm) { alarms[alarm] = nil }

    /// What is due, earliest first.
    func due(at moment: Int64) -> [(alarm: Alarm, moment: Int64)] {
        alarms.filter { $0.value <= moment }.sorted { $0.value < $1.value }
            .map { ($0.key, $0.value) }
    }

    /// - Returns: Whether it was still set for that moment.
    mutating func ring(_ alarm: Alarm, at moment: Int64) -> Bool {
        guard alarms[alarm] == moment else { return false }
        alarms[alarm] = nil
        return true
    }

    // MARK: Requests

    /// - Returns: Why it is not sent, and never could be; nil if it is.
    @discardableResult
    mutating func send(
        _ method: String, _ params: RequestParams, _ about: Pending
    ) -> RequestError? {
        let params = writes.named(Method(rawValue: method), params)
        if let refusal = refusal(method, params) { return refusal }
        if Question.isMade(by: method) {
            patience.waiting.append(Question(method: method, params: params, about: about))
            askOn()
        } else {
            write(method, params, about)
        }
        return nil
    }

    private mutating func write(
        _ method: String, _ params: RequestParams, _ about: Pending, _ question: Question? = nil
    ) {
        pending[nextRequest] = Request(
            method: Method(rawValue: method), params: params, about: about, question: question)
        act(.write(params.frame(id: nextRequest, method: method)))
        nextRequest += 1
    }

    /// Asks what waits, as far as it may now.
    mutating func askOn() {
        while alarms[.patience] == nil, patience.underWay < patience.most,
            !patience.waiting.isEmpty
        {
            let question = patience.waiting.removeFirst()
            patience.underWay += 1
            write(question.method, question.params, question.about, question)
        }
    }

    /// Whether an answer is that a question has to wait; then it does.
    mutating func putsOff(
        _ id: Int, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) -> Bool {
        guard let question = pending[id]?.question, case .failure(let error) = result,
            error.code == .rateLimited
        else { return false }
        pending[id] = nil
        patience.underWay -= 1
        patience.most = 1
        patience.waiting.append(question)
        set(.patience, at: now.monotonic + Int64(error.after ?? 1_000))
        return true
    }

    /// Notes what a final answer says of one's own changes.
    mutating func note(_ id: Int, _ answer: JSONObject) throws(FrameError) {
        guard let request = pending[id] else { return }
        try writes.note(request.method, request.params, answer)
    }

    /// Why a request would not be sent; nil where nothing speaks against it.
    func refusal(_ method: String, _ params: RequestParams) -> RequestError? {
        refusal(of: params.frame(id: nextRequest, method: method))
    }

    /// Reads a frame as the gateway does: one in which that finds no id, it could not answer.
    private func refusal(of frame: [UInt8]) -> RequestError? {
        if let frameLimit, frame.count > frameLimit {
            return RequestError(
                .limitInboundFrame,
                "frame: \(frame.count) bytes (accepted: limits.inbound_frame, \(frameLimit))")
        }
        let read = RequestFrame.read(frame, isBinary: false)
        guard read.id == 0, case .failure(let error) = read.request else { return nil }
        return error
    }

    /// What a request was about. An error under 0 is of a frame in which the gateway found no id:
    /// it belongs to the oldest request of which the gateway has read nothing yet.
    /// - Parameter isFinal: whether no other answer to it comes.
    mutating func answered(_ id: Int, isFinal: Bool) -> Pending? {
        let oldest = pending.filter { !$0.value.isRead }.keys.min()
        let id = id == 0 && isFinal ? oldest ?? 0 : id
        pending[id]?.isRead = true
        let request = pending[id]
        if isFinal {
            pending[id] = nil
            if request?.question != nil { questionAnswered() }
        }
        return request?.about
    }

    private mutating func questionAnswered() {
        patience.underWay -= 1
        let isOver = patience.waiting.isEmpty && patience.underWay == 0
        if patience.most < Int.max { patience.most = isOver ? Int.max : patience.most + 1 }
        askOn()
    }

    /// None of what was asked for will be answered.
    mutating func failPending(_ error: ClientError) {
        let all =
            pending.sorted { $0.key < $1.key }.map(\.value.about) + patience.waiting.map(\.about)
        pending = [:]
        patience = Patience()
        clear(.patience)
        for about in all {
            switch about {
            case .request(let number): act(.answer(number, isCached: false, .failure(error)))
            case .page(let id, _, let token): tell(id, .page(token, .failure(error)))
            default: break
            }
        }
    }
}
