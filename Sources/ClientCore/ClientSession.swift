import Chat
import JSON
import Wire

/// One client of a gateway, as a state machine: what happens goes in, what is to be done comes out
/// of `takeActions`. It connects and comes back, resumes each subscription with what is held, keeps
/// what is not sent yet, and decides everything but when time passes.
///
/// Pure: no clock, no thread, no socket, so that a simulator can run the real one through any
/// outage. Owned by one thread of whoever runs it.
package struct ClientSession: Sendable {
    /// What may be set.
    package struct Options: Sendable {
        /// The name under which the gateway knows the program.
        package var client = "gapless.swift"
        /// From the first try to the answer of `connect`, in milliseconds.
        package var connectTimeout: Int64 = 15_000
        /// How many messages a subscription begins with, and at most resumes with.
        package var page = 100
        /// How many messages of a conversation are kept, beside those that somebody looks at.
        package var retained = 2_000
        /// From 0 up to, not including, 1.
        package var random: @Sendable () -> Double

        package init(random: @escaping @Sendable () -> Double) { self.random = random }
    }

    /// What whoever runs the session has to do, in order.
    package enum Action: Sendable {
        /// Ask for credentials, and answer with `credentials` under this number. `isExpired`: the
        /// last token ran out.
        case ask(attempt: Int, isExpired: Bool)
        /// Open a socket; say `opened`, `received` and `closed` of it.
        case connect
        /// Send a text frame.
        case write([UInt8])
        /// Let the socket go; nothing it still says matters.
        case disconnect
        /// The request that was made under this number is answered. The first of two answers is
        /// `isCached`.
        case answer(Int, isCached: Bool, Result<JSONObject, ClientError>)
        /// Tell whoever subscribes to the conversation.
        case tell(String, ConversationUpdate)
        /// Tell whoever watches the list of conversations.
        case tellList(ConversationsUpdate)
        /// The connection's state is another.
        case state(ConnectionState)
        /// What is held of the conversation, or its drafts, changed: store it.
        case save(String)
        /// The list of conversations changed: store it.
        case saveList
    }

    /// What waits for a moment.
    enum Alarm: Hashable {
        case step, silence, refresh, slot, watch, walk, recount
        case subscribe(ID)
        case outbox(ID)
        case changes(ID)
        case read(ID)
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
        case request(Int)
        case nothing
    }

    let options: Options
    /// Where the connection stands.
    package internal(set) var state = ConnectionState.idle
    /// Who the gateway says that we are; nil before the first session.
    package internal(set) var user: String?
    /// Where the gateway stands with its backend; nil before the first session.
    package internal(set) var upstream: UpstreamState?
    var link = Link()
    var conversations: [ID: ConversationState] = [:]
    /// The list of the user's conversations.
    package internal(set) var list = ConversationList()
    private var pending: [Int: Pending] = [:]
    private var nextRequest = 1
    private var alarms: [Alarm: Int64] = [:]
    private var actions: [Action] = []

    package init(_ options: Options) { self.options = options }

    /// What is to be done now.
    package mutating func takeActions() -> [Action] {
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    mutating func act(_ action: Action) { actions.append(action) }

    // MARK: Time

    /// When `tick` has to be called next, on the monotonic clock.
    package var nextAlarm: Int64? { alarms.values.min() }

    mutating func set(_ alarm: Alarm, at moment: Int64) { alarms[alarm] = moment }
    mutating func clear(_ alarm: Alarm) { alarms[alarm] = nil }

    /// Time has passed.
    package mutating func tick(_ now: Instant) {
        let due = alarms.filter { $0.value <= now.monotonic }.sorted { $0.value < $1.value }
        for (alarm, moment) in due where alarms[alarm] == moment {
            alarms[alarm] = nil
            switch alarm {
            case .step, .silence, .refresh, .slot: linkAlarm(alarm, now)
            case .watch: subscribeList(now)
            case .walk: loadMoreOfList()
            case .recount: recount()
            case .subscribe(let id): subscribe(id)
            case .outbox(let id): sendNext(id)
            case .changes(let id): changeNext(id)
            case .read(let id): tellRead(id)
            }
        }
    }

    // MARK: Requests

    /// Makes a request; the answer comes as `answer` under this number.
    package mutating func request(_ number: Int, _ method: String, _ params: RequestParams) {
        guard state.isLive else {
            return act(.answer(number, isCached: false, .failure(lost)))
        }
        send(method, params, .request(number))
    }

    mutating func send(_ method: String, _ params: RequestParams, _ about: Pending) {
        let id = nextRequest
        nextRequest += 1
        pending[id] = about
        act(.write(params.frame(id: id, method: method)))
    }

    /// Why there is no answer.
    var lost: ClientError { if case .closed = state { .closed } else { .disconnected } }

    /// None of what was asked for will be answered.
    mutating func failPending() {
        let all = pending.sorted { $0.key < $1.key }
        pending = [:]
        for (_, about) in all {
            switch about {
            case .request(let number):
                act(.answer(number, isCached: false, .failure(lost)))
            case .page(let id, _, let token):
                tell(id, .page(token, .failure(lost)))
            default: break
            }
        }
    }

    // MARK: Frames

    /// A text frame came.
    package mutating func received(_ text: [UInt8], _ now: Instant) {
        link.heardAt = now.monotonic
        do throws(FrameError) {
            switch try ServerMessage(text) {
            case .reply(let id, let isCached, let result):
                try takeReply(id, isCached, result, now)
            case .event(let event): take(event, now)
            }
        } catch {
            // What can't be read may be a change: to go on would be to take a hole for silence.
            lose(nil, now)
        }
    }

    private mutating func takeReply(
        _ id: Int, _ isCached: Bool, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        guard let about = pending[id] else { return }
        if isCached {
            if case .request(let number) = about, case .success(let value) = result {
                act(.answer(number, isCached: true, .success(value)))
            } else if case .success(let value) = result {
                try takeCached(value, about)
            }
            return
        }
        pending[id] = nil
        switch about {
        case .request(let number):
            act(.answer(number, isCached: false, result.mapError(ClientError.refused)))
        case .connect: try connected(result, now)
        case .refresh: refreshed(result, now)
        case .subscribe(let id, let subscription, let resumed, let epoch):
            guard conversations[id]?.subscription == subscription else { return }
            try subscribed(id, result, resumed ? epoch : nil, now)
        case .page(let id, let subscription, let token):
            try takePage(id, subscription, token, result)
        case .send(let id): try sent(id, result, now)
        case .change(let id): try changed(id, result, now)
        case .read(let id, let seq): try readTold(id, seq, result, now)
        case .epoch(let id): try epochTold(id, result)
        case .watch: try listSubscribed(result, now)
        case .walk: try walked(result, now)
        case .recount(let id): try recounted(id, result)
        case .nothing: break
        }
    }

    private mutating func take(_ event: ServerEvent, _ now: Instant) {
        switch event {
        case .log(let conversation, let frame): take(frame, of: conversation.id)
        case .reset(let conversation): reset(conversation.id)
        case .unsubscribed(let conversation, let reason): ended(conversation.id, reason)
        case .conversations(let deltas): takeList(deltas, now)
        case .read(let conversation, let user, let seq):
            tellLive(conversation.id, .read(user: user, seq: seq))
            if user == self.user { listRead(conversation, upTo: seq) }
        case .typing(let conversation, let user, let state):
            tellLive(conversation.id, .typing(user: user, state))
        case .upstream(let state): upstreamChanged(state)
        case .goaway(let milliseconds): leave(in: milliseconds, now)
        case .nothing: break
        }
    }

    mutating func tell(_ id: ID, _ update: ConversationUpdate) {
        act(.tell(id.text, update))
    }

    private mutating func tellLive(_ id: ID, _ update: ConversationUpdate) {
        if conversations[id]?.phase == .live { tell(id, update) }
    }

    private mutating func upstreamChanged(_ state: UpstreamState) {
        upstream = state
        list.isOpen = state != .online
        act(.tellList(.open(list.isOpen)))
        for id in conversations.keys.sorted(by: { $0.text < $1.text }) {
            guard let conversation = conversations[id], conversation.phase == .live else {
                continue
            }
            setOpen(id, state != .online || conversation.wasOpen)
        }
    }
}
