import Chat
import JSON
import Wire

/// What a session has decided and not handed over yet: actions, and the requests and moments that
/// it waits for. The parts of a session share it.
struct SessionEffects: Sendable {
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

    /// Whether there is a session of the gateway, so that a request can be answered.
    var isLive = false
    private var pending: [Int: Pending] = [:]
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

    mutating func send(_ method: String, _ params: RequestParams, _ about: Pending) {
        let id = nextRequest
        nextRequest += 1
        pending[id] = about
        act(.write(params.frame(id: id, method: method)))
    }

    /// What a request was about.
    /// - Parameter isFinal: whether no other answer to it comes.
    mutating func answered(_ id: Int, isFinal: Bool) -> Pending? {
        defer { if isFinal { pending[id] = nil } }
        return pending[id]
    }

    /// None of what was asked for will be answered.
    mutating func failPending(_ error: ClientError) {
        let all = pending.sorted { $0.key < $1.key }
        pending = [:]
        for (_, about) in all {
            switch about {
            case .request(let number): act(.answer(number, isCached: false, .failure(error)))
            case .page(let id, _, let token): tell(id, .page(token, .failure(error)))
            default: break
            }
        }
    }
}
