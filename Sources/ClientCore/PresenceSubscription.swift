import Chat
import JSON
import Wire

/// Those whom a client watches, as they are as far as it was told.
public struct PresenceList: Sendable, Hashable {
    /// Each once, in the order of the gateway's answer; then those who came in since.
    public var users: [UserPresence]
    /// Whether it may be outdated: the client has no session, or the gateway's origin is away.
    public var isOpen: Bool
    /// Why the gateway refuses to let them be watched; nil while it does not.
    public var refusal: RequestError?

    /// A list as a test needs it.
    public init(users: [UserPresence], isOpen: Bool = false, refusal: RequestError? = nil) {
        self.users = users
        self.isOpen = isOpen
        self.refusal = refusal
    }

    /// An event changes these users of the list, or adds them.
    mutating func take(_ changes: [UserPresence]) {
        for change in changes {
            if let at = users.firstIndex(where: { $0.user.isSameID(change.user) }) {
                users[at] = change
            } else {
                users.append(change)
            }
        }
    }
}

/// How the user is there by this client, and whom it watches: both are said again in each session.
struct PresenceSubscription: Sendable {
    /// How the user is there by this client.
    private var own: ConnectionPresence
    /// What this session was told of that; nil where that is not known.
    private var said: ConnectionPresence?
    /// The gateway refused a `connect` that said it.
    private var isRefused = false
    /// Whom it watches; nil if it never did.
    private var watch: [PresenceWatch]?
    /// As far as it was told.
    private(set) var people = PresenceList(users: [], isOpen: true)
    /// The number of the newest call: an answer to an older one counts no longer.
    private var call = 0

    init(_ own: ConnectionPresence) { self.own = own }

    // MARK: - By this client

    /// What `connect` says.
    mutating func greeting() -> ConnectionPresence {
        let greeting = isRefused ? .present : own
        said = greeting
        return greeting
    }

    /// The gateway answered `connect`.
    /// - Returns: whether it is to be tried without how the user is there: a refusal of that ends
    ///   no connection. It is said in the session then.
    mutating func greeted(_ result: Result<JSONObject, RequestError>) -> Bool {
        guard case .failure(let error) = result, error.reason == .clientsPresenceOff else {
            return false
        }
        isRefused = true
        return true
    }

    mutating func set(_ own: ConnectionPresence, _ effects: inout SessionEffects) {
        self.own = own
        sayOwn(&effects)
    }

    /// Says how the user is there, if there is a session that was not told so.
    mutating func sayOwn(_ effects: inout SessionEffects) {
        effects.clear(.ownPresence)
        guard effects.isLive, said != own else { return }
        said = own
        var params = RequestParams()
        params.set("state", own.rawValue)
        effects.send("setPresence", params, .ownPresence)
    }

    /// The gateway answered that.
    mutating func saidOwn(
        _ result: Result<JSONObject, RequestError>, _ now: Instant,
        _ effects: inout SessionEffects
    ) {
        switch result {
        case .success: isRefused = false
        case .failure(let error):
            // Where it is refused for good, nobody is told of anybody.
            guard error.retry != .never else { return }
            said = nil
            effects.set(.ownPresence, at: now.monotonic + Int64(error.after ?? 1_000))
        }
    }

    // MARK: - Whom it watches

    mutating func set(_ watch: [PresenceWatch], _ effects: inout SessionEffects) {
        self.watch = watch
        people.refusal = nil
        say(&effects)
    }

    /// Says whom it watches, if there is a session.
    mutating func say(_ effects: inout SessionEffects) {
        effects.clear(.presence)
        guard let watch, effects.isLive else { return }
        call += 1
        var params = RequestParams()
        params.set("watch", watch)
        if let refusal = effects.send("watchPresence", params, .presence(call)) {
            refuse(refusal, &effects)
        }
    }

    /// The gateway answered.
    mutating func answered(
        _ call: Int, _ result: Result<JSONObject, RequestError>, _ now: Instant,
        _ effects: inout SessionEffects
    ) throws(FrameError) {
        guard call == self.call else { return }
        switch result {
        case .success(let answer):
            people = PresenceList(
                users: try answer.users("presence"), isOpen: answer["open"]?.bool ?? false)
            effects.act(.presence(people))
        case .failure(let error):
            guard error.retry == .never else {
                let wait = Int64(error.after ?? 1_000)
                return effects.set(.presence, at: now.monotonic + wait)
            }
            refuse(error, &effects)
        }
    }

    private mutating func refuse(_ error: RequestError, _ effects: inout SessionEffects) {
        people = PresenceList(users: [], isOpen: true, refusal: error)
        effects.act(.presence(people))
    }

    /// Users came, left, or are no longer known.
    mutating func take(_ changes: [UserPresence], _ effects: inout SessionEffects) {
        people.take(changes)
        effects.act(.presence(people))
    }

    /// What is held may be outdated, or is so no longer.
    mutating func setOpen(_ isOpen: Bool, _ effects: inout SessionEffects) {
        guard watch != nil, people.refusal == nil, people.isOpen != isOpen else { return }
        people.isOpen = isOpen
        effects.act(.presence(people))
    }

    /// Somebody else is here: what is held is not theirs.
    mutating func forget() {
        watch = nil
        people = PresenceList(users: [], isOpen: true)
    }
}

extension JSONObject {
    /// `[{user, state, since?}, …]`. A state that this client does not know is not known.
    func users(_ name: String) throws(FrameError) -> [UserPresence] {
        var users: [UserPresence] = []
        for element in try elements(name) {
            guard let object = element.object else { throw FrameError(name, accepted: "objects") }
            users.append(
                UserPresence(
                    user: try object.text("user"),
                    state: PresenceState(rawValue: try object.text("state")) ?? .unknown,
                    since: object["since"]?.string.flatMap { Timestamp($0) }))
        }
        return users
    }
}

extension RequestParams {
    mutating func set(_ name: String, _ watch: [PresenceWatch]) {
        var json = JSONWriter()
        json.beginArray()
        for entry in watch {
            json.beginObject()
            json.member("conversation", string: entry.conversation)
            if let users = entry.users { json.member("users", strings: users) }
            json.endObject()
        }
        json.endArray()
        set(name, RawJSON(unchecked: json.bytes))
    }
}
