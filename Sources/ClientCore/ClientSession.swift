import Chat
import JSON
import Wire

/// One client of a gateway, as a state machine: what happens goes in, what is to be done comes out
/// of `takeActions`. It connects and comes back, resumes each subscription with what is held, keeps
/// what is not sent yet, and decides everything but when time passes.
///
/// Pure: no clock, no thread, no socket, so that a simulator can run the real one through any
/// outage. One thread of its runner owns it.
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
        /// Whether the gateway is asked how much is unread in all conversations.
        package var countsUnread = false
        /// How the user is there by this client, until it says otherwise.
        package var presence = ConnectionPresence.present
        /// From 0 up to, not including, 1.
        package var random: @Sendable () -> Double

        package init(random: @escaping @Sendable () -> Double) { self.random = random }
    }

    /// What the runner of the session has to do, in order.
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
        /// Tell the subscribers of the conversation.
        case tell(String, ConversationUpdate)
        /// Tell the watchers of the list of conversations.
        case tellList(ConversationsUpdate)
        /// The connection's state is another.
        case state(ConnectionState)
        /// What is held of the conversation, or its drafts, changed: store it.
        case save(String)
        /// The list of conversations changed: store it.
        case saveList
        /// What became of a draft: it is the message, or failed.
        case settled(draft: String, Result<Message, ClientError>)
        /// How much is unread in all conversations is another.
        case unread(UnreadSum)
        /// Those who are watched are others, or otherwise there.
        case presence(PresenceList)
        /// The gateway named a user, and none or another was known before: what is stored of
        /// another is not for this one.
        case belongs(to: String)
    }

    let options: Options
    /// Where the connection stands.
    package var state: ConnectionState { link.state }
    /// Who the gateway says that we are; nil before the first session.
    package internal(set) var user: String?
    /// Where the gateway stands with its backend; nil before the first session.
    package internal(set) var upstream: UpstreamState?
    /// How much is unread in all conversations; nil before it was told, or where nobody asked.
    package private(set) var unread: UnreadSum?
    /// What the gateway told in this session of single conversations.
    private var toldUnread: [String: UnreadSum.Part] = [:]
    /// Whose is all that is held, and all that waits to be sent; nil before anybody was named.
    private var owner: String?
    private(set) var link: ClientLink
    var conversations: [ID: ConversationState] = [:]
    var listing: ListSubscription
    var presences: PresenceSubscription
    var effects = SessionEffects()

    package init(_ options: Options) {
        self.options = options
        link = ClientLink(options)
        listing = ListSubscription(options)
        presences = PresenceSubscription(options.presence)
    }

    /// What is to be done now.
    package mutating func takeActions() -> [Action] { effects.takeActions() }

    // MARK: The connection

    /// Connects, and stays connected until `close`.
    package mutating func open(_ now: Instant) { link.open(now, &effects) }

    /// Ends the connection; `open` begins again.
    package mutating func close(_ now: Instant) { follow(link.close(now, &effects), now) }

    /// Tries at once where it waits: the network came back, or a person asked.
    package mutating func wake(_ now: Instant) { link.wake(now, &effects) }

    /// The answer to `ask`: nil if there are none, and the session ends for good.
    package mutating func credentials(
        _ credentials: Credentials?, attempt: Int, _ now: Instant
    ) {
        follow(link.credentials(credentials, attempt: attempt, now, &effects), now)
    }

    /// The answer to `ask` could not be had now.
    package mutating func credentialsFailed(attempt: Int, _ now: Instant) {
        follow(link.credentialsFailed(attempt: attempt, now, &effects), now)
    }

    /// The socket is open.
    package mutating func opened(_ now: Instant) { link.opened(as: presences.greeting(), &effects) }

    /// The socket is gone.
    package mutating func closed(code: UInt16?, _ now: Instant) {
        follow(link.closed(code: code, now, &effects), now)
    }

    /// Does what follows from what the connection became.
    private mutating func follow(_ change: ClientLink.Change?, _ now: Instant) {
        switch change {
        case .began(let user, let upstream):
            if let owner, !owner.isSameID(user) {
                unread = nil
                presences.forget()
                forgetAll()
            }
            if owner.map({ !$0.isSameID(user) }) ?? true { effects.act(.belongs(to: user)) }
            (owner, self.user) = (user, user)
            toldUnread = [:]
            self.upstream = upstream
            resumeAll(now)
            presences.sayOwn(&effects)
            presences.say(&effects)
        case .ended:
            presences.setOpen(true, &effects)
            if var unread {
                unread.isOpen = true
                self.unread = unread
                effects.act(.unread(unread))
            }
            effects.failPending(link.lost)
            interruptAll()
        case nil: break
        }
    }

    /// Whose is what a store has kept.
    package mutating func restore(owner: String?) { self.owner = owner }

    // MARK: Time

    /// When `tick` has to be called next, on the monotonic clock.
    package var nextAlarm: Int64? { effects.nextAlarm }

    /// Time has passed.
    package mutating func tick(_ now: Instant) {
        for (alarm, moment) in effects.due(at: now.monotonic)
        where effects.ring(alarm, at: moment) {
            switch alarm {
            case .step, .silence, .refresh, .slot: follow(link.ring(alarm, now, &effects), now)
            case .watch: listing.subscribe(&effects)
            case .walk: listing.loadMore(&effects)
            case .recount: listing.recount(&effects)
            case .presence: presences.say(&effects)
            case .ownPresence: presences.sayOwn(&effects)
            case .patience: effects.askOn()
            case .subscribe(let id): subscribe(id)
            case .outbox(let id): sendNext(id)
            case .changes(let id): changeNext(id)
            case .read(let id): tellRead(id)
            case .typing(let id, let user):
                effects.tell(id, .typing(user: user, .finished))
            }
        }
    }

    // MARK: Requests

    /// Makes a request; the answer comes as `answer` under this number.
    package mutating func request(_ number: Int, _ method: String, _ params: RequestParams) {
        guard state.isLive else {
            return effects.act(.answer(number, isCached: false, .failure(link.lost)))
        }
        if let refusal = effects.send(method, params, .request(number)) {
            effects.act(.answer(number, isCached: false, .failure(.refused(refusal))))
        }
    }

    // MARK: Who is there

    /// Those whom this client watches, as far as it was told.
    package var presence: PresenceList { presences.people }

    /// Says how the user is there by this client, now and in each further session.
    package mutating func setPresence(_ presence: ConnectionPresence) {
        presences.set(presence, &effects)
    }

    /// Watches these users, now and in each further session, in place of those before.
    package mutating func watchPresence(_ watch: [PresenceWatch]) {
        presences.set(watch, &effects)
    }

    // MARK: Frames

    /// A text frame came.
    package mutating func received(_ text: [UInt8], _ now: Instant) {
        link.heard(now)
        do throws(FrameError) {
            switch try ServerMessage(text) {
            case .reply(let id, let isCached, let result):
                try takeReply(id, isCached, result, now)
            case .event(let event): take(event, now)
            }
        } catch {
            // What can't be read may be a change: to go on would be to take a hole for silence.
            follow(link.lose(nil, now, &effects), now)
        }
    }

    private mutating func takeReply(
        _ id: Int, _ isCached: Bool, _ result: Result<JSONObject, RequestError>, _ now: Instant
    ) throws(FrameError) {
        if effects.putsOff(id, result, now) { return }
        if !isCached, case .success(let answer) = result { try effects.note(id, answer) }
        guard let about = effects.answered(id, isFinal: !isCached) else { return }
        if isCached {
            if case .request(let number) = about, case .success(let value) = result {
                effects.act(.answer(number, isCached: true, .success(value)))
            } else if case .success(let value) = result {
                try takeCached(value, about)
            }
            return
        }
        if case .success(let answer) = result, let total = answer["unreadTotal"]?.object {
            let isOpen = answer["open"]?.bool ?? false
            tellUnread(
                try UnreadSum(
                    total, of: answer["conversations"]?.array, named: "id", isOpen: isOpen))
        }
        switch about {
        case .request(let number):
            effects.act(.answer(number, isCached: false, result.mapError(ClientError.refused)))
        case .connect:
            let isWithout = presences.greeted(result)
            follow(try link.connected(result, comesBack: isWithout, now, &effects), now)
        case .refresh: link.refreshed(result, now, &effects)
        case .subscribe(let id, let subscription, let resumed, let epoch):
            guard conversations[id]?.subscription == subscription else { return }
            try subscribed(id, result, resumed ? epoch : nil, now)
        case .page(let id, let subscription, let token):
            try takePage(id, subscription, token, result)
        case .send(let id): try sent(id, result, now)
        case .change(let id): try changed(id, result, now)
        case .read(let id, let seq): try readTold(id, seq, result, now)
        case .epoch(let id): try epochTold(id, result)
        case .presence(let call): try presences.answered(call, result, now, &effects)
        case .ownPresence: presences.saidOwn(result, now, &effects)
        case .watch: try listing.subscribed(result, now, &effects)
        case .walk: try listing.walked(result, now, &effects)
        case .recount(let id): try listing.recounted(id, result, &effects)
        case .nothing: break
        }
    }

    private mutating func take(_ event: ServerEvent, _ now: Instant) {
        switch event {
        case .log(let conversation, let frame): take(frame, of: conversation.id)
        case .reset(let conversation):
            forgetWritten(conversation.id)
            reset(conversation.id)
        case .unsubscribed(let conversation, let reason):
            forgetWritten(conversation.id)
            ended(conversation.id, reason)
        case .conversations(let deltas): listing.take(deltas, user: user, now, &effects)
        case .read(let conversation, let user, let seq):
            tellLive(conversation.id, .read(user: user, seq: seq))
            if user == self.user { listing.read(conversation, upTo: seq, &effects) }
        case .typing(let conversation, let user, let state):
            take(state, of: user, in: conversation.id, now)
        case .unread(let total):
            tellUnread(total)
            listing.take(total.of, &effects)
        case .presence(let changes): presences.take(changes, &effects)
        case .upstream(let state): upstreamChanged(state)
        case .goaway(let milliseconds): link.leave(in: milliseconds, now, &effects)
        case .nothing: break
        }
    }

    /// What is held is of a log that is lost, or ours no more; so is what was written into it.
    private mutating func forgetWritten(_ id: ID) {
        effects.writes.forget(id, of: conversations[id]?.holder.head?.epoch)
    }

    /// So long does word of a typist count, in milliseconds.
    private static let typingTime: Int64 = 5_000

    private mutating func take(
        _ state: TypingState, of user: String, in id: ID, _ now: Instant
    ) {
        let alarm = SessionEffects.Alarm.typing(id, user: user)
        effects.clear(alarm)
        guard conversations[id]?.phase == .live else { return }
        if state == .begin { effects.set(alarm, at: now.monotonic + Self.typingTime) }
        effects.tell(id, .typing(user: user, state))
    }

    /// - Parameter total: with what it says of single conversations.
    private mutating func tellUnread(_ total: UnreadSum) {
        toldUnread.merge(total.of) { $1 }
        var total = total
        total.of = toldUnread
        guard total != unread else { return }
        unread = total
        effects.act(.unread(total))
    }

    private mutating func tellLive(_ id: ID, _ update: ConversationUpdate) {
        if conversations[id]?.phase == .live { effects.tell(id, update) }
    }

    private mutating func upstreamChanged(_ state: UpstreamState) {
        upstream = state
        listing.setOpen(state != .online, &effects)
        presences.setOpen(state != .online, &effects)
        for id in conversations.keys.sorted(by: { $0.text < $1.text }) {
            guard let conversation = conversations[id], conversation.phase == .live else {
                continue
            }
            setOpen(id, state != .online || conversation.wasOpen)
        }
    }
}
